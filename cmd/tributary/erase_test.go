package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
)

func TestEraseNamesWhomAndSaysHowFarItIs(t *testing.T) {
	live, _ := installation(t)
	refused := func(want string, args ...string) {
		t.Helper()
		if out, status := command(t, append([]string{"erase"}, args...)...); !refused(status) || !strings.Contains(out, want) ||
			strings.Contains(out, "erasure  ") {
			t.Errorf("erase %v: exit status %d and\n%s\nwant 1 and %q", args, status, out, want)
		}
	}
	refused("give --company", "--email", "ana@example.com")
	refused("give whom to erase: --email, --phone, --customer or --visitor", "--company", live.CompanyID)
	refused("--email names nobody", "--company", live.CompanyID, "--email", "not an address")
	refused("--phone names nobody", "--company", live.CompanyID, "--email", "ana@example.com", "--phone", "123")
	refused("no such company", "--company", "c_nobody", "--email", "ana@example.com")

	// No admin publishes it here, so it waits.
	out, status := command(t, "erase", "--company", live.CompanyID, "--email", "ana@example.com", "--customer", "4711", "--wait", "0")
	if !regexp.MustCompile(`erasure  [0-9a-f-]{36}  \w+  0 orders, 0 events\n`).MatchString(out) ||
		!strings.Contains(out, "It goes on by itself") || status != 0 {
		t.Errorf("exit status %d and\n%s", status, out)
	}
	if strings.Contains(out, "ana@example.com") || strings.Contains(out, " erased ") {
		t.Errorf("it is not done yet, and the person is not named:\n%s", out)
	}
	e := reported[erasureReport](t, 0, "erase", "--company", live.CompanyID, "--email", "rui@example.com", "--wait", "0")
	if len(e.ErasureID) != 36 || e.State != "erasing" || e.CompanyID != live.CompanyID || e.Orders != 0 {
		t.Errorf("--json: %+v", e)
	}
}

func TestEraseSaysWhatNetworksWereTold(t *testing.T) {
	if text := toldWords(nil, false); text != "" {
		t.Errorf("nothing was told: %q", text)
	}
	want := "Networks were told of the person, or may have been. Pass the erasure on to each.\n  meta  1234567890  order 1001\n  and more\n"
	if text := toldWords([]commerce.ToldConversion{{Network: "meta", Account: "1234567890", OrderID: "1001"}}, true); text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

func TestEraseNeedsTheHashingSecret(t *testing.T) {
	live, _ := installation(t)
	t.Setenv("TRIBUTARY_HASHING_SECRET", "")
	if out, status := command(t, "erase", "--company", live.CompanyID, "--email", "ana@example.com"); status != statusUsage ||
		!strings.Contains(out, "give --hashing-secret-file") {
		t.Errorf("exit status %d and\n%s", status, out)
	}
}
