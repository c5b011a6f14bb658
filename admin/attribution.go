package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// orderAttribution is GET /order/{orderId}/attribution: the explanation that
// the processor stored, with the order's ledger.
func (s *Server) orderAttribution(ctx context.Context, r *http.Request, c caller) (answer, error) {
	orderID := r.PathValue("orderId")
	if !commerce.IsID(orderID) { // no order has such an id
		return answer{}, s.missingOrder(c.companyID, orderID)
	}
	sale, err := s.deps.Database.ExplainedSale(ctx, c.companyID, orderID)
	switch {
	case err == nil && sale.Explanation == nil:
		return answer{}, notProcessedYet()
	case err != nil:
		return answer{}, missing(err, s.missingOrder(c.companyID, orderID))
	}
	explanation, err := withLedger(sale.Explanation, sale.Ledger)
	if err != nil {
		return answer{}, fmt.Errorf("explanation of an order: %w", err)
	}
	return answer{data: servedExplanation{explanation, sale.Recomputing}}, nil
}

// missingOrder is the answer about an order that is not stored.
func (s *Server) missingOrder(companyID, orderID string) error {
	if s.accepted.has(companyID, orderID) {
		return notProcessedYet()
	}
	return notFound("there is no such order in this store")
}

func notProcessedYet() error { return notFound("accepted, not processed yet") }

// servedExplanation is an explanation, and whether its order is queued to be computed
// again, so that all else may change.
type servedExplanation struct {
	facts.Explanation
	Recomputing bool `json:"recomputing"`
}

// withLedger is a stored explanation with the order's ledger.
func withLedger(stored json.RawMessage, entries []commerce.LedgerEntry) (facts.Explanation, error) {
	var x facts.Explanation
	if err := json.Unmarshal(stored, &x); err != nil {
		return x, err
	}
	x.Ledger = make([]facts.ExplainedEntry, len(entries))
	for i, e := range entries {
		x.Ledger[i] = facts.ExplainedEntry{
			Entry: e.Entry, At: e.At.UTC(), Kind: e.Kind, Influencer: e.Influencer,
			InfluencerID: e.InfluencerID, CostID: e.CostID, RuleRev: e.RuleRev,
			Amount: facts.Number(e.AmountMinor, e.Currency), Currency: e.Currency,
			Reverses: e.Reverses, PayableOn: e.PayableOn, Cause: e.Cause,
		}
	}
	return x, nil
}
