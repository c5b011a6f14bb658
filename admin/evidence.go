package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/tributary-io/tributary/internal/commerce"
)

// decideEvidence is POST /order/{orderId}/evidence: what the merchant decides about an
// influencer's link evidence for the order (docs/attribution.md, "Proof"). The order
// may still be on its way to the processor.
func (s *Server) decideEvidence(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	decision := commerce.EvidenceDecision{
		OrderID: r.PathValue("orderId"), InfluencerID: required(o, "influencer_id", text), Decision: required(o, "decision", word),
	}
	o.bad.AddAll(decision.Check())
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	if !s.accepted.has(c.companyID, decision.OrderID) {
		if !commerce.IsID(decision.OrderID) { // no order has such an id
			return answer{}, notFound("there is no such order in this store")
		}
		if _, err := s.deps.Database.ExplainedSale(ctx, c.companyID, decision.OrderID); errors.Is(err, commerce.ErrNotFound) {
			return answer{}, notFound("there is no such order in this store")
		} else if err != nil {
			return answer{}, err
		}
	}
	err = s.deps.Database.DecideEvidence(ctx, c.author(s.now()), decision)
	if errors.Is(err, commerce.ErrNotFound) {
		return answer{}, notFound("there is no influencer with that id")
	}
	if err != nil {
		return answer{}, err
	}
	signal(s.wake)
	return answer{}, nil
}
