package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Decision is what the merchant decided about an influencer's link evidence for an
// order (docs/attribution.md, "Proof").
type Decision struct {
	OrderID      string
	InfluencerID string // UUID
	Decision     string // commerce.EvidenceAccept …
	Rev          int64  // of the company's rules: of several decisions the highest counts
	AcceptedAt   time.Time
	Actor        string // as wire.Commerce's
	Touches      string // wire.Evidence.Touches: event ids, joined by commas

	Events []Event // those of Touches that are stored; a case has them where Decision is to accept
}

// TouchIDs returns the ids of Touches, and of each the instant in it, by which its event
// is stored.
func (d *Decision) TouchIDs() (ids []string, instants []time.Time) {
	for id := range strings.SplitSeq(d.Touches, ",") {
		if parsed, err := uuid.Parse(id); err == nil {
			ids, instants = append(ids, parsed.String()), append(instants, idTime(parsed))
		}
	}
	return ids, instants
}

// Decisions are the current decisions about an order, one for each influencer.
type Decisions []Decision

// Of returns the decision about an influencer, and an empty one where there is none.
func (d Decisions) Of(influencerID string) Decision {
	for _, one := range d {
		if one.InfluencerID == influencerID {
			return one
		}
	}
	return Decision{}
}

// ParseDecision parses the body of a decision's record. It returns one of the errors
// of event.go for a record that can never be applied.
func ParseDecision(c wire.Commerce) (Decision, error) {
	var body wire.Evidence
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return Decision{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if err := checkID(body.OrderID); err != nil {
		return Decision{}, err
	}
	if !uuidtext.Is(body.InfluencerID) {
		return Decision{}, ErrNoID
	}
	if !slices.Contains(commerce.EvidenceDecisions, body.Decision) {
		return Decision{}, ErrUnknownKind
	}
	d := Decision{
		OrderID: body.OrderID, InfluencerID: body.InfluencerID, Decision: body.Decision, Rev: c.Rev,
		AcceptedAt: c.AcceptedAt.UTC().Truncate(StoredPrecision), Actor: c.Actor,
		Touches: strings.Join(body.Touches[:min(len(body.Touches), wire.MaxAccepted)], ","),
	}
	if !commerce.Recordable(d.AcceptedAt) {
		return Decision{}, ErrTime
	}
	return d, nil
}

// FoldDecisions returns the current decision about each influencer, of all decisions
// about one order, ordered by influencer. The highest revision counts; one that
// repeats the decision before it changes nothing, and keeps that one's AcceptedAt.
func FoldDecisions(all []Decision) Decisions {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.InfluencerID, b.InfluencerID), cmp.Compare(a.Rev, b.Rev))
	})
	var current Decisions
	for _, d := range sorted {
		last := len(current) - 1
		switch {
		case last < 0 || current[last].InfluencerID != d.InfluencerID:
			current = append(current, d)
		case current[last].Decision != d.Decision:
			current[last] = d
		}
	}
	return current
}
