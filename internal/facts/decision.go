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
	Decision     string // commerce.EvidenceAccept …, or of a dispute commerce.DisputeAssign …
	Reason       string // of a dispute
	Rev          int64  // of the company's rules: of several decisions the highest counts
	AcceptedAt   time.Time
	Actor        string // as wire.Commerce's
	ConfirmedBy  string // the second person, "user/<userId>"; empty: nobody had to confirm it
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

// IsDispute reports whether the decision is one of commerce.DisputeDecisions: those about
// evidence neither change nor withdraw it.
func (d *Decision) IsDispute() bool { return slices.Contains(commerce.DisputeDecisions, d.Decision) }

// Decisions are the current decisions about an order: for each influencer at most one about
// the evidence and one of a dispute.
type Decisions []Decision

// Of returns the decision about an influencer's evidence, and an empty one where there is
// none.
func (d Decisions) Of(influencerID string) Decision { return d.find(influencerID, false) }

// Dispute returns the decision about an influencer in a dispute, and an empty one where there
// is none.
func (d Decisions) Dispute(influencerID string) Decision { return d.find(influencerID, true) }

func (d Decisions) find(influencerID string, dispute bool) Decision {
	for i := range d {
		if d[i].InfluencerID == influencerID && d[i].IsDispute() == dispute {
			return d[i]
		}
	}
	return Decision{}
}

// Refuses reports whether no link of an influencer counts.
func (d Decisions) Refuses(influencerID string) bool {
	return d.Of(influencerID).Decision == commerce.EvidenceRefuse || d.Denies(influencerID)
}

// Denies reports whether an influencer gets nothing of the order.
func (d Decisions) Denies(influencerID string) bool {
	return d.Dispute(influencerID).Decision == commerce.DisputeDeny
}

// Assigned returns the decision that gives the order to an influencer, and an empty one where
// none does. There is at most one (FoldDecisions).
func (d Decisions) Assigned() Decision {
	for _, one := range d {
		if one.Decision == commerce.DisputeAssign {
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
	if !slices.Contains(commerce.EvidenceDecisions, body.Decision) && !slices.Contains(commerce.DisputeDecisions, body.Decision) {
		return Decision{}, ErrUnknownKind
	}
	d := Decision{
		OrderID: body.OrderID, InfluencerID: body.InfluencerID, Decision: body.Decision, Rev: c.Rev,
		AcceptedAt: c.AcceptedAt.UTC().Truncate(StoredPrecision), Actor: c.Actor,
		ConfirmedBy: body.ConfirmedBy,
		Reason:      strings.ToValidUTF8(body.Reason[:min(len(body.Reason), 4*commerce.MaxDecisionReason)], ""),
		Touches:     strings.Join(body.Touches[:min(len(body.Touches), wire.MaxAccepted)], ","),
	}
	if !commerce.Recordable(d.AcceptedAt) {
		return Decision{}, ErrTime
	}
	return d, nil
}

// FoldDecisions returns the current decisions about each influencer, of all decisions
// about one order, ordered by influencer. The highest revision counts; one about evidence that
// repeats the decision before it changes nothing, and keeps that one's AcceptedAt. An order is
// given to one influencer at most: who was given it before has it no more, also where the later
// decision is released.
func FoldDecisions(all []Decision) Decisions {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.InfluencerID, b.InfluencerID), compareDispute(&a, &b), cmp.Compare(a.Rev, b.Rev))
	})
	var current Decisions
	assigned := int64(-1) // the last revision that gave the order to somebody
	for _, d := range sorted {
		if d.Decision == commerce.DisputeAssign {
			assigned = max(assigned, d.Rev)
		}
		last := len(current) - 1
		switch {
		case last < 0 || current[last].InfluencerID != d.InfluencerID || current[last].IsDispute() != d.IsDispute():
			current = append(current, d)
		case current[last].Decision != d.Decision || d.IsDispute():
			current[last] = d
		}
	}
	for i := range current {
		if d := &current[i]; d.Decision == commerce.DisputeAssign && d.Rev != assigned {
			d.Decision = commerce.DisputeRelease
		}
	}
	return current
}

func compareDispute(a, b *Decision) int {
	switch {
	case a.IsDispute() == b.IsDispute():
		return 0
	case a.IsDispute():
		return 1
	}
	return -1
}
