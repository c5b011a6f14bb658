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
	CauseOrder   CauseKind = "order"   // a version of the order, or of one that shares its keys
	CauseEvent   CauseKind = "event"   // an event of a visitor it reaches
	CauseCopy    CauseKind = "copy"    // an earlier copy of a stored event
	CauseRule    CauseKind = "rule"    // a change of a rule or a setting
	CauseUpgrade CauseKind = "upgrade" // a newer schema
)

// Cause is why an outcome was computed; ledger entries keep it as text.
type Cause struct {
	Kind    CauseKind
	At      time.Time     // CauseOrder: the version's time; to the second
	EventID string        // CauseEvent, CauseCopy; may be empty
	Rev     int64         // CauseRule: the rules' revision
	Rule    wire.RuleType // CauseRule: what changed
}

// String is "order <time>", "event <id>", "copy <id>", "rule <rev> <type>" or "upgrade".
func (c Cause) String() string {
	switch c.Kind {
	case CauseOrder:
		return "order " + c.At.UTC().Format(time.RFC3339)
	case CauseRule:
		return fmt.Sprintf("rule %d %s", c.Rev, c.Rule)
	}
	return strings.TrimSpace(string(c.Kind) + " " + c.EventID)
}

// ErrCause refuses text that Cause.String did not write.
var ErrCause = errors.New("is not a cause")

// ParseCause reads what String wrote, now or before.
func ParseCause(text string) (Cause, error) {
	kind, rest, _ := strings.Cut(text, " ")
	c := Cause{Kind: CauseKind(kind)}
	switch c.Kind {
	case CauseEvent, CauseCopy:
		if c.EventID = rest; rest == "copy" { // as the first versions wrote it
			c.Kind, c.EventID = CauseCopy, ""
		}
		return c, nil
	case CauseUpgrade:
		return c, nil
	case CauseOrder:
		if at, err := time.Parse(time.RFC3339, rest); err == nil {
			c.At = at
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
