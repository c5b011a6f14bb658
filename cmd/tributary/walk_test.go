package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leaves are all commands that do something, by their words.
func leaves(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	found := map[string]*cobra.Command{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		if (!cmd.HasSubCommands() || cmd.Annotations[runsToo] != "") && !cmd.Hidden {
			found[strings.TrimPrefix(cmd.CommandPath(), "tributary ")] = cmd
		}
	}
	visit(newRoot())
	if len(found) < 35 {
		t.Fatalf("only %d commands", len(found))
	}
	return found
}

// mistaken runs a command that is used wrongly. What it says fits a screen, is for people, and has
// each of some texts.
func mistaken(t *testing.T, args []string, want ...string) string {
	t.Helper()
	out, status := command(t, args...)
	if !refused(status) || strings.Count(out, "\n") > 24 || strings.TrimSpace(out) == "" {
		t.Errorf("tributary %s: exit status %d and\n%s", strings.Join(args, " "), status, out)
	}
	for _, never := range []string{"goroutine ", "panic", "strconv.", "0x", "s3cret"} {
		if strings.Contains(out, never) {
			t.Errorf("tributary %s says %q:\n%s", strings.Join(args, " "), never, out)
		}
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("tributary %s says nothing of %q:\n%s", strings.Join(args, " "), text, out)
		}
	}
	return out
}

// Every command × what people do wrong with flags and arguments. A command that is added is
// tested by being there.
func TestWrongUsageOfEveryCommandIsTold(t *testing.T) {
	for path, cmd := range leaves(t) {
		words := strings.Fields(path)
		see := "see tributary " + path + " --help"
		mistaken(t, append(slices.Clip(words), "--bogus-flag"), "--bogus-flag", see)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if f.NoOptDefVal == "" {
				mistaken(t, append(slices.Clip(words), "--"+f.Name), "--"+f.Name+" needs a value", see)
			}
			if kind := f.Value.Type(); kind != "string" && kind != "stringSlice" {
				mistaken(t, append(slices.Clip(words), "--"+f.Name+"=rubbish"), "--"+f.Name, `"rubbish"`, see)
			}
			// A time is given in days everywhere.
			if kind := f.Value.Type(); kind == "time" || kind == "days" {
				if err := f.Value.Set("90d"); err != nil {
					t.Errorf("tributary %s --%s: %v", path, f.Name, err)
				}
			} else if strings.Contains(f.Name, "days") {
				t.Errorf("tributary %s --%s is %s and takes no 90d", path, f.Name, kind)
			}
		})
		mistaken(t, append(slices.Clip(words), "a", "b", "c"), "argument")
	}
}

// Every command without anything. What it needs is said with the flag and the variable.
func TestEveryCommandSaysWhatItNeeds(t *testing.T) {
	for path, cmd := range leaves(t) {
		if path == "dev" || path == "doctor" || path == "version" { // need nothing: all has a default
			continue
		}
		words := strings.Fields(path)
		if _, argument, has := strings.Cut(cmd.Use, " "); has {
			mistaken(t, words, " is missing: tributary ", argument)
			words = append(words, "x@example.com")
		}
		if out := mistaken(t, words); !regexp.MustCompile(`give --|give what to change: --|no such file|is not JSON|--yes`).MatchString(out) {
			t.Errorf("tributary %s says not what to give:\n%s", path, out)
		}
	}
}

// A flag that is marked as required in the help is one that the command asks for, and the services' marks are all that they ask for.
func TestRequiredFlagsAreMarked(t *testing.T) {
	for path, cmd := range leaves(t) {
		if path == "dev" || path == "doctor" || path == "version" { // need nothing: all has a default
			continue
		}
		words := strings.Fields(path)
		if strings.Contains(cmd.Use, " ") {
			words = append(words, "x@example.com")
		}
		out, status := command(t, words...)
		var marked []string
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "(required)") {
				marked = append(marked, f.Name)
				if !strings.Contains(out, "give what to change") && (status != statusUsage || !strings.Contains(out, "--"+f.Name)) {
					t.Errorf("tributary %s: --%s is marked as required, and without it: %d\n%s", path, f.Name, status, out)
				}
			}
		})
		if slices.Contains([]string{"edge", "admin", "processor", "connect", "migrate"}, path) {
			asked := 0
			for _, m := range regexp.MustCompile(`give --([a-z-]+)`).FindAllStringSubmatch(out, -1) {
				asked++
				if !slices.Contains(marked, m[1]) {
					t.Errorf("tributary %s asks for --%s, which is not marked as required", path, m[1])
				}
			}
			if asked == 0 || asked != len(marked) {
				t.Errorf("tributary %s asks for %d flags, and marks %q", path, asked, marked)
			}
		}
	}
}

