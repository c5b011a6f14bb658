package house_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tributary-io/tributary/"

// deps lists every package that a build of pattern reaches, itself included.
func deps(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", pattern).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pattern, err)
	}
	return strings.Fields(string(out))
}

// imports lists the packages that each package below pattern names itself.
func imports(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, pattern).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pattern, err)
	}
	found := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		words := strings.Fields(line)
		found[words[0]] = words[1:]
	}
	return found
}

func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestSDKReachesTheStandardLibraryOnly(t *testing.T) {
	atRoot(t)
	for _, path := range deps(t, "./sdk/...") {
		if !isStandard(path) && !strings.HasPrefix(path, module+"sdk") && path != module+"internal/seglog" {
			t.Errorf("sdk reaches %s: it is embedded in merchants' backends and may bring nothing along", path)
		}
	}
}

// So that the SDK can share it.
func TestTheSegmentLogReachesTheStandardLibraryOnly(t *testing.T) {
	atRoot(t)
	for _, path := range deps(t, "./internal/seglog") {
		if !isStandard(path) && path != module+"internal/seglog" {
			t.Errorf("internal/seglog reaches %s", path)
		}
	}
}

func TestCoreStaysSmallEnoughForABrowser(t *testing.T) {
	atRoot(t)
	allowed := []string{"errors", "math/bits", "strings", "strconv", "slices", "unicode/utf8"} // bits are instructions
	for from, paths := range imports(t, "./sdk/core") {
		for _, path := range paths {
			if !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s: every import is downloaded by every shopper (docs/adr/0004)", from, path)
			}
		}
	}
	for _, path := range deps(t, "./sdk/core") {
		switch path {
		case "fmt", "time", "reflect", "regexp", "encoding/json", "net", "context", "crypto/rand", "os", "io/fs":
			t.Errorf("sdk/core reaches %s: every import is downloaded by every shopper (docs/adr/0004)", path)
		}
	}
}

func TestEdgeNeedsOnlyKafka(t *testing.T) {
	atRoot(t)
	reached := deps(t, "./edge/...")
	if !slices.Contains(reached, module+"internal/kafka") {
		t.Fatal("go list does not list the edge's dependencies")
	}
	for _, path := range reached {
		switch {
		case strings.Contains(path, "jackc/pgx"), path == "database/sql", inside(path, "internal/postgres"):
			t.Errorf("edge reaches %s: it must collect while Postgres is down", path)
		case inside(path, "dev"), inside(path, "test"), inside(path, "sdk-js"):
			t.Errorf("edge reaches %s: cmd hands it what it serves", path)
		case inside(path, "internal/commerce"):
			t.Errorf("edge reaches %s: what merchants set up it reads in the shapes of internal/wire", path)
		}
	}
}

// Every statement is held to docs/notes/tables.md by a test of internal/postgres, so
// no other package may send any. devstack starts servers, and what is below test fills them.
func TestOnlyThePostgresPackagesSpeakSQL(t *testing.T) {
	atRoot(t)
	for from, paths := range imports(t, "./...") {
		if inside(from, "internal/postgres") || inside(from, "dev/devstack") || inside(from, "test") {
			continue
		}
		for _, path := range paths {
			if strings.HasPrefix(path, "github.com/jackc/pgx") || path == "database/sql" {
				t.Errorf("%s imports %s: statements belong below internal/postgres", from, path)
			}
		}
	}
}

// They share what internal/commerce checks and what the database reads.
func TestTheAPIAndThePagesAreApart(t *testing.T) {
	atRoot(t)
	for _, path := range deps(t, "./admin") {
		if inside(path, "admin/dashboard") {
			t.Errorf("admin reaches %s: admin.Mux takes the pages as a handler", path)
		}
	}
	for _, path := range deps(t, "./admin/dashboard/...") {
		if path == module+"admin" {
			t.Errorf("the pages reach %s: they use none of the API's handlers", path)
		}
	}
}

