package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
)

// What is stored about a person is read by a scope of its own, of one company. The audit log says so, and not who it is; a body that
// names nobody is refused, and then nothing is in the log.
func TestWhatIsStoredAboutAPersonIsRead(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	for _, scope := range account.Scopes {
		want := 403
		if scope == account.ExportCustomers {
			want = 200
		}
		if a := s.call("POST", "/admin/v1/exports", s.key(s.store.Live.CompanyID, scope), `{"email":"ana@example.com"}`); a.Status != want {
			t.Errorf("%s: %d, want %d", scope, a.Status, want)
		}
	}
	key := s.key(s.store.Live.CompanyID, account.ExportCustomers)
	usual := s.key(s.store.Live.CompanyID, account.AdminScopes...)
	if a := s.call("POST", "/admin/v1/exports", usual, `{"email":"ana@example.com"}`); a.Status != 403 {
		t.Errorf("a key with the usual scopes: %d", a.Status)
	}
	a := s.call("POST", "/admin/v1/exports", key, `{"email":" Ana@Example.com ","customer_id":"customer-4711"}`)
	s.want(a, 200, "")
	var file struct {
		CompanyID string   `json:"company_id"`
		NamedBy   []string `json:"named_by"`
		Orders    []any
		Complete  bool
	}
	if err := json.Unmarshal(a.Data, &file); err != nil || file.CompanyID != s.store.Live.CompanyID || !file.Complete ||
		strings.Join(file.NamedBy, " ") != "email customer_id" || file.Orders == nil || strings.Contains(string(a.Data), "customer-4711") {
		t.Errorf("%s, %v", a.Data, err)
	}
	for _, bad := range []string{`{}`, `{"email":"nobody"}`, `{"email":5}`} {
		s.want(s.call("POST", "/admin/v1/exports", key, bad), 400, "validation_error")
	}
	if n := s.count(`select count(*) from audit_log where company_id = $1 and action = 'customer.export'`, s.store.Live.CompanyID); n != 2 {
		t.Errorf("%d lines of the audit log, want one for each export", n)
	}
	for _, name := range []string{"ana@", "customer-4711"} {
		if n := s.count(`select count(*) from audit_log a where strpos(lower(a::text), $1) > 0`, name); n > 0 {
			t.Errorf("%d rows of the audit log have %s", n, name)
		}
	}
}
