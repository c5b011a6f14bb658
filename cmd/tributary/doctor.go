package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin/mail"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
)

func newDoctor() *cobra.Command {
	var broker kafkaFlags
	database := postgresFlags{optional: true}
	var hashing secretFlag
	var former formerHashing
	var e examination
	var report reportFlag
	var smtp smtpFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that an installation's parts can be reached and fit together",
		Long: `Check an installation, and say for each thing found what to do:

  Kafka       its brokers can be reached from here; the topics are there, with
              the partitions, replicas and settings under which nothing that was
              acknowledged is lost
  PostgreSQL  version, schema and settings; --postgres-read is a standby of it; the processor's offsets are of this
              Kafka, and how far they are behind; the outbox is being published
  clocks      this machine's, PostgreSQL's and the services' agree
  disk        --snapshot and --spool can be written and have room
  secret      --hashing-secret is the one that the companies' keys are made with
  mail        the --smtp server can be reached, has TLS, and takes the log-in
  services    each --service says that it is ready

What no flag or variable tells of is left out, and it says so: in the container
of an edge, doctor checks what that edge needs. Nothing is changed. Exit status 1
when something fails.`,
		Example: `  tributary doctor --service http://127.0.0.1:7700,http://127.0.0.1:7701,http://127.0.0.1:7703`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			var wrong problems
			e.dsn, e.read = database.dsn, database.read
			e.kafka, err = broker.config("tributary-doctor")
			wrong.add(err)
			secret, err := hashing.read()
			wrong.add(err)
			before, err := former.secret.read()
			wrong.add(err)
			if len(secret) > 0 {
				e.hasher, _, err = former.beside(secret, before)
				wrong.add(err)
			}
			server, given, err := smtp.server()
			if wrong.add(err); given {
				e.mail = &server
			}
			if err := wrong.err(); err != nil {
				return err
			}
			f := findings{out: report.text(cmd)}
			if err := e.run(cmd.Context(), &f); err != nil {
				return err
			}
			return errors.Join(report.write(cmd, f.diagnosis), f.problem())
		},
	}
	report.register(cmd, diagnosis{Failed: 1, Findings: []finding{{"ok", "Kafka", "…", ""},
		{"failure", "PostgreSQL", "…", "…"}, {"warning | note | not_checked", "…", "…", ""}}})
	flags := cmd.Flags()
	broker.register(flags)
	database.register(flags)
	database.registerRead(flags)
	hashing.register(flags, "hashing-secret", "the secret of edge and admin, to be compared with the companies' keys")
	former.registerSecret(flags, "the former hashing secret of edge and admin, while it is being rotated")
	flags.StringSliceVar(&e.services, "service", nil, "origin of a running service to ask for /readyz; repeat or separate by commas")
	smtp.registerServer(flags)
	flags.IntVar(&e.replication, "replication", 3, "replicas that each partition must have, as given to migrate")
	flags.IntVar(&e.minInSync, "min-insync-replicas", 2, "replicas that must have a record before it is acknowledged, as given to migrate")
	flags.StringVar(&e.snapshot, "snapshot", "", "the edge's file for the directory, to be checked on this machine")
	flags.StringVar(&e.spool, "spool", "", "the edge's directory for events while Kafka is away, to be checked on this machine")
	flags.Int64Var(&e.spoolBytes, "spool-bytes", defaultSpoolBytes, "most bytes that the edge keeps there")
	return cmd
}

// checkTimeout bounds each check.
const checkTimeout = 10 * time.Second

// examination says what to check. What is empty is left out; Kafka never is.
type examination struct {
	kafka                  kafka.Config
	dsn, read              string // read: of a standby
	hasher                 *identity.Hasher
	services               []string // origins
	replication, minInSync int
	demo                   bool   // the Kafka is that of `tributary dev`, which keeps records for good
	snapshot, spool        string // of an edge on this machine
	spoolBytes             int64
	mail                   *mail.Server // nil: it is left out
}

// findings prints what the checks find, keeps it, and counts what is wrong.
type findings struct {
	out io.Writer
	diagnosis
}

// diagnosis is doctor's result as JSON.
type diagnosis struct {
	Failed   int       `json:"failed"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`
}

type finding struct {
	Level string `json:"level"` // ok | note: it is as it is meant to be | not_checked | warning | failure
	About string `json:"about"`
	What  string `json:"what"`
	ToDo  string `json:"to_do,omitempty"` // of a warning or a failure
}

// printed is how people are told a finding's level.
var printed = map[string]string{"ok": "ok", "note": "-", "not_checked": "-", "warning": "WARN", "failure": "FAIL"}

func (f *findings) add(level, about, what, do string) {
	what = strings.Join(strings.Fields(what), " ") // errors of several lines too are one finding
	f.Findings = append(f.Findings, finding{level, about, what, do})
	if level == "not_checked" {
		what = "not checked: " + what
	}
	fmt.Fprintf(f.out, "%-5s %-22s %s\n", printed[level], about, what)
	if do != "" {
		fmt.Fprintf(f.out, "%-5s %-22s to do: %s\n", "", "", strings.Join(strings.Fields(do), " "))
	}
}

func (f *findings) ok(about, what string) { f.add("ok", about, what, "") }

// remark says what is as it is meant to be, and what that means.
func (f *findings) remark(about, what string) { f.add("note", about, what, "") }

// leftOut says that something was not checked, and why.
func (f *findings) leftOut(about, why string) { f.add("not_checked", about, why, "") }

// fail says what does not work or loses data, and what to do.
func (f *findings) fail(about, what, do string) {
	f.Failed++
	f.add("failure", about, what, do)
}

// warn says what works and may be meant otherwise, and what to do.
func (f *findings) warn(about, what, do string) {
	f.Warnings++
	f.add("warning", about, what, do)
}

// run checks everything and tells f what it finds.
func (e *examination) run(ctx context.Context, f *findings) error {
	client, err := kafka.NewClient(e.kafka)
	if err != nil {
		return err
	}
	defer client.Close()
	bounded := func(check func(ctx context.Context)) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		check(ctx)
	}
	var answers bool
	bounded(func(ctx context.Context) { answers = e.checkBrokers(ctx, f, client) })
	if answers {
		bounded(func(ctx context.Context) { e.checkTopics(ctx, f, client) })
		bounded(func(ctx context.Context) { e.checkSecret(ctx, f, client) })
	} else {
		f.leftOut("topics, secret", "Kafka does not answer")
	}
	bounded(func(ctx context.Context) { e.checkPostgres(ctx, f, client, answers) })
	e.checkDisk(f)
	bounded(func(ctx context.Context) { e.checkMail(ctx, f) })
	for _, origin := range e.services {
		bounded(func(ctx context.Context) { checkService(ctx, f, origin) })
	}
	if len(e.services) == 0 {
		f.leftOut("services", "no --service is given")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the checks were not finished: %w", ctx.Err())
	}
	fmt.Fprintf(f.out, "\nfailed: %d, warnings: %d\n", f.Failed, f.Warnings)
	return nil
}

// problem is an error, which was told already, where checks failed.
func (d *diagnosis) problem() error {
	if d.Failed > 0 {
		return &statusError{status: statusFailed, shown: true, err: errors.New("checks failed")}
	}
	return nil
}
