package commerce

import (
	"encoding/json"
	"fmt"
	"time"
)

// RuleOff is the Decision of a proposal to turn Settings.ConfirmDecisions off.
const RuleOff = "rule_off"

// Bounds of proposals.
const (
	ProposalLife = 7 * 24 * time.Hour // then it ends by itself; below LogInRest, so that nobody waits for a second person of their own
	MaxProposals = 200                // that wait together in one company
)

// Errors of decisions that need a second person.
var (
	ErrNeedsSecond      = fmt.Errorf("%w: a second person has to confirm decisions", ErrConflict)
	ErrNoSecondNeeded   = fmt.Errorf("%w: no second person has to confirm decisions", ErrConflict)
	ErrProposed         = fmt.Errorf("%w: another decision about it waits for a second person", ErrConflict)
	ErrTooManyProposals = fmt.Errorf("%w: at most %d decisions wait for a second person", ErrConflict, MaxProposals)
	ErrProposalEnded    = fmt.Errorf("%w: the proposal has ended", ErrConflict)
	ErrOrderChanged     = fmt.Errorf("%w: the order has changed since it was shown", ErrConflict)
)

// Proposal is a decision that counts once a second person confirms it (ADR 30). An order has at most one, and the company one
// to turn the rule off.
type Proposal struct {
	EvidenceDecision                 // of RuleOff only Decision and Reason
	Moves            json.RawMessage // what it would have moved when it was proposed, as its page writes it; nil: not known
	At               time.Time       // exact to the microsecond
	By               string          // who proposed it: "user/<personId>"

	// What Proposals tells besides.
	Influencer string    // name
	ByName     string    // e-mail
	OrderAt    time.Time // when the order's newest version was accepted
	Second     bool      // who asks may confirm it, as far as they are another person
	Anybody    bool      // some owner or finance of the store may
}

// EndsAt is when the proposal ends by itself.
func (p *Proposal) EndsAt() time.Time { return p.At.Add(ProposalLife) }

// SeenProposal is what somebody saw who confirms a proposal.
type SeenProposal struct {
	OrderID string    // empty: to turn the rule off
	At      time.Time // Proposal.At
	OrderAt time.Time // Proposal.OrderAt
}
