package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command runs one and gives what it printed and its exit status.
func command(t *testing.T, args ...string) (output string, status int) {
	t.Helper()
	var out bytes.Buffer
	status = run(t.Context(), args, &out, &out)
	return out.String(), status
}

func TestEveryCommandAndFlagIsExplained(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s has no description", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && (!strings.HasSuffix(f.Usage, " [$"+environmentName(f.Name)+"]") || len(f.Usage) < 20) {
				t.Errorf("%s --%s: %q does not say what it is and its variable", cmd.CommandPath(), f.Name, f.Usage)
			}
			// A secret on the command line shows in every process list. --key is the importer's by its contract.
			if strings.HasSuffix(f.Name, "secret") || strings.HasSuffix(f.Name, "password") {
				t.Errorf("%s --%s takes a secret from the command line", cmd.CommandPath(), f.Name)
			}
		})
		// The same order everywhere: what it is, (default …), [$VARIABLE].
		if usage := cmd.LocalFlags().FlagUsages(); strings.Contains(usage, "] (default") {
			t.Errorf("%s names a default after the variable:\n%s", cmd.CommandPath(), usage)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

func TestFlagsComeFromTheEnvironmentUnlessGiven(t *testing.T) {
	f := func(args []string, environment map[string]string, want, wantErr string) {
		t.Helper()
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		addr := flags.String("edge-addr", "default", "")
		flags.Int("partitions", 1, "")
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		err := readEnvironment(flags, func(name string) (string, bool) { v, ok := environment[name]; return v, ok })
		if got := fmt.Sprint(err); *addr != want || !strings.Contains(got, wantErr) {
			t.Errorf("%v with %v: %q, %v; want %q, %q", args, environment, *addr, err, want, wantErr)
		}
	}
	f(nil, nil, "default", "<nil>")
	f(nil, map[string]string{"TRIBUTARY_EDGE_ADDR": "environment"}, "environment", "<nil>")
	f([]string{"--edge-addr", "given"}, map[string]string{"TRIBUTARY_EDGE_ADDR": "environment"}, "given", "<nil>")
	f(nil, map[string]string{"TRIBUTARY_PARTITIONS": "many"}, "default", "TRIBUTARY_PARTITIONS")
}

func TestSecretsComeFromAFileOrTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("from the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(file, variable, want string, fails bool) {
		t.Helper()
		t.Setenv("TRIBUTARY_TEST_SECRET", variable)
		got, err := (&secretFlag{name: "test-secret", file: file}).require()
		if string(got) != want || (err != nil) != fails {
			t.Errorf("file %q, variable %q: %q, %v", file, variable, got, err)
		}
	}
	f(path, "", "from the file", false)
	f(path, "from the variable", "from the file", false)
	f("", " from the variable ", "from the variable", false)
	f("", "", "", true)
	f(path+".missing", "from the variable", "", true)
}

// Each thing has a line of its own, and no usage text hides it.
func TestWhatIsMissingIsSaid(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, args...)
		said := 0
		for line := range strings.Lines(out) {
			if words, ours := strings.CutPrefix(line, "tributary: "); !ours || strings.TrimSpace(words) == "" {
				t.Errorf("%v: %q says not who speaks", args, line)
			}
			if strings.Contains(line, want) {
				said++
			}
		}
		if !refused(status) || said != 1 {
			t.Errorf("%v: exit status %d and\n%s\nwant 1 and a line with %q", args, status, out, want)
		}
	}
	f("TRIBUTARY_POSTGRES", "migrate")
	f("TRIBUTARY_HASHING_SECRET", "edge")
	f("--short-base", "admin")
	f("--company", "keys", "list", "--postgres", "postgres://localhost/x")
	f("--edge and --company", "import", "events", "x.jsonl")
	f("no such file", "import", "events", "/nowhere/x.jsonl", "--edge", "http://127.0.0.1:1", "--company", "c", "--key", "k")
	f(`"tributary keys create NAME --company c --scope events.import"`, "import", "events", "x.jsonl", "--edge",
		"http://127.0.0.1:1", "--company", "c")
	f(`unknown command "attribute" of tributary: there are admin, company, `, "attribute")
	f(`unknown command "impotr" of tributary: did you mean import?`, "impotr")
	f("ORDER_ID is missing: tributary explain ORDER_ID", "explain")
	f(`only one argument is taken, ORDER_ID: what is "1002"?`, "explain", "1001", "1002")
	f("unknown command", "import", "bogus")
	f("unknown command", "keys", "bogus")
	f(`tributary erase takes no argument: what is "ana@example.com"?`, "erase", "ana@example.com")
	f("did you mean show?", "company", "shwo")
	f("there are create, grant, invite, ", "person", "zzzzzz")
	f("keys needs a command: create, list, ", "keys")
	f("--key-file", "import", "orders", "x.jsonl", "--admin", "http://127.0.0.1:1/admin/v1")
	f("--country", "company", "create", "Loja", "--country", "Brasil")
	f("--timezone", "company", "create", "Loja", "--timezone", "Sao Paulo")
	f("--currency", "company", "create", "Loja", "--currency", "reais")
	f("--origin", "company", "create", "Loja", "--origin", "https://loja.example.com/")
	f("--host", "company", "create", "Loja", "--host", "https://loja.example.com")
	f("name", "company", "create", " ")
	f("--consent", "company", "create", "Loja", "--consent", "maybe")
	f("--payout-rule", "company", "create", "Loja", "--payout-rule", "first")
	f("--window-days", "company", "create", "Loja", "--window-days", "0")
	f("--half-life-days", "company", "create", "Loja", "--half-life-days", "366")
	f("there is no flag --port", "dev", "--port", "1")
	f("--log-level", "dev", "--log-level", "loud")
	f("go together", "migrate", "--postgres", "x", "--kafka-tls-cert", "x.pem")
	f("SASL", "migrate", "--postgres", "x", "--kafka-sasl", "SCRAM-SHA-512")
}

