package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
)

// environmentName returns a flag's variable: "kafka-brokers" has TRIBUTARY_KAFKA_BROKERS.
func environmentName(flag string) string {
	return "TRIBUTARY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// problems collects what is wrong with flags and variables: all of it is said at
// once, a line each.
type problems []error

// add adds an error; nil adds nothing.
func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

// err is nil where nothing is wrong.
func (p problems) err() error { return misuse(errors.Join(p...)) }

// readEnvironment sets every flag that is not on the command line from its variable.
func readEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var wrong problems
	flags.VisitAll(func(f *pflag.Flag) {
		if value, ok := lookup(environmentName(f.Name)); ok && !f.Changed && ourFlag(f.Name) {
			var invalid *pflag.InvalidValueError
			err := flags.Set(f.Name, value)
			if errors.As(err, &invalid) {
				err = valueProblem("$"+environmentName(f.Name), f, value, invalid.Unwrap())
			}
			wrong.add(err)
		}
	})
	return wrong.err()
}

// describeFlags adds to each flag's help its default and its variable, in that
// order: pflag would write the default after the variable.
func describeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if ourFlag(f.Name) {
			if len(f.Annotations[requiredMark]) > 0 {
				f.Usage += " (required)"
			}
			f.Usage += defaultOf(f) + " [$" + environmentName(f.Name) + "]"
			f.DefValue = zeroOf(f) // so that pflag does not write it again
		}
	})
	for _, sub := range cmd.Commands() {
		describeFlags(sub)
	}
}

// requiredMark is the annotation of a flag without which its command does not run.
const requiredMark = "required"

// required marks flags as such in the help. The command itself says which are missing.
func required(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, requiredMark, []string{"true"}) // fails for a flag that is not there: a test looks
	}
}

// excludesMark is the annotation of a flag that cannot be given together with those it names.
const excludesMark = "excludes"

// excludes marks a flag that cannot be given together with others.
func excludes(flags *pflag.FlagSet, name string, others ...string) {
	_ = flags.SetAnnotation(name, excludesMark, others) // fails for a flag that is not there: a test looks
}

// exclusion says which flags were given that exclude each other.
func exclusion(flags *pflag.FlagSet) error {
	var wrong problems
	flags.Visit(func(f *pflag.Flag) {
		for _, other := range f.Annotations[excludesMark] {
			if flags.Changed(other) {
				wrong.add(fmt.Errorf("--%s and --%s cannot be given together", f.Name, other))
			}
		}
	})
	return wrong.err()
}

// ourFlag reports whether a flag has a variable: cobra's own have none.
func ourFlag(name string) bool { return name != "help" && name != "version" }

// defaultOf returns " (default …)", or "" for a flag without a default.
func defaultOf(f *pflag.Flag) string {
	switch {
	case f.DefValue == zeroOf(f):
		return ""
	case f.Value.Type() == "stringSlice":
		return " (default " + strings.Trim(f.DefValue, "[]") + ")"
	}
	return " (default " + f.DefValue + ")"
}

// zeroOf returns the text by which pflag means "no default" for a flag's type.
func zeroOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "false"
	case "string":
		return ""
	case "stringSlice":
		return "[]"
	case "duration":
		return "0s"
	}
	return "0"
}

// secretFlag is a secret read from a file or from the environment.
type secretFlag struct {
	name string // "hashing-secret"
	file string
}

func (s *secretFlag) register(flags *pflag.FlagSet, name, what string) {
	s.name = name
	flags.StringVar(&s.file, name+"-file", "", "file with "+what+", or give it in $"+environmentName(name))
}

// read returns the secret without white space around it; nil if none is given.
func (s *secretFlag) read() ([]byte, error) {
	if s.file != "" {
		text, err := os.ReadFile(s.file)
		if err != nil {
			return nil, fmt.Errorf("--%s-file: %w", s.name, err)
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			return nil, misuse(fmt.Errorf("--%s-file: %s is empty", s.name, s.file))
		}
		return text, nil
	}
	return bytes.TrimSpace([]byte(os.Getenv(environmentName(s.name)))), nil
}

