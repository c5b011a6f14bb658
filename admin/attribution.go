package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// ledgerRecord is one entry of an order's ledger (docs/attribution.md, "Explanation").
type ledgerRecord struct {
	Entry        int             `json:"entry"`
	At           time.Time       `json:"at"`
	Kind         string          `json:"kind"`
	Influencer   string          `json:"influencer"`
	InfluencerID string          `json:"influencer_id"`
	CostID       string          `json:"cost_id"`
	RuleRev      int64           `json:"rule_rev"`
	Amount       commerce.Amount `json:"amount"`
	Currency     string          `json:"currency"`
	Reverses     int             `json:"reverses,omitempty"`
	Cause        string          `json:"cause"`
}

// orderAttribution is GET /order/{orderId}/attribution: the explanation that
// the processor stored, with the order's ledger.
func (s *Server) orderAttribution(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	orderID := r.PathValue("orderId")
	if !commerce.IsID(orderID) { // no order has such an id
		return answer{}, notFound("there is no such order in this store")
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	sale, err := s.deps.Database.ExplainedSale(ctx, c.companyID, orderID)
	switch {
	case errors.Is(err, commerce.ErrNotFound) || err == nil && sale.Explanation == nil:
		if err == nil || s.accepted.has(c.companyID, orderID) {
			return answer{}, notFound("accepted, not processed yet")
		}
		return answer{}, notFound("there is no such order in this store")
	case err != nil:
		return answer{}, err
	}
	explanation, err := withLedger(sale.Explanation, sale.Ledger)
	if err != nil {
		return answer{}, fmt.Errorf("explanation of an order: %w", err)
	}
	return answer{data: explanation}, nil
}

// withLedger adds the ledger to a stored explanation and leaves all else as it is.
func withLedger(body json.RawMessage, entries []commerce.LedgerEntry) (map[string]json.RawMessage, error) {
	var explanation map[string]json.RawMessage
	if err := json.Unmarshal(body, &explanation); err != nil {
		return nil, err
	}
	ledger := make([]ledgerRecord, len(entries))
	for i, e := range entries {
		ledger[i] = ledgerRecord{
			Entry: e.Entry, At: e.At.UTC(), Kind: e.Kind, Influencer: e.Influencer,
			InfluencerID: e.InfluencerID, CostID: e.CostID, RuleRev: e.RuleRev,
			Amount: commerce.Amount{Minor: e.AmountMinor, Currency: e.Currency}, Currency: e.Currency,
			Reverses: e.Reverses, Cause: e.Cause,
		}
	}
	raw, err := json.Marshal(ledger)
	explanation["ledger"] = raw
	return explanation, err
}
