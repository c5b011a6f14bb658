package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

var (
	tableBody = regexp.MustCompile(`(?s)<tbody.*?</tbody>`)
	tableRow  = regexp.MustCompile(`(?s)<tr .*?</tr>`)
	rowCell   = regexp.MustCompile(`(?s)<(th|td) .*?</(th|td)>`)
	rowMenu   = regexp.MustCompile(`(?s)<(details|form|small|a) .*?</(details|form|small|a)>`)
)

// plainRows are the texts of the first table's cells, without small print, links of actions and menus.
func plainRows(page string) (rows [][]string) {
	for _, row := range tableRow.FindAllString(tableBody.FindString(page), -1) {
		var cells []string
		for _, cell := range rowCell.FindAllString(row, -1) {
			if strings.Contains(cell, `class="do"`) {
				continue
			}
			if !strings.Contains(cell, "<th ") || !strings.Contains(cell, "<a ") {
				cell = rowMenu.ReplaceAllString(cell, " ")
			}
			text := html.UnescapeString(pageTag.ReplaceAllString(cell, " "))
			cells = append(cells, strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " "))
		}
		rows = append(rows, cells)
	}
	return rows
}

// A row of the page's table is a line of its file, in the same order: its name, its amounts, and in Portuguese its words.
func TestTheFilesOfSmallListsAreTheirTables(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	s.Close(s.live)
	author := commerce.Author{CompanyID: s.live, Actor: "test", At: mayDay}
	for i, name := range []string{"Aluguel", "=Anúncios", "Plataforma"} {
		if err := s.DB.AddAdditionalCost(t.Context(), author, commerce.AdditionalCost{
			ID:   "6f0f7c86-0d3f-4a8e-9c57-0a6a6c1f7b1" + string(rune('0'+i)),
			Name: name, Category: "Loja", ValueMinor: int64(i+1) * 123456, Frequency: commerce.Monthly, StartDate: "2026-04-01"}); err != nil {
			t.Fatal(err)
		}
	}
	s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	client := s.loggedIn()
	for _, name := range []string{"Loja virtual", "Planilha"} {
		form := url.Values{"name": {name}, "environment": {commerce.Live}, "type": {account.OwnPlatform},
			"scopes": {string(account.ReadReports)}, "life": {"0"}}
		if status, text, _ := s.send(client, "/dashboard/keys?company="+s.live, form); status != http.StatusSeeOther {
			t.Fatalf("%d: %s", status, text)
		}
	}
	for _, portuguese := range []bool{false, true} {
		comma, thousands := ',', ","
		if portuguese {
			s.inPortuguese(client)
			comma, thousands = ';', "."
		}
		for _, name := range []string{"costs", "statements", "people", "audit", "keys"} {
			_, page, _ := strings.Cut(s.readPage(client, "/dashboard/"+name+"?company="+s.live), `href="/dashboard/`+name+`.csv`)
			rows := plainRows(page)
			lines := tableOf(t, s.readRaw(client, "/dashboard/"+name+".csv?company="+s.live), comma)[1:]
			if len(rows) == 0 || len(rows) != len(lines) {
				t.Errorf("%s: the page has %d rows, the file %d lines", name, len(rows), len(lines))
				continue
			}
			for i, row := range rows {
				is := func(cell string) bool {
					return cell != "" && strings.HasPrefix(strings.ToLower(row[0]), strings.ToLower(strings.TrimPrefix(cell, "'")))
				}
				if (name != "audit" || portuguese) && !slices.ContainsFunc(lines[i], is) { // in English the log's file has names of programs
					t.Errorf("%s: row %q is not line %q", name, row, lines[i])
				}
				var has []string
				for _, cell := range lines[i] {
					if shownNumber.MatchString(cell) {
						has = append(has, rounded(cell))
					}
				}
				for _, number := range numbersOf(row[1:], thousands) {
					if name != "audit" && !slices.Contains(has, number) {
						t.Errorf("%s: %q shows %s, the line %q", name, row, number, lines[i])
					}
				}
			}
		}
	}
}

// What the page of deliveries counts is what its two files add up to.
func TestTheFilesOfDeliveriesAddUpToThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	s.deliverDay("2026-11-19")
	s.deliverDay("2026-11-18")
	s.exec(`insert into delivery_source (company_id, day, origin, agent, outcome, events) values
		($1, '2026-11-19', 'https://loja.example.com', 'Chrome', 'stored', 1100),
		($1, '2026-11-18', 'https://loja.example.com', 'Chrome', 'stored', 300),
		($1, '2026-11-19', 'https://loja.example.com', 'Chrome', 'rejected', 6), ($1, '2026-11-19', 'other', 'Safari', 'stored', 100)`, s.live)
	client := s.loggedIn()
	for _, portuguese := range []bool{false, true} {
		comma, thousands := ',', ","
		if portuguese {
			s.inPortuguese(client)
			comma, thousands = ';', "."
		}
		page := s.readPage(client, "/dashboard/delivery?company="+s.live)
		sums := func(report string, key int) (counts []string) {
			t.Helper()
			table := tableOf(t, s.readRaw(client, "/dashboard/report.csv?company="+s.live+"&report="+report), comma)
			at := slices.IndexFunc(table[0], func(name string) bool { return name == "events" || name == "Eventos" })
			if at < 0 {
				t.Fatalf("%s: no events in %q", report, table[0])
			}
			sum, order := map[string]decimal.Decimal{}, []string{}
			for _, line := range table[1:] {
				of := strings.Join(line[key:at], "\n")
				if _, known := sum[of]; !known {
					order = append(order, of)
				}
				sum[of] = sum[of].Add(decimalOf(line[at]))
			}
			for _, of := range order {
				if !sum[of].IsZero() {
					counts = append(counts, sum[of].String())
				}
			}
			slices.Sort(counts)
			return counts
		}
		var tiles []string
		for _, figure := range regexp.MustCompile(`(?s)<dd class="figure[^>]*>(?:<span[^>]*>)?([^<]*)<`).FindAllStringSubmatch(page, -1) {
			if n := rounded(plainCell(html.UnescapeString(figure[1]), thousands)); n != "0" {
				tiles = append(tiles, n)
			}
		}
		if slices.Sort(tiles); !slices.Equal(tiles, sums("delivery", 1)) {
			t.Errorf("the page counts %q, the file %q", tiles, sums("delivery", 1))
		}
		var shown []string
		for path, rows := range tablesWithFiles(page) {
			if !strings.Contains(path, "report=sources") {
				continue
			}
			for _, row := range rows[1:] {
				for _, cell := range row[2:] {
					if n := rounded(plainCell(cell, thousands)); n != "0" {
						shown = append(shown, n)
					}
				}
			}
		}
		if slices.Sort(shown); len(shown) != 3 || !slices.Equal(shown, sums("sources", 0)) {
			t.Errorf("the page's sources count %q, the file %q", shown, sums("sources", 0))
		}
	}
}