func TestAllThatIsMissingIsSaidAtOnce(t *testing.T) {
	f := func(args []string, want ...string) {
		t.Helper()
		out, status := command(t, args...)
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%v says nothing of %q:\n%s", args, text, out)
			}
		}
		if !refused(status) || strings.Count(out, "\n") != len(want) {
			t.Errorf("%v: exit status %d and %d lines, want 1 and %d:\n%s", args, status, strings.Count(out, "\n"), len(want), out)
		}
	}
	t.Setenv("TRIBUTARY_PREVIOUS_HASHING_SECRET_FILE", filepath.Join(t.TempDir(), "gone"))
	f([]string{"edge", "--log-level", "loud", "--kafka-sasl", "PLAIN", "--kafka-tls-cert", "x.pem", "--trusted-proxy", "home"},
		"--log-level", "KAFKA_SASL_PASSWORD", "go together", "TRIBUTARY_HASHING_SECRET", "--previous-hashing-secret-file", "--trusted-proxy")
	f([]string{"admin"}, "TRIBUTARY_SHORT_BASE", "TRIBUTARY_POSTGRES", "TRIBUTARY_HASHING_SECRET", "--previous-hashing-secret-file",
		"TRIBUTARY_TOKEN_SECRET")
	f([]string{"processor", "--kafka-tls-ca", "/nowhere.pem"}, "--kafka-tls-ca", "TRIBUTARY_POSTGRES")
	f([]string{"migrate", "--kafka-tls-key", "x.pem"}, "go together", "TRIBUTARY_POSTGRES")
	f([]string{"doctor", "--kafka-tls-key", "x.pem", "--hashing-secret-file", "/nowhere"}, "go together", "--hashing-secret-file",
		"--previous-hashing-secret-file")
	f([]string{"keys", "list"}, "--company", "TRIBUTARY_POSTGRES")
	f([]string{"company", "create", "Loja", "--currency", "reais"}, "--currency", "TRIBUTARY_POSTGRES")
	f([]string{"import", "events", "x.jsonl"}, "--edge and --company", "TRIBUTARY_KEY")
	f([]string{"import", "orders", "x.jsonl"}, "--admin", "TRIBUTARY_KEY")
	f([]string{"mcp"}, "--admin", "TRIBUTARY_KEY")
	t.Setenv("TRIBUTARY_KAFKA_TLS", "perhaps")
	t.Setenv("TRIBUTARY_DRAIN", "soon")
	f([]string{"edge"}, "TRIBUTARY_KAFKA_TLS", "TRIBUTARY_DRAIN")
}

func TestExitStatusOfAnImport(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		var results []string
		for line := range bytes.Lines(readAll(t, r.Body)) {
			of := `{"status":200}`
			if bytes.Contains(line, []byte("bad")) {
				of = `{"status":400,"error":{"code":"validation_error"}}`
			}
			results = append(results, of)
		}
		fmt.Fprintf(w, `{"data":{"results":[%s]}}`, strings.Join(results, ","))
	}))
	defer server.Close()
	f := func(content string, answer, want int) {
		t.Helper()
		status = answer
		path := filepath.Join(t.TempDir(), "orders.jsonl")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, got := command(t, "import", "orders", path, "--admin", server.URL+"/admin/v1", "--key", "k", "--give-up-after", "1ms")
		if got != want || !strings.Contains(out, path) {
			t.Errorf("%s answered %d: exit status %d, want %d\n%s", content, answer, got, want, out)
		}
	}
	f(`{"orderId":"1"}`, 200, 0)
	status = 200
	path := filepath.Join(t.TempDir(), "two.jsonl")
	writeFile(t, path, `{"orderId":"1"}`+"\n"+`{"orderId":"bad"}`)
	got := reported[importReport](t, statusRejections, "import", "orders", path, "--admin", server.URL+"/admin/v1", "--key", "k")
	if got.File != path || !got.Finished || got.Lines != 2 || got.Accepted != 1 || got.Rejected != 1 || got.Duplicates != nil ||
		got.Seconds <= 0 || got.RejectedFile != path+".rejected.jsonl" || got.Warnings == nil {
		t.Errorf("--json: %+v", got)
	}
	f(`{"orderId":"1"}`+"\n"+`{"orderId":"bad"}`, 200, 3)
	f(`{"orderId":"1"}`, 401, 1)
	f(`{"orderId":"1"}`, 503, 1)
}

