package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/account"
)

// An owner asks for a person to be erased, and the page says when that is done. Nobody else may, and no page, log or audit
// says who it is.
func TestAPersonIsErasedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "/dashboard/privacy?company="+s.live
	f := func(want int, words string, fields ...string) {
		t.Helper()
		values := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			values.Set(fields[i], fields[i+1])
		}
		if status, text, _ := s.send(owner, at, values); status != want || !contains(text, words) {
			t.Errorf("%q: %d, want %d with %q: %s", fields, status, want, words, text)
		}
	}
	f(http.StatusUnprocessableEntity, "whom to erase", "sure", "yes")
	f(http.StatusUnprocessableEntity, "confirm that you know it", "email", "zq.maria@example.com")
	f(http.StatusUnprocessableEntity, "names nobody", "email", "maria", "sure", "yes")
	if list, err := s.DB.Erasures(t.Context(), s.live, 10); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	f(http.StatusSeeOther, "", "email", "zq.maria@example.com", "phone", "(11) 98888-7766", "sure", "yes")
	f(http.StatusSeeOther, "", "email", "zq.maria@example.com", "phone", "(11) 98888-7766", "sure", "yes") // the same one waits
	if page := s.readAs(owner, at); !contains(page, "E-mail, Phone", "Being erased") || strings.Contains(page, "zq.maria") {
		t.Errorf("%s", page)
	}
	list, err := s.DB.Erasures(t.Context(), s.live, 10)
	if err != nil || len(list) != 1 || len(list[0].Kinds) != 2 || !list[0].DoneAt.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	s.exec(`update erasure set done_at = now(), orders = 3, events = 12 where company_id = $1`, s.live)
	if page := s.readAs(owner, at); !contains(page, "Erased", " 3 12") {
		t.Errorf("%s", page)
	}
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); strings.Contains(log, "zq.maria") ||
		strings.Contains(s.logged(), "zq.maria") {
		t.Error("a log says who was erased")
	}
	bia := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(bia, at, url.Values{"email": {"zq.maria@example.com"}, "sure": {"yes"}}); status != http.StatusForbidden {
		t.Errorf("finance erases: %d", status)
	}
}
