package admin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// docs/api.md, "Send one": the fields of orders that we have added.
func TestOrderRulesOfOurOwnFields(t *testing.T) {
	t.Parallel()
	f := func(want string, edits ...string) {
		t.Helper()
		if _, o := readTestBody(t, edits...); all(o) != want {
			t.Errorf("%v: %q, want %q", edits, all(o), want)
		}
	}
	list := func(element string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	f("", `discountCodes=[]`)
	f("", `discountCodes=null`)
	f("", `discountCodes=[{"code":"ANA10"},{"code":"B","amount":1.5},{"code":"C","amount":null}]`)
	f("| discountCodes required", `discountCodes=[{"amount":1}]`)
	f("| discountCodes required", `discountCodes=[{"code":null}]`)
	f("| discountCodes empty", `discountCodes=[{"code":"a"},{"code":""}]`)
	f("| discountCodes too_long", `discountCodes=[{"code":"`+strings.Repeat("x", 256)+`"}]`)
	f("| discountCodes invalid_type", `discountCodes=[{"code":"a"},{"code":{}},{"code":[]}]`)
	f("", `discountCodes=[{"code":2026,"amount":""}]`)
	f("", `discountCodes=""`, `refunds=" "`, `taxPrice=""`, `test=""`)
	f("discountCodes[0].amount out_of_range", `discountCodes=[{"code":"a","amount":-1}]`)
	f("discountCodes[0].amount too_many_digits", `discountCodes=[{"code":"a","amount":0.001}]`)
	f("discountCodes[0].amount invalid_format", `discountCodes=[{"code":"a","amount":"1.500"}]`)
	f("| discountCodes required", `discountCodes={}`)
	f("", `discountCodes=["ANA10",2026,{"code":"B"}]`)
	f("", `discountCodes={"code":"ANA10","amount":"1.50"}`)
	f("", `discountCodes="ANA10"`)
	f("| discountCodes empty", `discountCodes=["ANA10",""]`)
	f("| discountCodes invalid_type", `discountCodes=["ANA10",null]`)
	f("| discountCodes invalid_type", `discountCodes=true`)
	f("| discountCodes[0].code invalid_value", `discountCodes=[{"code":"ANA10,FRETE"},{"code":"A|B"}]`)
	f("| discountCodes[1].code invalid_value", `discountCodes=["B","ANA10;"]`)
	f("", `discountCodes=`+list(`{"code":"a"}`, 20))
	f("| discountCodes too_many", `discountCodes=`+list(`{"code":"a"}`, 21))
	f("", `totalPrice=100`, `shippingPrice=20`, `taxPrice=80`)
	f("| taxPrice out_of_range", `totalPrice=100`, `shippingPrice=20`, `taxPrice=80.01`)
	f("| taxPrice out_of_range", `totalPrice=0`, `orderStatus=2`, `taxPrice=26.80`)
	f("| taxPrice out_of_range", `totalPrice=10`, `shippingPrice=20`, `taxPrice=0.01`)
	f("taxPrice out_of_range", `taxPrice=-1`)
	f("", `totalPrice=10`, `shippingPrice=20`, `taxPrice=0`)
	f("", `taxPrice=null`)
	f("", `test=true`)
	f("", `test=null`)
	f("test invalid_type", `test=1`)
	f("", `refunds=[{"amount":1},{"id":"r","amount":2,"createdAt":"2026-03-09T11:00:00Z","reason":"damaged","items":[{"item_id":"a"},`+
		`{"item_id":"b","quantity":2}]}]`)
	f("refunds[0].amount required", `refunds=[{}]`)
	f("refunds[0].amount out_of_range", `refunds=[{"amount":-1}]`)
	f("", `refunds=[{"id":929361462,"amount":"2.00","createdAt":"2026-03-09T08:00:00-03:00","reason":"",`+
		`"items":[{"item_id":487817672276298554,"quantity":"0.5"}]}]`)
	f("", `refunds=[{"id":"","amount":1,"createdAt":"","items":""}]`)
	f("| refunds[0].reason too_long", `refunds=[{"amount":1,"reason":"`+strings.Repeat("x", 513)+`"}]`)
	f("| refunds[0].createdAt invalid_timestamp; refunds[0].reason invalid_type; refunds[0].items invalid_type",
		`refunds=[{"amount":1,"createdAt":"2026-03-09","reason":[],"items":[1]}]`)
	f("| refunds[0].items[0].quantity out_of_range", `refunds=[{"amount":1,"items":[{"quantity":-1}]}]`)
	f("| refunds invalid_type", `refunds={}`)
	f("| refunds[0].items too_many", `refunds=[{"amount":1,"items":`+list(`{}`, 101)+`}]`)
	f("| refunds too_many", `refunds=`+list(`{"amount":1}`, 101))
}

func TestOurOwnFieldsAreKeptAsTheyWereSent(t *testing.T) {
	t.Parallel()
	f := func(want string, edits ...string) {
		t.Helper()
		raw := wireRecord(t, edits...)
		if !strings.HasSuffix(raw, want+"}") {
			t.Errorf("%v: %s, want %s", edits, raw, want)
		}
	}
	f(`"discountCodes":[{"code":"ANA10"},{"code":"B","amountMinor":150},{"code":"C","amountMinor":null}]`,
		`discountCodes=[{"code":"ANA10"},{"code":"B","amount":1.5},{"code":"C","amount":null}]`)
	f(`"discountCodes":[{"code":"ANA10"},{"code":"2026"},{"code":"B"}]`, `discountCodes=["ANA10",2026,{"code":"B"}]`)
	f(`"discountCodes":[{"code":"ANA10","amountMinor":150}]`, `discountCodes={"code":"ANA10","amount":1.5}`)
	f(`"discountCodes":[{"code":"ANA10"}]`, `discountCodes="ANA10"`)
	f(`"discountCodes":[{"code":"ANA10,FRETE"}]`, `discountCodes=[{"code":"ANA10,FRETE"}]`)
	f(`"discountCodes":[]`, `discountCodes=[]`)
	f(`"discountCodes":null`, `discountCodes=null`)
	f(`"discountCode":"A"`, `discountCode="A"`, `discountCodes=null`)
	f(`"discountCode":null,"discountCodes":null`, `discountCode=""`, `discountCodes=null`)
	f(`"currency":"BRL","totalMinor":10050`, `discountCodes=[{"code":"a"},{"amount":1}]`)
	f(`"discountCode":"A"`, `discountCode="A"`, `discountCodes=[{"code":"`+strings.Repeat("x", 256)+`"}]`)
	f(`"shippingMinor":2000`, `totalPrice=40`, `shippingPrice=20`, `taxPrice=26.80`)
	f(`"shippingMinor":2000`, `totalPrice=0`, `shippingPrice=20`, `taxPrice=26.80`)
	f(`"shippingMinor":2000,"taxMinor":2000`, `totalPrice=40`, `shippingPrice=20`, `taxPrice=20`)
	f(`"taxMinor":1900,"test":false`, `taxPrice=19`, `test=false`)
	f(`"refunds":[{"id":"r","amountMinor":200,"createdAt":"2026-03-09T11:00:00Z","reason":"of (email)","items":[{"itemId":"a",`+
		`"quantity":1}]}]`,
		`refunds=[{"id":"r","amount":2,"createdAt":"2026-03-09T11:00:00Z","reason":"of maria@example.com","items":[{"item_id":"a"}]}]`)
}

// docs/api.md, "Read orders and products back".
func TestOurOwnFieldsAreReadBack(t *testing.T) {
	t.Parallel()
	order, bad := readTestOrder(t, `discountCode="x"`, `discountCodes=[{"code":"=ANA10","amount":1.5},{"code":"B"}]`, `taxPrice=19`,
		`test=true`, `refunds=[{"amount":2,"items":[{"item_id":"a"}]}]`)
	if bad.Any() {
		t.Fatal(found(bad))
	}
	body, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	record, err := recordOrder(&commerce.StoredOrder{Body: body, ProcessedAt: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"discountCode":"=ANA10,B"`, `"discountCodes":[{"code":"=ANA10","amount":1.5},{"code":"B","amount":null}]`,
		`"taxPrice":19,"test":true,"noCommission":false,"refunds":[{"amount":2,"items":[{"item_id":"a","quantity":1}]}]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
	csv := string(reports.WriteCSV(orderTable([]*orderRecord{record})))
	if !strings.Contains(csv, `processedAt,taxPrice,test,discountCodes`) ||
		!strings.Contains(csv, `,19,true,"'=ANA10 1.5, B"`) {
		t.Error(csv)
	}
}

func TestCodesThatContradictAreWarnedOf(t *testing.T) {
	t.Parallel()
	f := func(want int, edits ...string) {
		t.Helper()
		order, o := readTestBody(t, edits...)
		if o.bad.Any() || len(o.notes.warnings) != want || want > 0 &&
			(o.notes.warnings[0].Field != "discountCode" || o.notes.warnings[0].Code != commerce.CodeConflict) || !order.DiscountCodes.Present {
			t.Errorf("%v: %s, %+v, want %d", edits, found(o.bad), o.notes.warnings, want)
		}
	}
	f(0, `discountCodes=[{"code":"ana10"},{"code":"B"}]`)
	f(0, `discountCodes=[{"code":"ana10"},{"code":"B"}]`, `discountCode="ANA10"`)
	f(0, `discountCodes=[{"code":"ana10"},{"code":"B"}]`, `discountCode="b, ANA10"`)
	f(0, `discountCodes=[{"code":"ana10"}]`, `discountCode=null`)
	f(1, `discountCodes=[{"code":"ana10"}]`, `discountCode="B"`)
	f(1, `discountCodes=[{"code":"ana10"}]`, `discountCode="ANA10,B"`)
	f(1, `discountCodes=[]`, `discountCode="B"`)
}
