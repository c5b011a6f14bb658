package facts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// CauseKind says what made an order's outcome be computed.
type CauseKind string

const (
	CauseOrder    CauseKind = "order"    // a version of the order, or of one that shares its keys
	CauseEvent    CauseKind = "event"    // an event that has a key of the order, or is of its visitor
	CauseCopy     CauseKind = "copy"     // a copy that replaced a stored event
	CauseRule     CauseKind = "rule"     // a changed rule or setting
	CauseEvidence CauseKind = "evidence" // a decision about an influencer's evidence
	CauseSnapshot CauseKind = "snapshot" // its evidence was snapshotted: it stays the same
	CauseManual   CauseKind = "manual"   // a manual entry, which is no order

	CauseAgreement CauseKind = "agreement" // a day was closed, or an agreement was changed
)

// Cause is why an outcome was computed. Ledger entries keep it as text. One batch
// gives all orders that its events concern the same cause: its first event.
type Cause struct {
	Kind    CauseKind
	At      time.Time     // CauseOrder: the version's time, or when another order's version was applied; seconds
	EventID string        // CauseEvent, CauseCopy
	Rev     int64         // CauseRule, CauseEvidence: the rules' revision
	Rule    wire.RuleType // CauseRule: what changed
}

// String is "order <time>", "event <id>", "copy <id>", "rule <rev> <type>",
// "evidence <rev>", "snapshot", "manual" or "agreement".
func (c Cause) String() string {
	switch c.Kind {
	case CauseOrder:
		return "order " + c.At.UTC().Format(time.RFC3339)
	case CauseRule:
		return fmt.Sprintf("rule %d %s", c.Rev, c.Rule)
	case CauseEvidence:
		return fmt.Sprintf("evidence %d", c.Rev)
	}
	return strings.TrimSpace(string(c.Kind) + " " + c.EventID)
}

// ErrCause means that a text is not a cause.
var ErrCause = errors.New("is not a cause")

// ParseCause parses what String returns. Any other text is ErrCause.
func ParseCause(text string) (Cause, error) {
	kind, rest, _ := strings.Cut(text, " ")
	c := Cause{Kind: CauseKind(kind)}
	switch c.Kind {
	case CauseEvent, CauseCopy:
		if c.EventID = rest; rest != "" {
			return c, nil
		}
	case CauseSnapshot, CauseManual, CauseAgreement:
		if rest == "" {
			return c, nil
		}
	case CauseOrder:
		if at, err := time.Parse(time.RFC3339, rest); err == nil {
			c.At = at
			return c, nil
		}
	case CauseEvidence:
		if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
			c.Rev = n
			return c, nil
		}
	case CauseRule:
		rev, rule, found := strings.Cut(rest, " ")
		if n, err := strconv.ParseInt(rev, 10, 64); err == nil && found {
			c.Rev, c.Rule = n, wire.RuleType(rule)
			return c, nil
		}
	}
	return Cause{}, fmt.Errorf("%.40q %w", text, ErrCause)
}
