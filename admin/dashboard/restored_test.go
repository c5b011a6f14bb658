package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// After the database was restored, every page says so, and nothing is paid until an owner confirms.
func TestPayingIsBlockedUntilAnOwnerConfirms(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	s.Close(s.live)
	owner, analyst, at := s.loggedIn(), s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID), "?company="+s.live
	marked, err := s.DB.MarkRestored(t.Context(), map[string]commerce.LostChanges{s.live: {Rev: 1 << 30}, "c_unknown": {Rev: 2}})
	if err != nil || len(marked) != 1 {
		t.Fatalf("marked %v, %v", marked, err)
	}
	const notice, button = "changes of this store are lost. Nothing is paid until an owner confirms", "I have checked: pay again"
	pay := func() (int, string) {
		t.Helper()
		status, text, _ := s.send(owner, "/dashboard/statements/pay"+at,
			url.Values{"statement": {s.statement}, "paid_on": {"2026-04-30"}, "reference": {"PIX 1"}})
		return status, text
	}
	for _, path := range []string{"/dashboard/overview", "/dashboard/payouts", "/dashboard/statements"} {
		if text := s.readAs(owner, path+at); !contains(text, notice) {
			t.Errorf("%s: %s", path, text)
		}
		if text := s.readAs(owner, path+"?company="+s.box); contains(text, notice) {
			t.Errorf("%s of the sandbox says it too", path)
		}
	}
	if text := s.readAs(owner, "/dashboard/statements"+at); !contains(text, button) || contains(text, "Mark as paid") {
		t.Errorf("an owner reads %s", text)
	}
	if text := s.readAs(analyst, "/dashboard/statements"+at); contains(text, button) || !contains(text, "An owner may confirm it.") {
		t.Errorf("an analyst reads %s", text)
	}
	if status, text := pay(); status != http.StatusConflict || !strings.Contains(text, "Nothing is paid until an owner has confirmed it") {
		t.Errorf("paid: %d %s", status, text)
	}
	if status, _, _ := s.send(analyst, "/dashboard/statements/confirm"+at, url.Values{}); status != http.StatusForbidden {
		t.Errorf("an analyst confirms: %d", status)
	}
	if status, _, to := s.send(owner, "/dashboard/statements/confirm"+at, url.Values{}); status != http.StatusSeeOther {
		t.Errorf("an owner confirms: %d", status)
	} else if text := s.readAs(owner, to); !contains(text, "Statements can be paid again.") || contains(text, notice) ||
		!contains(text, "Mark as paid") {
		t.Errorf("afterwards an owner reads %s", text)
	}
	if status, text := pay(); status != http.StatusSeeOther {
		t.Errorf("%d %s", status, text)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Changes lost with a restored backup; paying blocked",
		"Paying allowed again") {
		t.Errorf("the audit log reads %s", text)
	}
}
