package main

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
)

const explainedExample = `{
"keys":[{"kind":"cart","strength":5,"hub":false,"visitors":1},{"kind":"phone","strength":1,"hub":true,"visitors":21}],
"touches":[
 {"at":"2026-11-20T10:00:00.000Z","source":"influencer","medium":"link","campaign":"Ana\u001b[31m","channel":"Ana Prado",
   "influencer":"Ana Prado","matched_by":"cart","proof":"claimed","used":true},
 {"at":"2026-11-20T11:00:00.000Z","source":"direct","medium":"(none)","campaign":"","channel":"Direct","matched_by":"cart","proof":"cart",
   "used":false,"reason":"direct: only the model last counts it"}],
"payout":{"winner":{"influencer":"Beto Lima","campaign":"Inverno","evidence":"coupon"},"rule":"coupon_first",
 "losers":[{"influencer":"Ana Prado","evidence":"link","reason":"a coupon goes first"}],
 "costs":[{"cost_id":"k1","level":"campaign","fixed_fee":12.5,"var_fee":10,"revision":7,"amount":20.4,
   "amounts":[{"amount":20.4,"currency":"USD"},{"amount":12.5,"currency":"BRL"}]}],
 "base":204,"commission":20.4,"commissions":[{"amount":20.4,"currency":"USD"},{"amount":12.5,"currency":"BRL"}],"state":"earned",
   "payable_on":"2026-12-21"},
"cuts":[{"what":"key","kind":"phone","limit":"visitors"}],
"counterfactual":{"without_coupon":{"winner":{"influencer":"Ana Prado","campaign":"","evidence":"link"},"commission":0,"state":"none"},
 "without_link":{"winner":null}}}`

func TestAnExplanationIsReadable(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	sale := commerce.ExplainedSale{
		Sale:        commerce.Sale{OrderID: "1001", CreatedAt: at, Currency: "USD", TotalMinor: 20490, DiscountCode: "BETO10"},
		Explanation: []byte(explainedExample),
		Ledger: []commerce.LedgerEntry{
			{Entry: 1, At: at, Kind: "earned", Influencer: "Ana Prado", AmountMinor: 1000, Currency: "USD", PayableOn: "2026-12-21", Cause: "order"},
			{Entry: 2, At: at, Kind: "reversed", Influencer: "Ana Prado", AmountMinor: -1000, Currency: "USD", Reverses: 1,
				PayableOn: "2026-12-21", Cause: "order"},
		},
	}
	got, err := explainInWords(sale)
	const want = `Order 1001 of 2026-11-21 09:30:00 UTC: 204.90 USD, approved
Discount code BETO10

Credited to Beto Lima (campaign Inverno) by coupon.
Commission 20.40 USD and 12.50 BRL, earned.
It may be paid from 2026-12-21 on.

How it was decided
  rule      coupon_first: a coupon goes before another influencer's link
  base      204.00 USD, the total without shipping
  not paid  Ana Prado by link: a coupon goes first

Costs that apply
  10% of the base + 12.50 BRL an order  = 20.40 USD and 12.50 BRL  campaign's cost k1, revision 7

Keys of the order, the strongest first
  cart   1 visitor
  phone  shared by too many visitors to tell anything, not used

Touches before the order, the oldest first
  2026-11-20 10:00:00 UTC  Ana Prado  influencer / link / Ana�[31m  by cart  not proven      used by the channel models
  2026-11-20 11:00:00 UTC  Direct     direct                        by cart  proven by cart  not used: direct: only the model last counts it

Left out by a limit
  key phone  too many visitors

Ledger
  1  2026-11-21 09:30:00 UTC  earned                   Ana Prado  10.00 USD   payable 2026-12-21  order
  2  2026-11-21 09:30:00 UTC  reversed (takes back 1)  Ana Prado  -10.00 USD  payable 2026-12-21  order

What if
  without the coupon  Ana Prado by link, no commission
  without the link    nobody would be credited
`
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}

	f := func(status int, from, to, want string) {
		t.Helper()
		changed := sale
		changed.Sale.Status = status
		changed.Explanation = []byte(strings.Replace(explainedExample, from, to, 1))
		if got, err := explainInWords(changed); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v\n%s\nwant %q", to, err, got, want)
		}
	}
	f(commerce.OrderPending, `"state":"earned"`, `"state":"expected"`, "12.50 BRL, expected: it is earned when")
	f(commerce.OrderCancelled, `"state":"earned"`, `"state":"reversed"`, "reversed: the order is cancelled")
	f(commerce.OrderApproved, `"state":"earned"`, `"state":"none","note":"no cost was in force"`, "No commission: no cost was in force.")
	f(commerce.OrderApproved, `{"influencer":"Beto Lima","campaign":"Inverno","evidence":"coupon"}`, `null`, "Credited to nobody.")
	f(commerce.OrderApproved, `"state":"earned"`, `"state":"review","note":"nothing proves it"`,
		"the link of Beto Lima (campaign Inverno) waits for a decision.\nIn review: nothing proves it. Commission if accepted: 20.40 USD and "+
			"12.50 BRL.\nTo decide, send the admin API POST /order/1001/evidence with accept or refuse.")
	f(commerce.OrderApproved, explainedExample, `{}`, "Credited to nobody.")
}

func TestExplainSaysWhatIsUnknown(t *testing.T) {
	live, _ := installation(t)
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"explain"}, args...)...)
		if !refused(status) || !strings.Contains(out, want) || strings.Contains(out, "postgres:") {
			t.Errorf("%v: exit status %d and\n%s\nwant 1 and %q", args, status, out, want)
		}
	}
	f("unknown, or not processed yet", "1001", "--company", live.CompanyID)
	f("no such company", "1001", "--company", "c_zz")
}

func TestPayoutsAreShownByInfluencer(t *testing.T) {
	live, dsn := installation(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const ana = "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2"
	for _, sql := range []string{
		`insert into influencer (company_id, influencer_id, name, name_folded, rev) values ($1, '` + ana + `', 'Ana Prado', 'ana prado', 1)`,
		`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, payable_on, rule_rev,
			cause)
			values ($1, 'o', 1, now(), 'earned', '` + ana + `', '` + ana +
			`', 1050, 'BRL', '2026-01-01', 1, 'order'), ($1, 'o', 2, now(), 'earned', '` + ana + `', '` + ana +
			`', 7, 'BRL', '9000-01-01', 1, 'order')`,
	} {
		if _, err := conn.Exec(t.Context(), sql, live.CompanyID); err != nil {
			t.Fatal(err)
		}
	}
	out, status := command(t, "payouts", "--company", live.CompanyID)
	const want = "INFLUENCER  CURRENCY  EXPECTED  REVIEW  HELD  PAYABLE  PAID  WITHHELD\n" +
		"Ana Prado   BRL       0.00      0.00    0.07  10.50    0.00  0.00\n"
	if status != 0 || out != want {
		t.Errorf("exit status %d and\n%s\nwant\n%s", status, out, want)
	}
}
