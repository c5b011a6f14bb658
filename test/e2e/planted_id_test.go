package e2e

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/facts"
)

// Whoever writes a link can plant an anonymousId in the browser of who opens it (ajs_aid). A visit by an influencer's
// link that is told of that id by Segment's protocol waits for the merchant, where the SDK's own visitor is paid.
func TestAPlantedAnonymousIDPaysNobody(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	landing := d.landing(t, d.register(t, "Ana Prado", "Inverno", ""), "https://loja.example.com")
	planted, own := uuid.NewString(), uuid.NewString()
	mustCall(t, http.MethodPost, d.EdgeURL+"/v1/events", "", map[string]any{
		"companyId": d.CompanyID, "event": "PAGE_VIEW", "visitorId": own, "context": map[string]any{"page": map[string]any{"url": landing}},
	}, nil)
	got, err := call(t.Context(), http.MethodPost, d.EdgeURL+"/segment/v1/page", "", map[string]any{
		"writeKey": d.CompanyID, "messageId": "m-1", "anonymousId": planted, "properties": map[string]any{"url": landing},
	})
	if err != nil || got.status != http.StatusOK || string(got.body) != `{"success":true}` {
		t.Fatalf("%v: %d %s", err, got.status, got.body)
	}
	f := func(id, userID string, state facts.PayoutState, proof facts.Proof) {
		t.Helper()
		o := order(id, "100.00", "")
		o["userId"] = userID
		mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, o, nil)
		e := d.explain(t, id, func(e facts.Explanation) bool { return e.Payout.State == state })
		if w := e.Payout.Winner; w == nil && proof != "" || w != nil && w.Proof != proof {
			t.Errorf("order %s of %s: %+v, want the proof %q", id, userID, w, proof)
		}
	}
	f("own", own, facts.PayoutEarned, facts.Proof(facts.KeyVisitor))
	f("claimed", "segment:"+planted, facts.PayoutReview, facts.ProofClaimed)
	f("bare", planted, facts.PayoutNone, "")
}
