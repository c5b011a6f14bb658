package main

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/devtest"
)

// installation is a migrated database with one store, reached as the commands
// reach it: by the environment.
func installation(t *testing.T) (live commerce.Company, dsn string) {
	t.Helper()
	dsn = devtest.Postgres(t)
	t.Setenv("TRIBUTARY_POSTGRES", devtest.AsServices(t, dsn))
	t.Setenv("TRIBUTARY_HASHING_SECRET", strings.Repeat("s", 32))
	out, status := command(t, "company", "create", "Loja Exemplo")
	if status != 0 {
		t.Fatalf("company create: %d\n%s", status, out)
	}
	for line := range strings.Lines(out) {
		switch words := strings.Fields(line); words[0] {
		case "store":
			live.StoreID = words[1]
		case "live":
			live.CompanyID = words[1]
		}
	}
	return live, dsn
}

func TestKeysThatCannotBeMeantAreRefused(t *testing.T) {
	live, _ := installation(t)
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, args...)
		if !refused(status) || !strings.Contains(out, want) || strings.Contains(out, "postgres:") || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: exit status %d and\n%s\nwant 1 and a line with %q", args, status, out, want)
		}
	}
	f("--expires-in", "keys", "create", "erp", "--company", live.CompanyID, "--expires-in", "-5m")
	f("name", "keys", "create", " ", "--company", live.CompanyID)
	f("--type", "keys", "create", "erp", "--company", live.CompanyID, "--type", "mine")
	f(`--scope: unknown scope "all": there are [write_orders write_products `, "keys", "create", "erp", "--company",
		live.CompanyID, "--scope", "all")
	f("no such company: c_zz", "keys", "create", "erp", "--company", "c_zz")
	f("no such company: zzz", "keys", "list", "--company", "zzz")
	f("no such company: c_zz", "keys", "revoke", "key_zz", "--company", "c_zz")
	f("no such key", "keys", "revoke", "zz", "--company", live.CompanyID)
	f("--grace", "keys", "revoke", "zz", "--company", live.CompanyID, "--grace", "-1s")
	f("no such key", "keys", "rotate", "zz", "--company", live.CompanyID)
	f("--grace", "keys", "rotate", "zz", "--company", live.CompanyID, "--grace", "-1s")

	out, status := command(t, "keys", "list", "--company", live.CompanyID)
	if status != 0 || strings.Count(out, "\n") != 1 {
		t.Errorf("after nothing but refusals, the keys are\n%s", out)
	}
}

// A key that sends events is believed more than a page: it is asked for by name.
func TestAKeyHasTheScopesOfEventsOnlyWhereTheyAreNamed(t *testing.T) {
	live, _ := installation(t)
	for _, args := range [][]string{{"erp"}, {"backend", "--scope", "events.write,events.import"}} {
		if out, status := command(t, append([]string{"keys", "create", "--company", live.CompanyID}, args...)...); status != 0 {
			t.Fatal(out)
		}
	}
	out, _ := command(t, "keys", "list", "--company", live.CompanyID)
	if lines := strings.Split(out, "\n"); len(lines) != 4 || strings.Contains(lines[1], "events.") ||
		!strings.Contains(lines[1], "costs.write") ||
		!strings.HasSuffix(lines[2], " events.write,events.import") {
		t.Errorf("the keys are\n%s", out)
	}
}

func TestAKeyEndsOnce(t *testing.T) {
	live, _ := installation(t)
	out, status := command(t, "keys", "create", "erp", "--company", live.CompanyID)
	if status != 0 {
		t.Fatal(out)
	}
	key := strings.Fields(out)[1] // "Key key_… of the live environment."
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"keys", "revoke", key, "--company", live.CompanyID}, args...)...)
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d and %q, want 0 and %q", args, status, out, want)
		}
	}
	f("ends at", "--grace", "1h")
	f("already ends sooner", "--grace", "24h")
	f("ends at")
	f("already ended at", "--grace", "24h")
	f("already ended at")
}
