package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove/balance"
)

// patience bounds everything that is waited for; only what is broken takes so long.
const patience = 5 * time.Minute

// stand is a real Kafka and PostgreSQL, with the schema and one store of the version before.
type stand struct {
	dir         string
	former, now string // the programs of both versions
	say         func(format string, args ...any)
	kafka       *kafkadist.Cluster
	server      *devstack.Postgres
	dsn         string
	db          *postgres.DB
	env         []string
	company     string
	key         string // of the company's, for orders and events
}

// newStand starts Kafka and PostgreSQL and sets up by the program of before. Call close when done.
func newStand(ctx context.Context, dir, now string, say func(string, ...any), settings map[string]string) (s *stand, err error) {
	s = &stand{dir: dir, now: now, say: say}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	// Not a private directory: PostgreSQL may run as nobody.
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
		return s, err
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // likewise
		return s, err
	}
	if s.former, err = buildFormer(ctx); err != nil {
		return s, err
	}
	if s.kafka, err = kafkadist.StartCluster(ctx, kafkadist.ClusterConfig{Dir: filepath.Join(dir, "kafka"), Nodes: 1}); err != nil {
		return s, err
	}
	s.server, err = devstack.StartPostgres(ctx, devstack.PostgresConfig{Dir: filepath.Join(dir, "postgres"), Settings: settings,
		Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY")})
	if err != nil {
		return s, err
	}
	if s.dsn, err = s.server.CreateDatabase(ctx, "prove"); err != nil {
		return s, err
	}
	if s.db, err = postgres.Open(ctx, s.dsn); err != nil {
		return s, err
	}
	s.env = append(os.Environ(), "TRIBUTARY_KAFKA_BROKERS="+s.kafka.Brokers[0].Addr(), "TRIBUTARY_POSTGRES="+s.dsn,
		"TRIBUTARY_HASHING_SECRET="+strings.Repeat("h", 48), "TRIBUTARY_TOKEN_SECRET="+strings.Repeat("t", 48),
		"TRIBUTARY_SHUTDOWN_DELAY=3s", "TRIBUTARY_CONNECT_KEY_FILE="+filepath.Join(dir, "connect.key"))
	if err := s.migrate(ctx, s.former); err != nil {
		return s, err
	}
	made, err := s.run(ctx, s.former, "company", "create", "Loja")
	if err != nil {
		return s, err
	}
	if live := regexp.MustCompile(`(?m)^live\s+(\S+)`).FindStringSubmatch(made); live != nil {
		s.company = live[1]
	}
	made, err = s.run(ctx, s.former, "keys", "create", "shop", "--company", s.company, "--scope",
		"write_orders,events.write,influencers.read,influencers.write")
	s.key = regexp.MustCompile(`trb_live_\S+`).FindString(made)
	if err == nil && s.key == "" {
		err = fmt.Errorf("no key in %q", made)
	}
	return s, err
}

// migrate brings the schema to a program's version.
func (s *stand) migrate(ctx context.Context, program string) error {
	_, err := s.run(ctx, program, "migrate", "--partitions", "8", "--replication", "1", "--min-insync-replicas", "1")
	return err
}

// run runs a command to its end and returns what it printed.
func (s *stand) run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the programs to prove
	cmd.Env = s.env
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), args[0], err, out.Bytes(), complaints.Bytes())
	}
	return out.String(), nil
}

var verified = regexp.MustCompile(`(?s)live\s+([0-9a-f]{64})\s+replayed\s+([0-9a-f]{64}).*Equal: (\d+) orders`)

// verify runs a program's `verify` and returns the ledger's hash; an error where live and replayed differ.
func (s *stand) verify(ctx context.Context, program string) (hash string, err error) {
	out, err := s.run(ctx, program, "verify")
	if err != nil {
		return "", err
	}
	match := verified.FindStringSubmatch(out)
	if match == nil || match[1] != match[2] {
		return "", fmt.Errorf("verify wrote %q", out)
	}
	return match[1], nil
}

func (s *stand) close() {
	if s.db != nil {
		s.db.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
	if s.kafka != nil {
		s.kafka.Kill()
	}
}

// service is one of a kind, at an address that it keeps.
type service struct {
	*stand
	name    string // of the file of its output
	args    []string
	addr    string
	process *child.Process
}

// start starts it by a program, and returns once it is ready.
func (v *service) start(ctx context.Context, program string) (err error) {
	output, err := os.OpenFile(filepath.Join(v.dir, v.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command(program, v.args...) //nolint:gosec,noctx // the program to prove; package child ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = append(v.env, "TRIBUTARY_ADDR="+v.addr), output, output
	if v.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	return until(ctx, v.name+" is ready", func() (bool, error) {
		is, _ := balance.Ready(ctx, v.addr)
		return is, v.alive()
	})
}

var errEnded = errors.New("unexpected end")

// alive is an error if it ended by itself.
func (v *service) alive() error {
	select {
	case <-v.process.Done():
		return fmt.Errorf("%s ended by itself: %w", v.name, errors.Join(errEnded, v.process.Err()))
	default:
		return nil
	}
}

// replace ends it as a deployment does, and starts it by another program.
func (v *service) replace(ctx context.Context, program string) error {
	if err := v.alive(); err != nil {
		return err
	}
	if err := v.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-v.process.Done():
		if err := v.process.Err(); err != nil {
			return fmt.Errorf("%s ended at SIGTERM with %w", v.name, err)
		}
	case <-time.After(patience):
		return fmt.Errorf("%s did not end within %v of SIGTERM", v.name, patience)
	}
	return v.start(ctx, program)
}

// until asks again and again until ok, for patience at most. An error of ok ends it.
func until(ctx context.Context, what string, ok func() (bool, error)) error {
	return await.Poll(ctx, what, 50*time.Millisecond, patience, ok)
}
