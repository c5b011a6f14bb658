package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

const keyPath = "/key"

// assistantPaths are the paths that a key with account.ReadAssistant reads, beside all below /reports/.
var assistantPaths = []string{"/influencers", "/order/{orderId}", "/order/{orderId}/attribution", ordersPath, "/products",
	"/payouts", "/ledger", "/statements", "/statements/{id}"}

// forAssistants reports whether account.ReadAssistant opens an operation, beside its own scope.
func (r route) forAssistants() bool {
	return r.method == http.MethodGet && (slices.Contains(assistantPaths, r.path) || strings.HasPrefix(r.path, "/reports/"))
}

// opensTo reports whether a key has a scope that the operation asks for.
func (r route) opensTo(key account.APIKey) bool {
	return r.scope == "" || key.Has(r.scope) || r.forAssistants() && key.Has(account.ReadAssistant)
}

// forAssistantAlone reports whether the caller reads by account.ReadAssistant, and not by another scope that the
// operation takes: then no person's details are answered, masked ones neither.
func (c caller) forAssistantAlone(scope account.Scope) bool { return !c.has(scope) }

// shownStatement is a statement as the caller reads it. What the merchant wrote of an invoice and a payment often names who was paid.
func (c caller) shownStatement(s commerce.Statement) commerce.Statement {
	if c.forAssistantAlone(account.ReadReports) {
		s.Invoice, s.Reference = "", ""
	}
	return s
}

// keyRecord is what a key may do, and the store's day.
type keyRecord struct {
	Scopes   []account.Scope `json:"scopes"`
	Timezone string          `json:"timezone"`
	Today    string          `json:"today"`
}

// getKey is GET /key.
func (s *Server) getKey(ctx context.Context, _ *http.Request, c caller) (answer, error) {
	zone, today, err := s.deps.Database.Today(ctx, c.companyID, s.now())
	if err != nil {
		return answer{}, err
	}
	return answer{data: keyRecord{c.scopes, zone.String(), today}}, nil
}
