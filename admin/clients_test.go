package admin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/dev/filelock"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// generatorVersion is the version of OpenAPI Generator, of which Maven gets the program.
const generatorVersion = "7.25.0"

// workshop is where generated clients are built, and the API that they call: a sandbox that has one order by a coupon of Ana Prado's, and
// one of nobody's.
type workshop struct {
	t         *testing.T
	root, dir string
	env       []string
	started   time.Time
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	devtest.NeedsIntegration(t)
	s, fixture := reading(t)
	company := fixture.Store.Sandbox.CompanyID
	key := s.key(company, account.Scopes...)
	ana := fixture.Influencer(company, "Ana Prado")
	at := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	fixture.Put(reporttest.Order{CompanyID: company, ID: "1", CreatedAt: at, ProcessedAt: at, TotalMinor: 20000, InfluencerID: ana,
		Evidence: commerce.EvidenceCoupon, State: "earned", CommissionMinor: 2000, DiscountCode: "ANA10"})
	fixture.Put(reporttest.Order{CompanyID: company, ID: "2", CreatedAt: at, ProcessedAt: at, TotalMinor: 5050, Status: 1})
	fixture.Sum(company, rollup.Order{Outcome: &facts.Outcome{Day: "2026-03-10", Currency: "BRL", Status: commerce.OrderApproved,
		TotalMinor: 20000}})
	root, err := filepath.Abs("..")
	if err == nil {
		err = devtest.Sources(filepath.Join(root, "sdk", "adminapi"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return &workshop{t: t, root: root, dir: t.TempDir(), started: time.Now(),
		env: append(os.Environ(), "ADMIN_URL="+s.url+"/sandbox/admin/v1", "API_KEY="+key, "GOFLAGS=", "GOWORK=off",
			"PYTHONDONTWRITEBYTECODE=1")}
}

// run runs a program in a folder and returns what it prints.
func (w *workshop) run(dir string, command ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, w.env
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s: %v\n%s%s", strings.Join(command, " "), err, out.String(), wrong.String())
	}
	return strings.TrimSpace(out.String())
}

// file is a file of the workshop; its folder is made.
func (w *workshop) file(text string, path ...string) (name string) {
	w.t.Helper()
	name = filepath.Join(append([]string{w.dir}, path...)...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// read is the text of a file of the project.
func (w *workshop) read(path ...string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{w.root}, path...)...))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// example is the code of docs/api.md, "Clients", in a language.
func (w *workshop) example(language string) string {
	w.t.Helper()
	_, section, found := strings.Cut(w.read("docs", "api.md"), "\n## Clients\n")
	section, _, _ = strings.Cut(section, "\n## ")
	match := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindStringSubmatch(section)
	if !found || match == nil {
		w.t.Fatalf("docs/api.md has no example in %s", language)
	}
	return match[1]
}

// wantCalled fails the test where a caller did not come to its end.
func (w *workshop) wantCalled(what, printed string) {
	w.t.Helper()
	if printed != "called" {
		w.t.Errorf("%s prints %q", what, printed)
	}
	w.t.Logf("%s: %.1f s since the start", what, time.Since(w.started).Seconds())
}

// document is the OpenAPI document as the service serves it, in a file.
func (w *workshop) document() (name string) {
	w.t.Helper()
	text := w.run(w.dir, "node", "-e", `fetch(process.env.ADMIN_URL + "/openapi.json").then(async (r) => console.log(await r.text()))`)
	return w.file(text, "openapi.json")
}

// The clients that are published are what the generators make of the document. With each, the example of docs/api.md works, and so do other
// calls: an influencer is made, an order and a report are read, and an error is met.
func TestPublishedClients(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.run(w.root, filepath.Join(".ci", "make-clients"), w.dir)
	for name, dir := range map[string]string{"client.gen.go": "sdk/adminapi", "openapi.d.ts": "sdk-js/npm/admin"} {
		made, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if w.read(filepath.FromSlash(dir), name) != string(made) {
			t.Errorf("%s/%s is not of the document: make clients", dir, name)
		}
	}
	w.callInGo()
	w.callInTypeScript()
}

// callInGo calls with sdk/adminapi. The program is another package of its module, by an overlay.
func (w *workshop) callInGo() {
	w.t.Helper()
	program := w.file(`package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/oapi-codegen/runtime/types"
	"github.com/tributary-io/tributary/sdk/adminapi"
)

func main() {
	ctx := context.Background()
	`+w.example("go")+w.read(".ci", "clients", "published.go.txt")+`	fmt.Println("called")
}
`, "main.go")
	module := filepath.Join(w.root, "sdk", "adminapi")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, "call", "main.go"): program}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.wantCalled("the Go client", w.run(module, "go", "run", "-overlay", w.file(string(replaced), "overlay.json"), "./call"))
}

