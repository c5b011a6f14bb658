package money

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/dashboard/site/texttest"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

func TestCausesAreToldInTheStoresTime(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	f := func(cause, want string) {
		t.Helper()
		if got := causeWords(texttest.English(t), cause, zone); got != want {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
	f("order 2026-11-21T07:04:00Z", "version of the order of 21 Nov 2026, 04:04")
	f("event 0195b2c0-0000-7000-8000-000000000000", "an earlier visit came later")
	f("rule 5 cost", "agreement changed (revision 5)")
	f("rule 6 coupon", "coupon changed (revision 6)")
	f("rule 6 settings", "settings changed (revision 6)")
	f("evidence 9", "your decision")
	f("copy 0195b2c0-0000-7000-8000-000000000000", "an earlier visit came later")
	f("rule 7", "rule 7")
	f("something else", "something else")
}

func TestLedgerEntriesNameTheirAgreement(t *testing.T) {
	t.Parallel()
	f := func(fixed int64, share, entry, order, want string) {
		t.Helper()
		l := commerce.LedgerEntry{FixedFeeMinor: fixed, VarFee: decimal.RequireFromString(share), Currency: entry}
		if got := strings.ReplaceAll(agreement(texttest.English(t), l, order), "\u00a0", " "); got != want {
			t.Errorf("%d and %s%% in %s of an order in %s: %q, want %q", fixed, share, entry, order, got, want)
		}
	}
	f(0, "10", "BRL", "BRL", "10% agreement")
	f(500, "12.5", "BRL", "BRL", "R$ 5.00 an order + 12.5% agreement")
	f(1250, "10", "USD", "USD", "10% agreement")
	f(1250, "10", "BRL", "USD", "R$ 12.50 an order agreement")
	f(0, "0", "BRL", "BRL", "agreement")
}

func TestWhatIfSpeaksOnlyOfEvidenceThatTheOrderHas(t *testing.T) {
	t.Parallel()
	const ana = `{"winner":{"influencer":"Ana","evidence":"coupon"},"commissions":[{"amount":10,"currency":"USD"},{"amount":12.5,` +
		`"currency":"BRL"}],"state":"earned"}`
	const bia = `{"winner":{"influencer":"Bia","evidence":"link"},"commissions":[],"state":"none","reason":"no_agreement"}`
	const cancelled = `{"winner":{"influencer":"Bia","evidence":"link"},"commissions":[],"state":"reversed"}`
	const nobody = `{"winner":null,"commissions":[],"state":"none","reason":"no_winner"}`
	f := func(name, withoutCoupon, withoutLink string, want ...string) {
		t.Helper()
		var x facts.Explanation
		if err := json.Unmarshal([]byte(`{"counterfactual":{"without_coupon":`+withoutCoupon+`,"without_link":`+withoutLink+`}}`),
			&x); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Join(whatIf(texttest.English(t), x), "|"), "\u00a0", " ")
		if got != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("a coupon alone", nobody, ana, "Without the coupon, nobody would be credited.")
	f("a link alone", bia, nobody, "Without the link, nobody would be credited.")
	f("both", bia, ana, "Without the coupon, Bia would be credited by link, and nothing would be owed.",
		"Without the link, Ana would be credited by coupon, with US$ 10.00 and R$ 12.50.")
	f("cancelled", cancelled, nobody, "Without the link, nobody would be credited.")
	f("neither", nobody, nobody)
}

func TestALineThatIsTakenBackSaysWhy(t *testing.T) {
	t.Parallel()
	f := func(cause, want string) {
		t.Helper()
		if got := takenBack(texttest.English(t), cause); got != want {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
	f("order 2026-03-15T12:00:00Z", "taken back: the order was returned or changed")
	f("event 01938a4e-0000-7000-8000-000000000000", "taken back: an earlier visit came later")
	f("rule 12 cost", "taken back: change of agreement")
	f("evidence 12", "taken back: the store decided about the link")
	f("", "")
}

func TestEachReasonOfNoPayHasWords(t *testing.T) {
	t.Parallel()
	for _, reason := range []facts.Reason{facts.ReasonNoWinner, facts.ReasonHidden, facts.ReasonBase, facts.ReasonRecurring,
		facts.ReasonNoCost, facts.ReasonTooLittle, facts.ReasonOutOfRange} {
		if got := unpaidWords(texttest.English(t), reason); len(got) < len("Nothing is owed: .")+10 {
			t.Errorf("%s: %q", reason, got)
		}
	}
	if got := unpaidWords(texttest.English(t), ""); got != "" {
		t.Errorf("no reason: %q", got)
	}
}

// A model that is added needs its text in each language.
func TestEveryModelHasWords(t *testing.T) {
	t.Parallel()
	l, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.All() {
		for _, model := range modelOrder {
			if !p.Has("model."+model) || !p.Has("model.about."+model) {
				t.Errorf("%s has no text for the model %s", p.Tag, model)
			}
		}
	}
}

// A statement names what a line is of: an order by its id, the rest in words.
func TestALineIsNamed(t *testing.T) {
	t.Parallel()
	l := texttest.English(t)
	for want, line := range map[string]commerce.StatementLine{
		"1001":                         {OrderID: "1001"},
		"Fixed amount that was agreed": {OrderID: commerce.AccountOf(commerce.OfAgreement, "k")},
		"Bonus: the live of Saturday":  {OrderID: commerce.AccountOf(commerce.OfEntry, "e"), Kind: "bonus", Reason: "the live of Saturday"},
	} {
		if got := lineName(l, &line); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
