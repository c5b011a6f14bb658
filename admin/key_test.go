package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
)

func TestAKeySaysWhatItMayDo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	var key struct {
		Scopes          []string
		Timezone, Today string
	}
	s.live = s.key(s.store.Live.CompanyID, account.ReadCosts, account.WriteOrders)
	s.get("/key", &key)
	if fmt.Sprint(key.Scopes) != "[costs.read write_orders]" || key.Timezone != "America/Sao_Paulo" || len(key.Today) != len("2026-03-15") {
		t.Errorf("%+v", key)
	}
}

// A key of assistants sees no details of persons, masked ones neither, and changes and previews nothing.
func TestAKeyOfAssistantsSeesNoDetailsOfPersons(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	assistant := s.key(s.store.Live.CompanyID, account.ReadAssistant)
	register := `{"name": "Ana Prado", "coupon_only": true, "coupons": [{"cupom": "ANA10"}], "details": {"email": "ana@example.com",
		"phone": "+5511988887777", "document": "529.982.247-25", "pix": {"type": "email", "key": "ana@example.com"}, "notes": "A note"}}`
	s.want(s.call("POST", "/admin/v1/influencers", s.live, register), 200, "")
	for key, want := range map[string]bool{assistant: false, s.key(s.store.Live.CompanyID, account.ReadInfluencers): true,
		s.key(s.store.Live.CompanyID, account.ReadAssistant, account.ReadPayees):      false,
		s.key(s.store.Live.CompanyID, account.ReadAssistant, account.ReadInfluencers): true} {
		a := s.call("GET", "/admin/v1/influencers", key, "")
		body := string(a.Data)
		if a.Status != 200 || !strings.Contains(body, "Ana Prado") || strings.Contains(body, `"details"`) != want ||
			!want && (strings.Contains(body, "example.com") || strings.Contains(body, "24725") || strings.Contains(body, "247-25")) {
			t.Errorf("details %v, want %v: %d %s", !want, want, a.Status, body)
		}
	}
	for request, body := range map[string]string{
		"POST /influencers": register, "PUT /influencers": `{"name": "Ana Prado", "category": "x"}`,
		"DELETE /influencers":    `{"name": "Ana Prado"}`,
		"GET /influencers/costs": "", "GET /costs": "", "GET /webhooks": "", "GET /conversions": "", "POST /orders": "{}", "POST /product": "{}",
		"POST /exports": `{"email": "ana@example.com"}`, "POST /erasures": `{"email": "ana@example.com"}`,
		"POST /statements": `{"end_date": "2026-01-31"}`,
		"POST /ledger":     `{}`, "POST /preview": `{"change": {"type": "coupon.delete", "cupom": "ANA10"}}`,
	} {
		method, path, _ := strings.Cut(request, " ")
		s.want(s.call(method, "/admin/v1"+path, assistant, body), 403, "insufficient_scope")
	}
}

// Whom a statement is of, with documents and the Pix key, is not told to a key of assistants.
func TestAKeyOfAssistantsSeesNoPartiesOfAStatement(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	id, _ := s.closedStatement()
	s.sql(`insert into statement_withholding values ($1, $2, 1, '[]', 0, 'NF 4711', now(), 'cli')`, s.store.Live.CompanyID, id)
	for scope, want := range map[account.Scope]bool{account.ReadAssistant: false, account.ReadReports: true} {
		a := s.call("GET", "/admin/v1/statements/"+id, s.key(s.store.Live.CompanyID, scope), "")
		if a.Status != 200 || strings.Contains(string(a.Data), `"parties":{`) != want || strings.Contains(string(a.Data), "pix_key") != want ||
			strings.Contains(string(a.Data), "NF 4711") != want {
			t.Errorf("%s: parties %v, want %v: %d %s", scope, !want, want, a.Status, a.Data)
		}
		if a := s.call("GET", "/admin/v1/statements", s.key(s.store.Live.CompanyID, scope), ""); a.Status != 200 ||
			strings.Contains(string(a.Data), "NF 4711") != want {
			t.Errorf("%s, the list: %d %s", scope, a.Status, a.Data)
		}
	}
}
