package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// testSpec has a metric of each kind.
var testSpec = &Spec{
	Name: "test", Dimensions: []string{"influencer"}, SortBy: "sales",
	Metrics: []Metric{{Name: "orders", Kind: Count}, {Name: "sales", Kind: Money}, {Name: "cost", Kind: Money}, {Name: "part", Kind: Share},
		{Name: "share", Kind: Portion, Over: []string{"sales"}},
		{Name: "roas", Kind: Ratio, Over: []string{"sales"}, Under: []string{"cost"}},
		{Name: "cac", Kind: MoneyRatio, Over: []string{"cost"}, Under: []string{"orders"}}},
}

func builder(q Query) *Builder { return newBuilder(q, testSpec) }

func add(t *testing.T, b *Builder, period, text string, sums ...int64) {
	t.Helper()
	for column, sum := range sums {
		if err := b.Add(period, []string{text}, []int{column}, []decimal.Decimal{decimal.NewFromInt(sum)}); err != nil {
			t.Fatal(err)
		}
	}
}

// An adjustment may take back more than all that was spent: there is no return on less than nothing.
func TestAQuotientByLessThanNothingIsNone(t *testing.T) {
	t.Parallel()
	b := builder(Query{Start: "2026-03-01", End: "2026-03-01", By: ByDay, Currency: "BRL"})
	add(t, b, "2026-03-01", "Ana", 1, 1000, -300)
	r := b.Report(time.Time{})
	if value, ok := r.Value(r.Totals, r.Spec.Column("roas")); ok {
		t.Errorf("%s", value)
	}
}

