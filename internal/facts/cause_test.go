package facts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Payout": the ledger keeps each cause as text.
func TestCausesAreTextAndBack(t *testing.T) {
	f := func(c Cause, want string) {
		t.Helper()
		if got := c.String(); got != want {
			t.Errorf("%+v is %q, want %q", c, got, want)
		}
		if back, err := ParseCause(want); err != nil || back != c {
			t.Errorf("%q is %+v, %v; want %+v", want, back, err, c)
		}
	}
	f(Cause{Kind: CauseOrder, At: noon}, "order 2026-03-10T12:00:00Z")
	f(Cause{Kind: CauseEvent, EventID: "016d849d-dbe8-70d2-8876-38788d4e84f7"}, "event 016d849d-dbe8-70d2-8876-38788d4e84f7")
	f(Cause{Kind: CauseCopy, EventID: "016d849d-dbe8-70d2-8876-38788d4e84f7"}, "copy 016d849d-dbe8-70d2-8876-38788d4e84f7")
	f(Cause{Kind: CauseSnapshot}, "snapshot")
	for _, rule := range []wire.RuleType{wire.RuleInfluencer, wire.RuleCampaign, wire.RuleLink, wire.RuleCoupon,
		wire.RuleCost, wire.RuleSettings} {
		f(Cause{Kind: CauseRule, Rev: 1<<62 + 1, Rule: rule}, "rule 4611686018427387905 "+string(rule))
	}
}

func TestAnOrdersCauseIsItsVersionsSecondInUTC(t *testing.T) {
	at := noon.Add(999 * time.Millisecond).In(time.FixedZone("", -3*60*60))
	if got := (Cause{Kind: CauseOrder, At: at}).String(); got != "order 2026-03-10T12:00:00Z" {
		t.Error(got)
	}
}

func TestOtherTextsAreNoCause(t *testing.T) {
	for _, text := range []string{"", " ", "settings", "upgrade", "snapshot 1", "event", "copy", "order",
		"order yesterday", "order 2026-03-10",
		"rule", "rule 5", "rule x coupon", "rule 99999999999999999999 coupon", "Event 1", strings.Repeat("x", 1<<20)} {
		c, err := ParseCause(text)
		if !errors.Is(err, ErrCause) || c != (Cause{}) {
			t.Errorf("%.40q is %+v, %v", text, c, err)
		}
		if len(err.Error()) > 200 {
			t.Errorf("the error repeats %d bytes", len(err.Error()))
		}
	}
}