// callInTypeScript calls with the npm package @tributary-io/admin, as it is packed.
func (w *workshop) callInTypeScript() {
	w.t.Helper()
	dir, installed := filepath.Join(w.dir, "ts"), filepath.Join(w.root, ".ci", "clients", "node_modules")
	for _, name := range []string{"package.json", "index.mjs", "index.d.ts", "openapi.d.ts"} {
		w.file(w.read("sdk-js", "npm", "admin", name), "ts", "node_modules", "@tributary-io", "admin", name)
	}
	if err := os.Symlink(filepath.Join(installed, "openapi-fetch"), filepath.Join(dir, "node_modules", "openapi-fetch")); err != nil {
		w.t.Fatal(err)
	}
	w.file(w.example("ts")+w.read(".ci", "clients", "published.ts"), "ts", "call.mts")
	w.run(dir, "node", filepath.Join(installed, "typescript", "bin", "tsc"), "--strict", "--target", "es2022", "--module", "nodenext",
		"--typeRoots", filepath.Join(installed, "@types"), "--types", "node", "call.mts")
	w.wantCalled("the TypeScript client", w.run(dir, "node", "call.mjs"))
}

// Clients that OpenAPI Generator makes, in Python and Go, compile without a patch and work.
func TestClientsOfAnotherGenerator(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	document := w.document()
	command := []string{"java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", w.generator(), "batch", "--fail-fast", "--threads", "1"}
	for language, name := range map[string]string{"python": "tributary_admin", "go": "openapi"} {
		config, err := json.Marshal(map[string]any{
			"generatorName": language, "inputSpec": document, "outputDir": filepath.Join(w.dir, language),
			"additionalProperties": map[string]any{"packageName": name, "hideGenerationTimestamp": true, "withGoMod": false},
			"globalProperties":     map[string]string{"apiTests": "false", "modelTests": "false", "apiDocs": "false", "modelDocs": "false"},
		})
		if err != nil {
			t.Fatal(err)
		}
		command = append(command, w.file(string(config), language+".json"))
	}
	w.run(w.dir, command...) // both in one JVM

	python := w.python()
	w.run(w.dir, python, "-m", "compileall", "-q", filepath.Join("python", "tributary_admin"))
	w.env = append(w.env, "PYTHONPATH="+filepath.Join(w.dir, "python"))
	w.wantCalled("the Python client", w.run(w.dir, python, filepath.Join(w.root, ".ci", "clients", "call.py")))

	for from, to := range map[string]string{"call.go": "main.go", "go.mod": "go.mod"} {
		w.file(w.read(".ci", "clients", from), "call", to)
	}
	if err := os.Rename(filepath.Join(w.dir, "go"), filepath.Join(w.dir, "call", "openapi")); err != nil {
		t.Fatal(err)
	}
	w.run(filepath.Join(w.dir, "call"), "go", "vet", "./openapi")
	w.wantCalled("the Go client of another generator", w.run(filepath.Join(w.dir, "call"), "go", "run", "."))
}

// tool is a folder of the user's cache with a tool of another package registry. make fills it, once on this machine.
func (w *workshop) tool(name string, fill func(dir string)) (dir string) {
	w.t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		w.t.Fatal(err)
	}
	dir = filepath.Join(cache, "tributary", name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		w.t.Fatal(err)
	}
	unlock, err := filelock.Wait(w.t.Context(), dir+".lock")
	if err != nil {
		w.t.Fatal(err)
	}
	defer unlock()
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		w.t.Fatal(err)
	}
	fill(dir)
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// generator is the program of OpenAPI Generator.
func (w *workshop) generator() (jar string) {
	w.t.Helper()
	dir := w.tool("openapi-generator-"+generatorVersion, func(dir string) {
		w.run(w.dir, "mvn", "-B", "-q", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
			"-Dartifact=org.openapitools:openapi-generator-cli:"+generatorVersion, "-DoutputDirectory="+dir)
	})
	return filepath.Join(dir, "openapi-generator-cli-"+generatorVersion+".jar")
}

// python is a Python that has what the generated client requires.
func (w *workshop) python() (program string) {
	w.t.Helper()
	required := w.read(".ci", "clients", "requirements.txt")
	dir := w.tool(fmt.Sprintf("openapi-python-%x", sha256.Sum256([]byte(required)))[:30], func(dir string) {
		w.run(w.dir, "python3", "-m", "venv", dir)
		w.run(w.dir, filepath.Join(dir, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r",
			filepath.Join(w.root, ".ci", "clients", "requirements.txt"))
	})
	return filepath.Join(dir, "bin", "python")
}
