package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/devtest"
)

// TestEventsAppearInTheDebugger sends an event and a wrong one over the public interface:
// the open page shows what the first does, that it is stored, and how the second is mended.
func TestEventsAppearInTheDebugger(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.register(t, "Ana Prado", "Inverno", "")
	page := devtest.Browser(t).MustPage(d.DashboardURL).Timeout(2 * time.Minute)
	page.MustElement("#email").MustInput(d.DashboardEmail)
	page.MustElement("#password").MustInput(d.DashboardPassword)
	page.MustElement("button.main").MustClick()
	page.MustElement(".pages")
	page.MustNavigate(d.DashboardURL + "/events?company=" + d.CompanyID).MustWaitLoad()
	page.MustElement("#live[data-state=on]")

	mustPostEvents(t, d, map[string]any{
		"event": "PAGE_VIEW", "visitorId": "0199f3a0-0000-7000-8000-00000000000a", "identity": map[string]any{"email": "maria@example.com"},
		"context": map[string]any{"page": map[string]any{"url": "https://loja.example.com/p/1?utm_source=influencer&utm_campaign=Ana+Prado"}},
	})
	row := page.MustElementR("#events li", "Page view")
	if got := row.MustText(); !containsAll(got, "loja.example.com/p/1", "Ana Prado") {
		t.Errorf("the event reads %q", got)
	}
	page.MustElementR("#events li .kept", `^\s*stored\s*$`)

	wrong := map[string]any{"companyId": d.CompanyID, "event": "CHECKOUT_COMPLETED", "identity": map[string]any{"email": "maria@example.com"}}
	if got, err := call(t.Context(), http.MethodPost, d.EdgeURL+"/v1/events", "", wrong); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	row = page.MustElementR("#events li", "No items of the purchase")
	row.MustElement("summary").MustClick()
	if got := row.MustText(); !containsAll(got, "Rejected", "How to mend it", "item_quantity",
		"CHECKOUT_COMPLETED needs what was bought", "(redacted)") {
		t.Errorf("the rejection reads %q", got)
	}
	if got := page.MustElement("main").MustText(); containsAll(got, "maria") {
		t.Errorf("the page shows an e-mail: %q", got)
	}
}

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