// A subject of the pages is read alone: what two need is in site, and only the entrance
// knows all of them.
func TestSubjectsOfThePagesAreApart(t *testing.T) {
	atRoot(t)
	entrance := module + "admin/dashboard"
	subjects := []string{"login", "rules", "money", "report", "events", "shops"}
	found := 0
	for from, paths := range imports(t, "./admin/dashboard/...") {
		for _, path := range paths {
			subject := slices.Contains(subjects, strings.TrimPrefix(path, entrance+"/"))
			switch {
			case from == entrance && subject:
				found++
			case path == entrance, subject && from != entrance:
				t.Errorf("%s imports %s: only the entrance knows the subjects", from, path)
			}
		}
	}
	if found != len(subjects) {
		t.Errorf("the entrance imports %d subjects, want %d", found, len(subjects))
	}
}

func TestServicesNeverImportEachOther(t *testing.T) {
	atRoot(t)
	services := []string{"edge", "admin", "processor", "connect"}
	for _, service := range services {
		for _, path := range deps(t, "./"+service+"/...") {
			for _, other := range services {
				if other != service && inside(path, other) {
					t.Errorf("%s reaches %s: services meet on topics and tables only", service, path)
				}
			}
		}
	}
}

// The edge alone names the Kafka adapter and the batching before it: Kafka is
// its one dependency.
func TestServicesDeclareWhatTheyNeed(t *testing.T) {
	atRoot(t)
	for _, service := range []string{"edge", "admin", "processor", "connect"} {
		for from, paths := range imports(t, "./"+service+"/...") {
			for _, path := range paths {
				switch path {
				case module + "internal/kafka", module + "internal/produce":
					if service != "edge" {
						t.Errorf("%s imports %s: only cmd wires a service to an adapter", from, path)
					}
				case module + "internal/postgres", module + "internal/postgres/merchant", module + "internal/postgres/report", module + "dev/devstack":
					t.Errorf("%s imports %s: only cmd wires a service to an adapter", from, path)
				}
			}
		}
	}
}

// Also dev, which runs the services, has them handed in. Benchmarks and the
// simulated world, in WebAssembly, are programs of their own.
func TestOnlyCmdImportsServices(t *testing.T) {
	atRoot(t)
	for from, paths := range imports(t, "./...") {
		if inside(from, "cmd") || inside(from, "test/bench") || inside(from, "test/fixtures") || from == module+"test/sim/world" {
			continue
		}
		for _, path := range paths {
			for _, service := range []string{"edge", "admin", "processor", "connect"} {
				typesInTests := path == module+"connect/platform" && inside(from, "test/fixtures")
				if inside(path, service) && !inside(from, service) && !typesInTests {
					t.Errorf("%s imports %s: only cmd wires services", from, path)
				}
			}
		}
	}
}

// inside tells whether a package is the module's directory or below it.
func inside(path, directory string) bool {
	return path == module+directory || strings.HasPrefix(path, module+directory+"/")
}

func TestAttributionRulesArePure(t *testing.T) {
	atRoot(t)
	for _, pure := range []string{"./internal/attribution", "./internal/facts"} {
		for from, paths := range imports(t, pure) {
			for _, path := range paths {
				switch path {
				case "context", "os", "io", "net", "net/http", "sync", "math/rand", "math/rand/v2", "crypto/rand", "log/slog":
					t.Errorf("%s imports %s: the rules have no I/O, clock, randomness or goroutines", from, path)
				}
			}
		}
	}
}

func TestLeavesImportNothingOfOurs(t *testing.T) {
	atRoot(t)
	for leaf, but := range map[string][]string{
		"sdk/core": nil, "internal/uuidtext": nil,
		"internal/wire": {"internal/uuidtext"},
		"internal/fold": nil, "internal/lenient": nil, "internal/publichost": nil,
		// It checks orders in the shape in which they travel.
		"internal/account":  {"internal/commerce", "internal/wire", "internal/uuidtext", "internal/fold", "internal/publichost"},
		"internal/commerce": {"internal/wire", "internal/uuidtext", "internal/fold", "internal/publichost"},
	} {
		for _, path := range deps(t, "./"+leaf) {
			own, found := strings.CutPrefix(path, module)
			if found && own != leaf && !slices.Contains(but, own) {
				t.Errorf("%s reaches %s: it is a leaf", leaf, path)
			}
		}
	}
}