func TestRowsAreSummedSortedAndTotalled(t *testing.T) {
	t.Parallel()
	b := builder(Query{Start: "2026-03-01", End: "2026-03-02", By: ByDay, Currency: "BRL"})
	add(t, b, "2026-03-02", "Ana", 1, 1000, 300)
	if err := b.Add("2026-03-02", []string{"Ana"}, []int{3}, []decimal.Decimal{decimal.RequireFromString("0.333333333333")}); err != nil {
		t.Fatal(err)
	}
	add(t, b, "2026-03-01", "Ana", 1, 1050)
	add(t, b, "2026-03-01", "", 2, 5000)
	add(t, b, "2026-03-02", "Ana", 2, 2005)
	add(t, b, "2026-03-01", "Beto", 0, 0)
	got, err := json.Marshal(b.Report(time.Date(2026, 3, 2, 12, 0, 0, 5, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"start_date":"2026-03-01","end_date":"2026-03-02","by":"day","model":null,"currency":"BRL","other_currencies":[],` +
		`"as_of":"2026-03-02T12:00:00Z",` +
		`"rows":[{"period":"2026-03-01","influencer":null,"orders":2,"sales":50,"cost":0,"part":0,"share":0.826446,"roas":null,"cac":0},` +
		`{"period":"2026-03-01","influencer":"Ana","orders":1,"sales":10.5,"cost":0,"part":0,"share":0.173554,"roas":null,"cac":0},` +
		`{"period":"2026-03-02","influencer":"Ana","orders":3,"sales":30.05,"cost":3,"part":0.333333,"share":1,"roas":10.016667,"cac":1}],` +
		`"totals":{"orders":6,"sales":90.55,"cost":3,"part":0.333333,"share":1,"roas":30.183333,"cac":0.5}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMoneyHasTheDigitsOfItsCurrency(t *testing.T) {
	t.Parallel()
	f := func(currency, want string) {
		t.Helper()
		b := builder(Query{Start: "2026-03-01", End: "2026-03-01", By: ByDay, Currency: currency})
		add(t, b, "2026-03-01", "", 3, 1234, 1000)
		r := b.Report(time.Time{})
		if got := r.number(r.Rows[0], 1) + " " + r.number(r.Rows[0], 6); got != want {
			t.Errorf("%s: %s, want %s", currency, got, want)
		}
	}
	f("BRL", "12.34 3.33")
	f("JPY", "1234 333")
	f("KWD", "1.234 0.333")
}

func TestAReportHasABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	b := builder(Query{Start: "2026-03-01", End: "2026-03-01", By: ByDay})
	for i := range MaxRows {
		if err := b.Add("2026-03-01", []string{fmt.Sprint(i)}, []int{0}, []decimal.Decimal{decimal.NewFromInt(1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add("2026-03-01", []string{"0"}, []int{0}, []decimal.Decimal{decimal.NewFromInt(1)}); err != nil {
		t.Errorf("a row that is there: %v", err)
	}
	if err := b.Add("2026-03-01", []string{"one more"}, []int{0}, []decimal.Decimal{decimal.NewFromInt(1)}); !errors.Is(err, ErrTooManyRows) {
		t.Errorf("%v, want %v", err, ErrTooManyRows)
	}
}

func TestPagesHaveEachRowOnce(t *testing.T) {
	t.Parallel()
	b := builder(Query{Start: "2026-03-01", End: "2026-03-01", By: ByDay})
	for i := range 5 {
		add(t, b, "2026-03-01", fmt.Sprint(i), 1)
	}
	r := b.Report(time.Time{})
	for _, limit := range []int{1, 2, 3, 5, 6} {
		var texts string
		for from, more := 0, true; more; from += limit {
			var page *Report
			if page, more = r.Page(from, limit); len(page.Rows) > limit || !page.Totals.Sums[0].Equal(decimal.NewFromInt(5)) {
				t.Fatalf("limit %d: %+v", limit, page)
			}
			for _, row := range page.Rows {
				texts += row.Texts[0]
			}
		}
		if texts != "01234" {
			t.Errorf("limit %d: %s", limit, texts)
		}
	}
	if page, more := r.Page(99, 5); len(page.Rows) != 0 || more {
		t.Errorf("beyond the end: %+v", page.Rows)
	}
}

func TestNoTextOfATableIsAFormula(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "Ana": "Ana", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx",
		"\r=1": "'\r'=1", "a=1": "a=1", "'x": "'x", "é": "é",
		" =1": " '=1", "＝1": "'＝1",
		// What turns the direction of text is written out.
		"Ana\u202egpj\u2066.exe": `Ana\u202egpj\u2066.exe`, "עדי\u200f": "עדי\u200f",
		// Excel in Portuguese separates a .csv file at semicolons.
		"a;=1": "a;'=1", "a; \"@x": "a; \"'@x", "a\t+1": "a\t'+1", "a\n-1": "a\n'-1", "a;b=1": "a;b=1", "a;;=1;=2": "a;;'=1;'=2"} {
		if got := CSVText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	b := builder(Query{Start: "2026-03-01", End: "2026-03-01", By: ByDay, Currency: "BRL"})
	add(t, b, "2026-03-01", "=1,\"2\"", 1, -5)
	if got, want := string(b.Report(time.Time{}).CSV()), "period,influencer,orders,sales,cost,part,share,roas,cac\r\n2026-03-01,\"'=1,"+
		"\"\"2\"\"\",1,-0.05,0,0,1,,0\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The n-th period stands beside the n-th of the compared ones; what one of them does not have is empty.
func TestComparedDaysAreColumns(t *testing.T) {
	t.Parallel()
	b := builder(Query{Start: "2026-03-03", End: "2026-03-04", By: ByDay, Currency: "BRL"})
	add(t, b, "2026-03-03", "Ana", 2, 500)
	add(t, b, "2026-03-04", "Beto", 1, 100)
	r := b.Report(time.Time{})
	before := builder(Query{Start: "2026-03-01", End: "2026-03-02", By: ByDay, Currency: "BRL"})
	add(t, before, "2026-03-01", "Ana", 1, 300)
	add(t, before, "2026-03-02", "=Caio", 1, 700)
	r.Comparison = before.Report(time.Time{})
	var got []string
	for line := range strings.Lines(string(r.ComparedCSV())) {
		got = append(got, strings.Join(strings.Split(strings.TrimSpace(line), ",")[:7], ","))
	}
	want := []string{"period,period_compared,influencer,orders,orders_compared,sales,sales_compared", "2026-03-03,2026-03-01,Ana,2,1,5,3",
		"2026-03-04,2026-03-02,Beto,1,,1,", "2026-03-04,2026-03-02,'=Caio,,1,,7"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEverySpecNamesColumnsThatItHas(t *testing.T) {
	t.Parallel()
	seen := map[Name]bool{}
	for _, s := range Specs() {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		if s.SortBy != "" {
			s.Column(s.SortBy)
		}
		for _, m := range s.Metrics {
			if m.isQuotient() != (len(m.Over) > 0) || (m.Kind == Ratio || m.Kind == MoneyRatio) != (len(m.Under) > 0) {
				t.Errorf("%s.%s: a quotient has two sides", s.Name, m.Name)
			}
			for _, of := range append(append([]string{}, m.Over...), m.Under...) {
				if s.Metrics[s.Column(of)].isQuotient() {
					t.Errorf("%s.%s is a quotient of the quotient %s", s.Name, m.Name, of)
				}
			}
		}
	}
}
