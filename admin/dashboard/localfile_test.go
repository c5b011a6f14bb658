package dashboard_test

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// sells puts an order of Júlia's, and what is summed of a day.
func (s *site) sells() {
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	julia := s.Influencer(s.live, "Júlia Conceição")
	s.Put(reporttest.Order{CompanyID: s.live, ID: "o1", TotalMinor: 123450, CreatedAt: time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC),
		InfluencerID: julia, Evidence: "coupon", CommissionMinor: 1234, DiscountCode: "JULIA10"})
	s.sumDay("2026-11-19")
	s.leak(time.Date(2026, 11, 19, 14, 0, 0, 0, time.UTC))
}

// notLocal is a cell as files in English have it: a number with a point, an instant, or the name of a value;
// an id begins with one letter.
var notLocal = regexp.MustCompile(`^-?[0-9]+\.[0-9]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.*)?$|^[a-z]{2,}(_[a-z]+)+$|^(true|false)$`)

// files are the addresses of all files but those of one statement.
func (s *site) files() (paths []string) {
	for _, list := range []string{"orders", "payouts", "reviews", "statements", "influencers", "costs", "keys", "audit", "people", "signs",
		"statements/pix"} {
		paths = append(paths, "/dashboard/"+list+".csv?company="+s.live)
	}
	for _, spec := range reports.Specs() {
		paths = append(paths, "/dashboard/report.csv?company="+s.live+"&report="+string(spec.Name))
	}
	for _, table := range []string{"contract", "channels"} {
		paths = append(paths, "/dashboard/overview.csv?company="+s.live+"&table="+table)
	}
	return paths
}

// Files of the Portuguese pages open by a double click in a Brazilian Excel: semicolons, decimal commas, accents, local time, the
// words of the page, ids last.
func TestFilesInPortugueseOpenInABrazilianSpreadsheet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sells()
	s.Cost(s.live, s.Influencer(s.live, "Dora Lima"), "", 3000, commerce.Daily, "2026-11-19")
	if err := s.DB.AddAdditionalCost(t.Context(), commerce.Author{CompanyID: s.live, Actor: "test", At: time.Now()}, commerce.AdditionalCost{
		ID: "6f0f7c86-0d3f-4a8e-9c57-0a6a6c1f7b11", Name: "Aluguel", Category: "Loja", ValueMinor: 310000,
		Frequency: commerce.Specific, StartDate: "2026-11-18"}); err != nil {
		t.Fatal(err)
	}
	client := s.loggedIn()
	s.inPortuguese(client)
	read := func(path string) [][]string {
		t.Helper()
		text := s.readRaw(client, path)
		rest, marked := strings.CutPrefix(text, "\ufeff")
		if !marked {
			t.Errorf("%s: Excel does not know that it is UTF-8: %.60q", path, text)
		}
		r := csv.NewReader(strings.NewReader(rest))
		r.Comma = ';'
		table, err := r.ReadAll()
		if err != nil || len(table) == 0 {
			t.Fatalf("%s: %v", path, err)
		}
		for _, name := range table[0] {
			if strings.Contains(name, "_") || name == strings.ToLower(name) {
				t.Errorf("%s: the column %q has no words", path, name)
			}
		}
		for _, row := range table[1:] {
			for i, cell := range row {
				if notLocal.MatchString(cell) {
					t.Errorf("%s: %s has %q, which is not as this language writes it", path, table[0][i], cell)
				}
			}
		}
		return table
	}
	for _, path := range s.files() {
		read(path)
	}
	var kinds []string
	costs := read("/dashboard/report.csv?company=" + s.live + "&report=costs")
	for _, line := range costs[1:] {
		if kind := line[slices.Index(costs[0], "Tipo")]; kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if slices.Sort(kinds); !slices.Equal(kinds, []string{"outro custo", "valor fixo de influenciador"}) {
		t.Errorf("kinds of costs: %q", kinds)
	}
	orders := read("/dashboard/orders.csv?company=" + s.live)
	row := map[string]string{}
	for i, name := range orders[0] {
		row[name] = orders[1][i]
	}
	for name, want := range map[string]string{"Influenciador": "Júlia Conceição", "Total": "1234,50", "Comissão": "12,34",
		"Comissão prevista": "0,00",
		"Criado em":         "19/11/2026 22:30", "Evidência": "cupom", "Situação": "Aprovado", "Dia": "19/11/2026", "Código usado": "JULIA10"} {
		if row[name] != want {
			t.Errorf("%s is %q, want %q, in %v", name, row[name], want, row)
		}
	}
	if last := orders[0][len(orders[0])-2:]; !slices.Equal(last, []string{"Id do pedido", "Id do influenciador"}) {
		t.Errorf("the last columns are %q, want ids", last)
	}
	sales := read("/dashboard/report.csv?company=" + s.live + "&report=sales&compare=year")
	at := slices.Index(sales[0], "Vendas")
	has := func(row []string) bool { return strings.HasPrefix(row[at], "1500") }
	if at < 0 || len(sales) != 31 || !slices.ContainsFunc(sales, has) {
		t.Errorf("%d rows of sales by day, want 30 of the chosen days alone: %v", len(sales)-1, sales[0])
	}
}