// The root's help shows each command once, under what it is for.
func TestCommandsAreInGroups(t *testing.T) {
	out, status := command(t)
	at := -1
	for _, want := range []string{"\nServices:\n", "\n  processor ", "\nMerchants' work:\n", "\n  statement ",
		"\nSetting up, checking and repairing:\n", "\n  verify ", "\nAdditional Commands:\n", "\n  version "} {
		next := strings.Index(out, want)
		if next <= at || status != 0 {
			t.Fatalf("exit status %d; %q is not there, or not in this order:\n%s", status, want, out)
		}
		at = next
	}
	for _, cmd := range newRoot().Commands() {
		if cmd.GroupID == "" && !slices.Contains([]string{"version", "help", "completion", "manual"}, cmd.Name()) {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
}

func TestHelpOfACommandThatIsNotThereFails(t *testing.T) {
	for _, args := range [][]string{{"help", "nope"}, {"help", "company", "nope"}, {"nope"}, {"company", "nope"}, {"company"}} {
		if out, status := command(t, args...); status != statusUsage || !strings.HasPrefix(out, "tributary: ") {
			t.Errorf("%q: exit status %d\n%s", args, status, out)
		}
	}
	for _, args := range [][]string{{"help"}, {"help", "company", "create"}, {"version"}} {
		if out, status := command(t, args...); status != 0 || out == "" {
			t.Errorf("%q: exit status %d\n%s", args, status, out)
		}
	}
}

// Every command that reads PostgreSQL, without one: it says so, what to do, and no password.
func TestEveryCommandSaysThatPostgreSQLIsAway(t *testing.T) {
	t.Setenv("TRIBUTARY_HASHING_SECRET", strings.Repeat("s", 32))
	t.Setenv("TRIBUTARY_TOKEN_SECRET", strings.Repeat("t", 32))
	t.Setenv("TRIBUTARY_PASSWORD", "a good long password")
	t.Setenv("TRIBUTARY_EXPORT_KEY", strings.Repeat("e", 32))
	more := map[string][]string{
		"erase": {"--email", "ana@example.com"}, "statement close": {"--end-date", "2026-01-31"},
		"statement pay":      {"--paid-at", "2026-02-01T12:00:00Z", "--reference", "1"},
		"statement undo":     {"--reason", "sent back"},
		"statement withhold": {"--none"},
		"statement link":     {"--public-url", "https://painel.example.com"},
		"company set":        {"--hold-days", "3d"}, "influencers import": nil, "preview": nil,
		"offsets reset":       {"--topic", "events.v1", "--halted"},
		"connect add":         {"--credentials", "shop.json"},
		"connect credentials": {"--credentials", "shop.json"},
		"webhooks add":        {"--name", "ERP", "--url", "https://erp.example.com/tributary"},
		"webhooks resend":     {"--sequence", "1"},
		"webhooks replay":     {"--from", "2026-11-05T12:00:00Z"},
		"conversions add":     {"--network", "meta", "--name", "Meta", "--account-id", "1234567890", "--secret-file", "token"},
		"conversions secret":  {"--secret-file", "token"},
		"conversions resend":  {"--sequence", "1"},
		"conversions replay":  {"--from", "2026-11-05T12:00:00Z"},
		"export events":       {"--to", t.TempDir()}, "export orders": {"--to", t.TempDir()}, "export credits": {"--to", t.TempDir()},
		"export ledger": {"--to", t.TempDir()}, "export statements": {"--to", t.TempDir()},
	}
	tried := 0
	for path, cmd := range leaves(t) {
		// services wait; doctor has tests of its own
		if cmd.Flags().Lookup("postgres") == nil || slices.Contains([]string{"admin", "processor", "connect", "doctor"}, path) {
			continue
		}
		tried++
		args := append(strings.Fields(path), more[path]...)
		if strings.Contains(cmd.Use, " ") {
			args = append(args, map[bool]string{true: `{"type":"coupon.create"}`, false: "x@example.com"}[path == "preview"])
		}
		if cmd.Flags().Lookup("company") != nil {
			args = append(args, "--company", "c_1")
		}
		mistaken(t, append(slices.Clip(args), "--postgres", "postgres://u:s3cret@127.0.0.1:1/x"), "PostgreSQL cannot be reached",
			"--postgres or $TRIBUTARY_POSTGRES")
		mistaken(t, append(slices.Clip(args), "--postgres", "postgres://u:s3cret@h:port/x"), "write it as postgres://user@host/database")
	}
	if tried < 25 {
		t.Errorf("only %d commands", tried)
	}
}

// Help has an example for each command, and what the examples show is there.
func TestEveryCommandHasAnExampleThatHolds(t *testing.T) {
	for path, cmd := range leaves(t) {
		out, status := command(t, append(strings.Fields(path), "-h")...)
		if status != 0 || !strings.Contains(out, "\nExamples:\n") {
			t.Errorf("tributary %s -h: exit status %d, without an example:\n%s", path, status, out)
		}
		if !strings.Contains(cmd.Example, "tributary "+path) {
			t.Errorf("the example of tributary %s is of another command: %s", path, cmd.Example)
		}
		for _, flag := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(cmd.Example, -1) {
			if cmd.Flags().Lookup(flag[2:]) == nil {
				t.Errorf("the example of tributary %s has a flag %s that is not there", path, flag)
			}
		}
	}
}

// What programs read is JSON, for each command that is no service and shows more than that it was done.
func TestCommandsWriteJSON(t *testing.T) {
	for path, cmd := range leaves(t) {
		group, _, _ := strings.Cut(path, " ")
		if !slices.Contains([]string{"dev", "edge", "admin", "processor", "version", "health", "mcp"}, group) &&
			path != "connect" && !strings.HasPrefix(path, "connect key ") && cmd.Flags().Lookup("json") == nil {
			t.Errorf("tributary %s has no --json", path)
		}
	}
}
