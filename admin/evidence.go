package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// codeSecondPerson refuses a decision that a second person has to confirm.
const codeSecondPerson = "second_person_needed"

// decideEvidence is POST /order/{orderId}/evidence: what the merchant decides about an
// influencer's link evidence for the order (docs/attribution.md, "Proof"). The order
// may still be on its way to the processor.
func (s *Server) decideEvidence(_ context.Context, c caller, o object) (change, error) {
	decision := commerce.EvidenceDecision{
		OrderID: required(o, "orderId", text), InfluencerID: strings.ToLower(required(o, "influencer_id", text)),
		Decision: required(o, "decision", word),
	}
	o.bad.AddAll(decision.Check())
	return s.decide(c, o, decision)
}

// assignOrder is POST /order/{orderId}/assignment: what the merchant decides in a dispute,
// whatever the evidence says (docs/attribution.md, "Disputes").
func (s *Server) assignOrder(_ context.Context, c caller, o object) (change, error) {
	decision := commerce.EvidenceDecision{
		OrderID: required(o, "orderId", text), InfluencerID: strings.ToLower(required(o, "influencer_id", text)),
		Decision: required(o, "decision", word), Reason: strings.TrimSpace(required(o, "reason", text)),
	}
	o.bad.AddAll(decision.CheckDispute())
	return s.decide(c, o, decision)
}

// decide makes the change of a decision about an order.
func (s *Server) decide(c caller, o object, decision commerce.EvidenceDecision) (change, error) {
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		if !commerce.IsID(decision.OrderID) { // no order has such an id
			return answer{}, notFound("there is no such order in this store")
		}
		sale, err := s.deps.Database.ExplainedSale(ctx, c.companyID, decision.OrderID)
		switch {
		case errors.Is(err, commerce.ErrNotFound) && s.accepted.has(c.companyID, decision.OrderID): // not processed yet
		case err != nil:
			return answer{}, missing(err, notFound("there is no such order in this store"))
		default:
			decision.Touches = facts.TouchesOf(sale.Explanation, decision.InfluencerID, wire.MaxAccepted)
		}
		err = s.deps.Database.DecideEvidence(ctx, author, decision)
		switch {
		case errors.Is(err, commerce.ErrTooManyDecisions):
			return answer{}, o.refuse("decision", commerce.CodeTooMany,
				"the order has %d decisions already: no more are taken", commerce.MaxDecisions)
		case errors.Is(err, commerce.ErrNeedsSecond):
			return answer{}, &problem{status: http.StatusConflict, code: codeSecondPerson,
				message: "in this store a decision counts once a second person has confirmed it: decide on the dashboard. An API key is no person"}
		case err != nil:
			return answer{}, missing(err, notFound("there is no influencer with that id"))
		}
		return answer{}, s.OnKafka(ctx, author.CompanyID)
	}, o.broken()
}
