package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/cmd/tributary/importer"
)

func newImport() *cobra.Command {
	cmd := group("import", "Send a history of events or orders, as live traffic is sent", newImportEvents(), newImportOrders())
	cmd.Long = `Send a file of JSON, one API payload a line, to the services that take live
traffic. FILE may be gzipped, or "-" for standard input.

An import that was stopped or killed continues where it was when it is started
again (FILE.progress). Importing twice changes nothing, since events are
recognized by their eventId and orders by their orderId and updatedAt. "import
events --help" and "import orders --help" say what happens to lines without them.
Rejected lines are written to FILE.rejected.jsonl with their reasons; those of
standard input to a new stdin-TIME-….rejected.jsonl each time.

Exit status: 0 all lines were accepted, 1 the import could not finish,
3 it finished and some lines were rejected.`
	return cmd
}

// importFlags are the flags of both kinds of import.
type importFlags struct {
	concurrency int // of events
	stateDir    string
	giveUp      time.Duration
	report      reportFlag
}

// importReport is an import's outcome as JSON.
type importReport struct {
	File         string           `json:"file"`
	Finished     bool             `json:"finished"` // false: start it again to continue
	Lines        int64            `json:"lines"`
	Accepted     int64            `json:"accepted"`
	Duplicates   *int64           `json:"duplicates,omitempty"` // accepted ones that were there already; of events
	Rejected     int64            `json:"rejected"`
	RejectedFile string           `json:"rejected_file,omitempty"`
	Resumed      int64            `json:"resumed"` // lines that an earlier run had done
	Retries      int64            `json:"retries"`
	Seconds      float64          `json:"seconds"`
	Warnings     map[string]int64 `json:"warnings"` // accepted lines by code and field
}

func reportOf(file string, s importer.Summary, finished bool) importReport {
	r := importReport{File: file, Finished: finished, Lines: s.Lines, Accepted: s.Accepted, Rejected: s.Rejected,
		RejectedFile: s.RejectedFile, Resumed: s.Resumed, Retries: s.Retries, Seconds: s.Took.Seconds(), Warnings: s.Warnings}
	if s.TellsDuplicates {
		r.Duplicates = &s.Duplicates
	}
	if r.Warnings == nil {
		r.Warnings = map[string]int64{}
	}
	return r
}

func (f *importFlags) register(cmd *cobra.Command) {
	f.report.register(cmd, importReport{File: "FILE", Finished: true, Lines: 3, Accepted: 2, Rejected: 1, RejectedFile: "FILE.rejected.jsonl",
		Seconds: 0.4, Warnings: map[string]int64{"invalid_format provinceCode": 1}})
	cmd.Flags().StringVar(&f.stateDir, "state-dir", "",
		"directory of FILE.progress and FILE.rejected.jsonl, made if need be (default beside FILE, or the current directory where that cannot "+
			"be written)")
	durationVar(cmd.Flags(), &f.giveUp, "give-up-after", 10*time.Minute, "stop when nothing was taken for this long")
}

// run runs one import and shows its progress.
func (f *importFlags) run(cmd *cobra.Command, file string, send func(context.Context, importer.Config) (importer.Summary, error)) error {
	if f.stateDir == "" {
		f.stateDir = importer.StateDirFor(file)
	}
	out := cmd.ErrOrStderr()
	reporter := importer.NewReporter(out)
	summary, err := send(cmd.Context(), importer.Config{
		File: file, Stdin: cmd.InOrStdin(), StateDir: f.stateDir, Concurrency: f.concurrency,
		Backoff: importer.Backoff{GiveUp: f.giveUp}, Progress: reporter.Report,
	})
	if err != nil && summary.Took == 0 {
		return err // it has not started
	}
	reporter.Finish(file, summary, err)
	if wrong := f.report.write(cmd, reportOf(file, summary, err == nil)); wrong != nil {
		return errors.Join(err, wrong)
	}
	if errors.Is(err, context.Canceled) {
		return &statusError{status: statusFailed, err: errors.New("stopped: start it again to continue")}
	}
	if err != nil {
		return err
	}
	if summary.Rejected > 0 {
		return &statusError{status: statusRejections, shown: true, err: fmt.Errorf("%d lines were rejected", summary.Rejected)}
	}
	return nil
}

const whereKeysAre = `
Keep the key in a file (--key-file) or in the variable TRIBUTARY_KEY: a key on
the command line (--key) is visible in every process list while the import runs,
and in the shell's history afterwards.`

// keyFlags give the API key of an import.
type keyFlags struct {
	text string
	file secretFlag
}