func (s *secretFlag) require() ([]byte, error) {
	secret, err := s.read()
	if err == nil && len(secret) == 0 {
		err = misuse(fmt.Errorf("give --%s-file or $%s", s.name, environmentName(s.name)))
	}
	return secret, err
}

// hashingFlags give the secret of identity.Hasher.
type hashingFlags struct{ secret secretFlag }

func (h *hashingFlags) register(flags *pflag.FlagSet) {
	h.secret.register(flags, "hashing-secret", "the secret that hashes what names a shopper, the same for edge and admin, at least 32 bytes")
	required(flags, "hashing-secret-file")
}

// formerHashing is the hashing secret of before.
type formerHashing struct {
	secret      secretFlag
	compromised bool
}

func (f *formerHashing) register(flags *pflag.FlagSet) {
	f.registerSecret(flags,
		"the former hashing secret, while the new one takes its place: what it hashed is still joined, and what it signed recognised")
	flags.BoolVar(&f.compromised, "compromised", false, "others may know the former hashing secret: what it signed proves nothing any more")
}

// registerSecret registers the secret alone, for commands that verify nothing.
func (f *formerHashing) registerSecret(flags *pflag.FlagSet, what string) {
	f.secret.register(flags, "previous-hashing-secret", what)
}

// hashers returns the current hasher with the former one's keys beside its own, and the former one
// where what it signed is still recognised, else nil.
func (f *formerHashing) hashers(current *hashingFlags) (hasher, previous *identity.Hasher, err error) {
	secret, wrong := current.secret.require()
	former, err := f.secret.read()
	if wrong = errors.Join(wrong, err); wrong != nil {
		return nil, nil, wrong
	}
	return f.beside(secret, former)
}

// beside is hashers for secrets that were read; of the former one there may be none.
func (f *formerHashing) beside(current, former []byte) (hasher, previous *identity.Hasher, err error) {
	if hasher, err = identity.NewHasher(current); err != nil {
		return nil, nil, err
	}
	if len(former) == 0 {
		if f.compromised {
			return nil, nil, misuse(errors.New("--compromised is about the former hashing secret: give --previous-hashing-secret-file"))
		}
		return hasher, nil, nil
	}
	previous, err = identity.NewHasher(former)
	if err == nil {
		hasher, err = hasher.Rotating(previous)
	}
	if err != nil {
		return nil, nil, misuse(fmt.Errorf("--previous-hashing-secret: %w", err))
	}
	if f.compromised {
		previous = nil
	}
	return hasher, previous, nil
}

// kafkaFlags say how to reach the brokers.
type kafkaFlags struct {
	brokers   []string
	prefix    string
	tls       bool
	ca        string
	cert, key string
	mechanism string
	username  string
	password  secretFlag
}

func (k *kafkaFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&k.brokers, "kafka-brokers", []string{"127.0.0.1:9092"},
		"Kafka's bootstrap addresses, host:port, separated by commas")
	flags.StringVar(&k.prefix, "topic-prefix", "",
		"begins the name of every topic and of the consumer group, the same for all services and commands, such as staging.; for a cluster "+
			"that others use too")
	flags.BoolVar(&k.tls, "kafka-tls", false, "connect to Kafka by TLS")
	flags.StringVar(&k.ca, "kafka-tls-ca", "", "file with the certificates that Kafka's must be signed by (PEM) (default the system's)")
	flags.StringVar(&k.cert, "kafka-tls-cert", "", "file with our own certificate for Kafka (PEM)")
	flags.StringVar(&k.key, "kafka-tls-key", "", "file with that certificate's key (PEM)")
	flags.StringVar(&k.mechanism, "kafka-sasl", "", "log in to Kafka by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	flags.StringVar(&k.username, "kafka-sasl-username", "", "user name for --kafka-sasl")
	k.password.register(flags, "kafka-sasl-password", "the password for --kafka-sasl")
}