func readAll(t *testing.T, from io.Reader) []byte {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Error(err)
	}
	return text
}

func TestAKeyInAFileGoesBeforeTheFlag(t *testing.T) {
	dir := t.TempDir()
	lines, key := filepath.Join(dir, "lines.jsonl"), filepath.Join(dir, "key")
	for path, text := range map[string]string{lines: `{"orderId":"1","timestamp":"2026-01-01T00:00:00Z"}`, key: "from-the-file\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"results":[{"status":"ok"}],"data":{"results":[{"status":200}]}}`)
	}))
	defer server.Close()
	f := func(variable, want string, args ...string) {
		t.Helper()
		t.Setenv("TRIBUTARY_KEY", variable)
		for _, to := range [][]string{
			{"import", "orders", lines, "--admin", server.URL + "/admin/v1"},
			{"import", "events", lines, "--edge", server.URL, "--company", "c"},
		} {
			got = ""
			out, status := command(t, slices.Concat(to, []string{"--state-dir", t.TempDir()}, args)...)
			if status != 0 || got != "Bearer "+want {
				t.Errorf("$TRIBUTARY_KEY=%s %v %v: exit status %d with %q, want %q\n%s", variable, to, args, status, got, want, out)
			}
		}
	}
	f("variable", "from-the-file", "--key-file", key)
	f("variable", "variable")
	f("variable", "flag", "--key", "flag")
}

func TestVersionSaysWhatWasBuilt(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-27T12:00:00Z"}, {Key: "GOOS", Value: "linux"},
		{Key: "GOARCH", Value: "arm64"}}}
	if got, want := version(info, true), "(devel) commit 0123456789ab of 2026-11-27T12:00:00Z go1.26.8 linux/arm64"; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
	t.Setenv("TRIBUTARY_VERSION", "no flag of ours")
	if out, status := command(t, "--version"); status != 0 || !strings.HasPrefix(out, "tributary version ") || !strings.Contains(out, "go1.") {
		t.Errorf("--version: exit status %d and %q", status, out)
	}
	if out, status := command(t, "keys"); status != statusUsage || strings.Contains(out, "TRIBUTARY_VERSION") {
		t.Errorf("a variable named as cobra's own flag: %q", out)
	}
}

func TestATakenPortIsNamedWithItsFlag(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	addr := taken.Listener.Addr().String()
	if _, err := listen("admin-addr", addr); err == nil || !strings.Contains(err.Error(), addr+" is in use") ||
		!strings.Contains(err.Error(), "--admin-addr") {
		t.Errorf("taken port: %v", err)
	}
}

// refused reports whether a command was not carried out: because of how it was written, or
// since it failed. TestExitStatuses tells the two apart.
func refused(status int) bool { return status == statusUsage || status == statusFailed }

func TestExitStatuses(t *testing.T) {
	away := []string{"--postgres", "postgres://u@127.0.0.1:1/x"}
	for _, c := range []struct {
		status int
		args   []string
	}{
		{0, []string{"version"}},
		{0, []string{"help", "keys"}},
		{statusUsage, []string{"impotr"}},
		{statusUsage, []string{"help", "nope"}},
		{statusUsage, []string{"keys"}},
		{statusUsage, []string{"keys", "bogus"}},
		{statusUsage, []string{"version", "extra"}},
		{statusUsage, []string{"explain"}},
		{statusUsage, []string{"company", "list", "--nope"}},
		{statusUsage, []string{"company", "list"}},
		{statusUsage, append([]string{"payouts", "--company", "c", "--json", "--csv"}, away...)},
		{statusFailed, append([]string{"company", "list"}, away...)},
		{statusFailed, []string{"models", "not-there.csv"}},
	} {
		if out, status := command(t, c.args...); status != c.status {
			t.Errorf("tributary %s: exit status %d, want %d\n%s", strings.Join(c.args, " "), status, c.status, out)
		}
	}
}

func TestDurationsOfJSONLogsAreInMilliseconds(t *testing.T) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	log, err := (&logFlags{format: "json", level: "info"}).logger(cmd)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("slow", "wait", 1500*time.Millisecond, "rows", 3)
	if said := out.String(); !strings.Contains(said, `"wait_ms":1500,"rows":3`) {
		t.Errorf("it says %s", said)
	}
}
