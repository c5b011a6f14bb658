package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/scrub"
)

func TestUnknownFieldsAreWarnedOf(t *testing.T) {
	t.Parallel()
	f := func(want string, edits ...string) {
		t.Helper()
		_, o := readTestBody(t, edits...)
		var got []string
		for _, w := range o.notes.warnings {
			_, near, _ := strings.Cut(w.Message, "did you mean ")
			got = append(got, strings.TrimSpace(w.Field+" "+w.Code+" "+near))
		}
		if o.bad.Any() || strings.Join(got, "; ") != want {
			t.Errorf("%v:\n got %s %s\nwant %s", edits, strings.Join(got, "; "), found(o.bad), want)
		}
	}
	f("")
	f("discount_code unknown_field discountCode?", `discount_code="ANA10"`)
	f("DiscountCode unknown_field discountCode?", `DiscountCode="ANA10"`)
	f("discountCod unknown_field discountCode?", `discountCod="ANA10"`)
	f("note unknown_field", `note=1`)
	f("line_items unknown_field", `line_items=[{"sku":"a"}]`)
	f("total_discounts unknown_field totalDiscounts?", `total_discounts=1`)
	f("subscription.recurring unknown_field isRecurring?; customer.mail unknown_field email?", `customer={"mail":"a"}`,
		`subscription={"recurring":true}`)
	// Of a list the first.
	f("items[1].color unknown_field; items[2].sku unknown_field",
		`items=[{"item_id":"a"},{"item_id":"b","color":"blue"},{"color":"red","sku":"s"}]`)
	// What is wrong comes before what is unknown.
	f("provinceCode invalid_format; address1 unknown_field; address2 unknown_field", `address1=1`, `address2=2`, `provinceCode="NSW"`)
	// A name may name a person.
	f("? unknown_field; customer.? unknown_field", `ana@example.com=1`, `customer={"5511988887777":1,"Ana Souza":2}`)
	f("? unknown_field", strings.Repeat("x", scrub.MaxShownName+1)+"=1")
	f("? unknown_field", strings.Repeat("x", 900_000)+"=1")
	// … or be a secret.
	f("? unknown_field; customer.? unknown_field", `trb_live_8F3kD92mQpXz71LwTnVb=1`, `customer={"9f3bc4d1e2a05687":1,"\u0007\u202e":2}`)
}

func TestWarningsAreBoundedAndEchoNothing(t *testing.T) {
	t.Parallel()
	edits := []string{`provinceCode="secret"`, `countryCode="secret"`, `customer={"email":["secret"],"createdAt":"secret"}`,
		`browserIp="secret"`, `number="secret"`,
		`items=[` + strings.TrimSuffix(strings.Repeat(`{"createdAt":"secret","color":"secret"},`, 500), ",") + `]`,
		`deliveredAt="secret"`, `origin="secret"`}
	for n := range 1000 {
		edits = append(edits, fmt.Sprintf(`unknown%d="secret"`, n))
	}
	_, o := readTestBody(t, edits...)
	if o.bad.Any() || len(o.notes.warnings) != maxWarnings {
		t.Fatalf("%d warnings, %s", len(o.notes.warnings), found(o.bad))
	}
	written, err := json.Marshal(o.notes.warnings)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(written), "secret") {
		t.Errorf("a value is echoed: %s", written)
	}
	if got := all(o); !strings.HasPrefix(got,
		"| deliveredAt invalid_timestamp; number invalid_format; origin invalid_type; items[0].createdAt invalid_timestamp; "+
			"browserIp invalid_format; customer.email invalid_type; customer.createdAt invalid_timestamp; provinceCode invalid_format; "+
			"countryCode invalid_format; "+
			"unknown0 unknown_field") {
		t.Error(got)
	}
}

// Of more unknown names than are told, those that were probably meant to be known are told.
func TestProbableSlipsComeBeforeOtherUnknownNames(t *testing.T) {
	t.Parallel()
	f := func(field string, edits ...string) {
		t.Helper()
		for n := range 150 {
			edits = append(edits, fmt.Sprintf(`aa%d=1`, n))
		}
		_, o := readTestBody(t, edits...)
		if w := o.notes.warnings; len(w) != maxWarnings || w[0].Field != field || !strings.Contains(w[0].Message, "did you mean") {
			t.Errorf("%s: %+v", field, w[:min(len(w), 2)])
		}
	}
	f("discount_code", `discount_code="ANA10"`)
	f("zz-taxPrice", `zz-taxPrice=1`)
	f("customer.e_mail", `customer={"e_mail":"a@example.com"}`)
	f("items[1].quantiti", `items=[{"item_id":"1"},{"item_id":"1","quantiti":1}]`)
}

// However many unknown names a body has, few are compared with known ones: that costs most.
func TestFewUnknownNamesAreCompared(t *testing.T) {
	t.Parallel()
	f := func(strict bool, wantWarned, wantRefused int, fields func(n int) string) {
		t.Helper()
		var refunds []string
		for i := range commerce.MaxRefunds {
			var items []string
			for k := range commerce.MaxRefundItems {
				items = append(items, "{"+fields(i*commerce.MaxRefundItems+k)+"}")
			}
			refunds = append(refunds, `{"amount":1,"items":[`+strings.Join(items, ",")+`]}`)
		}
		o := parse(t, edited(baseOrder, `refunds=[`+strings.Join(refunds, ",")+`]`))
		o.notes.strict = strict
		readOrder(o)
		compared := o.warnUnknown()
		if compared > maxCompared || len(o.notes.warnings) != wantWarned || len(o.bad.List) != wantRefused {
			t.Errorf("%d names are compared; %d warnings, %d refused, want %d and %d", compared, len(o.notes.warnings), len(o.bad.List),
				wantWarned, wantRefused)
		}
	}
	f(false, 2, 0, func(int) string { return `"quantiti":1,"itemid_":2` })
	f(false, maxWarnings, 0, func(n int) string { return fmt.Sprintf(`"quantiti%d":1,"itemid%d":2`, n, n) })
	f(true, 0, 200, func(n int) string { return fmt.Sprintf(`"quantiti%d":1`, n) })
}

func TestStrictRefusesWhatWouldBeWarnedOf(t *testing.T) {
	t.Parallel()
	o := parse(t, edited(baseOrder, `number="x"`, `discount_code="x"`, `customer={"email":1}`, `items=[{"color":1},{"color":2}]`,
		`provinceCode="NSW"`))
	o.notes.strict = true
	order, person := readOrder(o)
	o.check(commerce.CheckOrder(&order, &person, testNow))
	if err := o.broken(); err == nil || len(o.notes.warnings) > 0 {
		t.Errorf("%v, %v", err, o.notes.warnings)
	}
	if got, want := found(o.bad), "number invalid_format; customer.email invalid_type; provinceCode invalid_format; discount_code "+
		"unknown_field; "+
		"items[0].color unknown_field; items[1].color unknown_field"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