func (k *kafkaFlags) config(clientID string) (kafka.Config, error) {
	config := kafka.Config{Brokers: k.brokers, ClientID: clientID, TopicPrefix: k.prefix}
	var wrong problems
	if k.tls || k.ca != "" || k.cert != "" || k.key != "" {
		secured, err := k.secured()
		wrong.add(err)
		config.TLS = secured
	}
	if k.mechanism != "" {
		password, err := k.password.require()
		wrong.add(err)
		config.SASL = kafka.SASL{Mechanism: k.mechanism, Username: k.username, Password: string(password)}
		if k.password.file != "" { // a new password in the file is taken with the next connection
			renewing := k.password
			config.SASL.Renew = func() (string, error) {
				password, err := renewing.require()
				return string(password), err
			}
		}
	}
	return config, wrong.err()
}

// secured reads the files for TLS.
func (k *kafkaFlags) secured() (*tls.Config, error) {
	secured := &tls.Config{MinVersion: tls.VersionTLS12}
	var wrong problems
	if k.ca != "" {
		pem, err := os.ReadFile(k.ca)
		secured.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			wrong.add(fmt.Errorf("--kafka-tls-ca: %w", err))
		case !secured.RootCAs.AppendCertsFromPEM(pem):
			wrong.add(fmt.Errorf("--kafka-tls-ca: %s holds no certificate", k.ca))
		}
	}
	switch {
	case (k.cert == "") != (k.key == ""):
		wrong.add(errors.New("--kafka-tls-cert and --kafka-tls-key go together"))
	case k.cert != "":
		pair, err := tls.LoadX509KeyPair(k.cert, k.key)
		if err != nil {
			wrong.add(fmt.Errorf("--kafka-tls-cert: %w", err))
		}
		secured.Certificates = []tls.Certificate{pair}
	}
	return secured, wrong.err()
}

// postgresFlags say how to reach the database.
type postgresFlags struct {
	dsn      string
	optional bool
	read     string // of a standby
}

func (p *postgresFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.dsn, "postgres", "",
		"PostgreSQL's connection string, postgres://user@host/database; keep the password in the variable or in PGPASSFILE")
	if !p.optional {
		required(flags, "postgres")
	}
}

func (p *postgresFlags) registerRead(flags *pflag.FlagSet) {
	flags.StringVar(&p.read, "postgres-read", "",
		"connection string of a streaming standby that reports alone are read from, while it is at most a minute old; "+
			"the password as of --postgres")
}

func (p *postgresFlags) require() (string, error) {
	if p.dsn == "" {
		return "", misuse(errors.New("give --postgres or $" + environmentName("postgres")))
	}
	return p.dsn, nil
}

// logFlags say what is logged, and how.
type logFlags struct {
	format string
	level  string
}

func (l *logFlags) register(flags *pflag.FlagSet, level string) {
	flags.StringVar(&l.format, "log-format", "text", "text or json")
	flags.StringVar(&l.level, "log-level", level, "debug, info, warn or error")
}

func (l *logFlags) logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, misuse(fmt.Errorf("--log-level %q is none of debug, info, warn, error", l.level))
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), options)), nil
	case "json":
		options.ReplaceAttr = durationInMs
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), options)), nil
	}
	return nil, misuse(fmt.Errorf("--log-format %q is neither text nor json", l.format))
}

// durationInMs names a duration of a JSON log by its unit: "wait": 100 ms is "wait_ms": 100.
func durationInMs(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Int64(a.Key+"_ms", a.Value.Duration().Milliseconds())
}

// readMoment reads the moment that a flag has.
func readMoment(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, misuse(fmt.Errorf("--%s %q: write it as 2026-11-05T12:00:00Z", flag, text))
	}
	return at, nil
}
