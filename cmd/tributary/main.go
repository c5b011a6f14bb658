// Command tributary is the whole product in one binary: the services, the
// commands to operate them, and `dev`, which runs everything on one machine.
//
// What may enter: flags, environment, wiring and shutdown; one file a command.
// Only here services are connected to internal/postgres and internal/kafka.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // time zones of stores, for machines without zone files

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Exit statuses.
const (
	statusFailed     = 1
	statusUsage      = 2 // a command, flag, variable or argument is wrong or missing: nothing was begun
	statusRejections = 3 // import: finished, with lines that were rejected
)

// statusError is an error with an exit status of its own, or one that the person
// has seen already.
type statusError struct {
	status int
	shown  bool
	err    error
}

// misuse is an error of whoever wrote the command line: statusUsage. nil stays nil.
func misuse(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{status: statusUsage, err: err}
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs one command and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return runWith(ctx, os.Stdin, args, stdout, stderr)
}

// runWith is run with another standard input.
func runWith(ctx context.Context, stdin io.Reader, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetIn(stdin)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	status := statusFailed
	var own *statusError
	if errors.As(err, &own) {
		status = own.status
	}
	if own == nil || !own.shown {
		for line := range strings.Lines(explained(err)) { // several things may be wrong at once
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintln(stderr, "tributary:", line)
			}
		}
	}
	return status
}

// explained is an error as people are told it: what they can do, where that is known.
func explained(err error) string {
	if errors.Is(err, commerce.ErrArchived) {
		return errArchived.Error()
	}
	if advice := postgres.Advice(err); advice != "" {
		return advice
	}
	return err.Error()
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:     "tributary",
		Version: version(debug.ReadBuildInfo()),
		Short:   "Which influencer, coupon or link brought each sale, to the cent and with proof",
		Long: `Tributary tells a merchant, to the cent and with proof, which influencer,
coupon or link brought each sale.

Every flag can be given by an environment variable instead: TRIBUTARY_ and the
flag's name in capitals, with _ for -. Secrets are read from a file
(TRIBUTARY_HASHING_SECRET_FILE) or from the variable itself
(TRIBUTARY_HASHING_SECRET), never from the command line.

Exit status: 0 done, 1 failed, 2 wrong usage (nothing was begun), 3 an import
that finished with lines that were rejected.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := readEnvironment(cmd.Flags(), os.LookupEnv); err != nil {
				return err
			}
			return exclusion(cmd.Flags())
		},
	}
	root.SetHelpCommand(newHelp())
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"services", "Services:", []*cobra.Command{newDev(), newEdge(), newAdmin(), newProcessor(), newConnect()}},
		{"merchants", "Merchants' work:", []*cobra.Command{newCompany(), newKeys(), newPerson(), newInfluencers(), newImport(), newExplain(),
			newPreview(), newPayouts(), newStatement(), newSigns(), newDelivery(), newWebhooks(), newConversions(), newErase(), newExport(),
			newModels(), newMCP()}},
		{"upkeep", "Setting up, checking and repairing:", []*cobra.Command{newMigrate(), newHealth(), newDoctor(), newVerify(), newReplay(),
			newRetain(), newOffsets(), newDirectory()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersion(), newManual())
	// A group alone is no usage of it.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}",
		`{{if and .Runnable (or (not .HasAvailableSubCommands) (index .Annotations "`+runsToo+`"))}}`, 1))
	root.SetFlagErrorFunc(flagProblem)
	describeFlags(root)
	return root
}

// runsToo is the annotation of a command that has others below it, and runs without one too.
const runsToo = "runs"

// newHelp is cobra's help, which fails for a command that there is not.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Tell what a command does", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = knownCommand(found, rest)
			}
			if err != nil {
				return misuse(err)
			}
			return found.Help()
		},
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Tell this program's version", Args: noArguments, Example: "  tributary version",
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "tributary version", cmd.Root().Version)
		},
	}
}

// group returns a command that only has subcommands. Without one, or with an
// unknown one, it fails: a mistake in a script must not look like success.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, DisableFlagsInUseLine: true, SuggestionsMinimumDistance: 2, Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return misuse(fmt.Errorf("%s needs a command: %s; see %s --help", cmd.Name(), commandsOf(commands), cmd.CommandPath()))
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// commandsOf names commands, in their order; cobra's own and hidden ones are left out.
func commandsOf(commands []*cobra.Command) string {
	var names []string
	for _, c := range commands {
		if c.Name() != "help" && c.Name() != "completion" && !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// knownCommand refuses an argument: it would be the name of a command that there is not.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return misuse(fmt.Errorf("unknown command %q of %s: did you mean %s?", args[0], cmd.CommandPath(), strings.Join(near, " or ")))
	}
	return misuse(fmt.Errorf("unknown command %q of %s: there are %s", args[0], cmd.CommandPath(), commandsOf(cmd.Commands())))
}

// oneArgument lets a command run with exactly one argument, as its usage names it.
func oneArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	_, name, _ := strings.Cut(cmd.Use, " ")
	if len(args) == 0 {
		return misuse(fmt.Errorf("%s is missing: %s", name, cmd.UseLine()))
	}
	return misuse(fmt.Errorf("only one argument is taken, %s: what is %q? %s", name, args[1], cmd.UseLine()))
}

// noArguments lets a command run without arguments alone.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return misuse(fmt.Errorf("%s takes no argument: what is %q?", cmd.CommandPath(), args[0]))
}

// What .ci/release links in; empty in any other build.
var (
	releaseVersion string // such as v0.1.0
	releaseCommit  string
	releaseDate    string // of the commit, RFC 3339 in UTC
)

// version tells which release this is, or else the module's version, then the commit and its date if they are known.
func version(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "unknown (built without module information)"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	text, commit, date := info.Main.Version, settings["vcs.revision"], settings["vcs.time"]
	if releaseVersion != "" {
		text, commit, date = releaseVersion, releaseCommit, releaseDate
	}
	if text == "" {
		text = "(devel)"
	}
	if commit != "" {
		text += " commit " + commit[:min(12, len(commit))]
		if date != "" {
			text += " of " + date
		}
		if settings["vcs.modified"] == "true" {
			text += " with local changes"
		}
	}
	return fmt.Sprintf("%s %s %s/%s", text, info.GoVersion, settings["GOOS"], settings["GOARCH"])
}