func (k *keyFlags) register(flags *pflag.FlagSet, scope string) {
	flags.StringVar(&k.text, "key", "", "the API key itself, which a process list then shows: --key-file or the variable is better")
	k.file.register(flags, "key", "an API key with the scope "+scope+"; it goes before --key")
}

// read returns the key, "" for none.
func (k *keyFlags) read() (string, error) {
	if k.file.file == "" {
		return k.text, nil
	}
	text, err := k.file.read()
	return string(text), err
}

func newImportEvents() *cobra.Command {
	var flags importFlags
	var edge, company string
	var key keyFlags
	cmd := &cobra.Command{
		Use:   "events FILE",
		Short: "Send events to the edge",
		Long: `Send a file of events, one JSON object a line, to the edge. docs/events.md
describes an event, with a line as an example and every reason for a rejection.

A line without eventId gets one that is made of its timestamp and a digest of
the company, the line's number and its bytes. So importing the same file again
changes nothing, and equal lines of one file are different events. Lines may be
added at the file's end; lines that are changed or moved get new ids. A line
without eventId and timestamp is rejected (timestamp_required).

The API key needs the scope events.import, which only a key has that was made
with it: tributary keys create NAME --company COMPANY --scope events.import.
` + whereKeysAre,
		Example: `  tributary import events events.jsonl.gz --edge https://collect.example.com --company c_… --key-file /run/secrets/tributary-key
  zcat history/*.gz | tributary import events - --edge http://127.0.0.1:7700 --company c_… --key-file key`,
		Args: oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong problems
			if edge == "" || company == "" {
				wrong.add(errors.New("give --edge and --company"))
			}
			if flags.concurrency < 1 || flags.concurrency > 256 {
				wrong.add(errors.New("--concurrency must be from 1 to 256"))
			}
			text, err := key.read()
			wrong.add(err)
			if err == nil && text == "" {
				wrong.add(fmt.Errorf("give --key-file or $TRIBUTARY_KEY: an API key, which \"tributary keys create NAME --company %s --scope "+
					"events.import\" makes", cmp.Or(company, "COMPANY")))
			}
			if err := wrong.err(); err != nil {
				return err
			}
			return flags.run(cmd, args[0], func(ctx context.Context, config importer.Config) (importer.Summary, error) {
				return importer.Events(ctx, config, edge, company, text)
			})
		},
	}
	cmd.Flags().StringVar(&edge, "edge", "", "the edge's URL (edge_url in dev.json)")
	cmd.Flags().StringVar(&company, "company", "", "the companyId that the events belong to")
	key.register(cmd.Flags(), "events.import")
	cmd.Flags().IntVar(&flags.concurrency, "concurrency", 4, "requests in flight")
	flags.register(cmd)
	return cmd
}

func newImportOrders() *cobra.Command {
	var flags importFlags
	var admin string
	var key keyFlags
	cmd := &cobra.Command{
		Use:   "orders FILE",
		Short: "Send orders to the admin API",
		Long: `Send a file of orders, one JSON object a line, to the admin API (docs/api.md),
500 in a request. They are processed behind the orders that a shop sends meanwhile.

Of an order's versions the one with the greatest updatedAt counts. A line
without updatedAt, or with a null or empty one, is sent with its createdAt as updatedAt.
So a history is older than the orders posted since, and importing it again does
not undo their cancellations and changes. If an order has several lines, give
each its updatedAt: of equal ones the last to arrive counts. Everything else in a
line is sent unchanged. What the API warns of in the lines that it takes is
counted at the end, by code and field.

The API key needs the scope write_orders.
` + whereKeysAre,
		Example: `  tributary import orders orders.jsonl --admin https://admin.example.com/admin/v1 --key-file /run/secrets/tributary-key`,
		Args:    oneArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong problems
			if admin == "" {
				wrong.add(errors.New("give --admin"))
			}
			text, err := key.read()
			wrong.add(err)
			if err == nil && text == "" {
				wrong.add(errors.New("give --key-file or $TRIBUTARY_KEY"))
			}
			if err := wrong.err(); err != nil {
				return err
			}
			return flags.run(cmd, args[0], func(ctx context.Context, config importer.Config) (importer.Summary, error) {
				return importer.Orders(ctx, config, admin, text)
			})
		},
	}
	cmd.Flags().StringVar(&admin, "admin", "", "the admin API's base URL, with /admin/v1 (admin_url in dev.json)")
	key.register(cmd.Flags(), "write_orders")
	flags.register(cmd)
	return cmd
}
