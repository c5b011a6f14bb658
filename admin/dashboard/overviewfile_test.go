package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
)

var (
	pageTable = regexp.MustCompile(`(?s)<table.*?</table>`)
	pageRow   = regexp.MustCompile(`(?s)<tr .*?</tr>`)
	pageCell  = regexp.MustCompile(`(?s)<t[hd] .*?</t[hd]>`)
	pageFile  = regexp.MustCompile(`href="([^"]*)" download>`)
	pageNote  = regexp.MustCompile(`<small class="line">.*?</small>`)
	pageTag   = regexp.MustCompile(`<[^>]*>`)
)

// tablesWithFiles are the tables of a page below which there is a file: the path of each, and the texts of its cells.
func tablesWithFiles(page string) (tables map[string][][]string) {
	tables = map[string][][]string{}
	ends := pageTable.FindAllStringIndex(page, -1)
	for _, at := range ends {
		rest := page[at[1]:min(at[1]+600, len(page))]
		link := pageFile.FindStringSubmatchIndex(rest)
		if link == nil || strings.Contains(rest[:link[0]], "<table") {
			continue
		}
		var rows [][]string
		for _, row := range pageRow.FindAllString(page[at[0]:at[1]], -1) {
			var cells []string
			for _, cell := range pageCell.FindAllString(row, -1) {
				text := html.UnescapeString(pageTag.ReplaceAllString(pageNote.ReplaceAllString(cell, ""), " "))
				cells = append(cells, strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " "))
			}
			rows = append(rows, cells)
		}
		tables[html.UnescapeString(rest[link[2]:link[3]])] = rows
	}
	return tables
}

// tableOf are the cells of a file.
func tableOf(t *testing.T, file string, comma rune) [][]string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff")))
	r.Comma = comma
	table, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%v: %s", err, file)
	}
	return table
}

// plainCell is a page's cell as its file writes it: without the currency and separators of thousands.
func plainCell(text, thousands string) string {
	if text == "–" {
		return ""
	}
	number := strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(text, "R$ "), thousands, ""), "%")
	if strings.Trim(number, "-0123456789.,") == "" {
		return strings.ReplaceAll(number, ",", ".")
	}
	return text
}

// What a table of the overview shows is what its file has: rows, columns and the total, in both languages. The compared days are
// columns beside them.
func TestTheFilesOfTheOverviewAreItsTables(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	ana, beto := s.sumDay("2026-11-19"), s.Influencer(s.live, "=Béto")
	before := s.sumDay("2026-10-15")
	coupon := s.Coupon(s.live, beto, "", "BETO10")
	order := func(day string, minor int64, p facts.Payout, channel, id string) {
		c := facts.Credit{Channel: channel, InfluencerID: id}
		for i := range c.Parts {
			c.Parts[i] = facts.Part{Given: true, Minor: minor}
		}
		s.Sum(s.live, rollup.Order{Outcome: &facts.Outcome{Day: day, Currency: commerce.BRL, TotalMinor: minor,
			Credits: []facts.Credit{c}, Payout: p}})
	}
	for _, day := range []string{"2026-11-19", "2026-11-02", "2026-10-14"} {
		order(day, 123456, facts.Payout{State: facts.PayoutEarned, InfluencerID: beto, CouponID: coupon, CommissionMinor: 123},
			"coupon:=Béto", beto)
		order(day, 7001, facts.Payout{State: facts.PayoutEarned, InfluencerID: beto, CommissionMinor: 7}, "=Béto", beto)
		order(day, 2599, facts.Payout{State: facts.PayoutReview, InfluencerID: ana}, "unattributed", "")
	}
	client := s.loggedIn()
	for _, portuguese := range []bool{false, true} {
		comma, thousands := ',', ","
		if portuguese {
			s.inPortuguese(client)
			comma, thousands = ';', "."
		}
		page := s.readPage(client, "/dashboard/overview?company="+s.live+"&model=linear")
		tables := tablesWithFiles(page)
		if len(tables) != 2 {
			t.Fatalf("%d tables have files, want who is paid and how visitors came", len(tables))
		}
		for path, table := range tables {
			file := tableOf(t, s.readRaw(client, path), comma)
			header := file[0]
			last := len(header) - 1
			if 2*len(table[0]) != len(header) || !strings.Contains(strings.ToLower(header[last]), "id") {
				t.Errorf("%s: %q are the columns, want each of %q with that of the compared days, and an id", path, header, table[0])
				continue
			}
			var shown, sums [][]string
			for i, line := range file[1:] {
				row, asked := []string{strings.TrimPrefix(line[0], "'")}, false
				for column := 1; column < last; column += 2 {
					row, asked = append(row, rounded(line[column])), asked || line[column] != ""
				}
				if asked {
					shown = append(shown, row)
				} else if i == len(file)-2 || line[2] == "" || line[last] != before && line[last] != "" {
					t.Errorf("%s: %q is of neither span", path, line)
				}
				if i < len(file)-2 {
					sums = append(sums, line)
				}
			}
			var want [][]string
			for _, row := range table[1:] {
				for i := range row {
					if i > 0 {
						row[i] = rounded(plainCell(row[i], thousands))
					}
				}
				want = append(want, row)
			}
			if !slices.EqualFunc(shown, want, slices.Equal[[]string]) {
				t.Errorf("%s\nthe file has:\n%q\nthe page:\n%q", path, shown, want)
			}
			totals := file[len(file)-1]
			for column := 1; column < last; column++ {
				sum := decimal.Zero
				for _, line := range sums {
					sum = sum.Add(decimalOf(line[column]))
				}
				if off := sum.Sub(decimalOf(totals[column])).Abs(); off.GreaterThan(decimal.RequireFromString("0.00001")) &&
					!strings.HasSuffix(totals[column], "%") {
					t.Errorf("%s: %s adds up to %s, its total is %s", path, header[column], sum, totals[column])
				}
			}
		}
	}
	for _, bad := range []string{"table=nothing", "table=channels&range=ever", "table=contract&from=2026-11-19&to=2026-11-01"} {
		if status, _ := s.download(client, "/dashboard/overview.csv?company="+s.live+"&"+bad); status != http.StatusBadRequest {
			t.Errorf("%q: %d", bad, status)
		}
	}
}

// rounded is a number with the decimals that pages show; another text stays.
func rounded(text string) string {
	if strings.Trim(text, "-0123456789.,%") != "" || text == "" {
		return text
	}
	return decimalOf(text).Round(2).String()
}

// decimalOf reads a number of a file in either language; an empty cell is 0.
func decimalOf(text string) decimal.Decimal {
	if text == "" {
		return decimal.Zero
	}
	return decimal.RequireFromString(strings.TrimSuffix(strings.Replace(text, ",", ".", 1), "%"))
}

// readPage is a page as it is sent.
func (s *site) readPage(client *http.Client, path string) string {
	s.t.Helper()
	answer, err := client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
	return string(body)
}

var (
	listFile    = regexp.MustCompile(`href="([^"]*csv[^"]*)" download`)
	shownNumber = regexp.MustCompile(`^(R\$ )?-?[0-9][0-9.,]*%?$|R\$ -?[0-9][0-9.,]*`)
)

// numbersOf are the numbers of texts that are nothing else, and the amounts of others, as a page shows them.
func numbersOf(cells []string, thousands string) (list []string) {
	for _, cell := range cells {
		for _, number := range shownNumber.FindAllString(cell, -1) {
			plain := rounded(plainCell(number, thousands))
			if strings.HasSuffix(number, "%") {
				plain += "%"
			}
			list = append(list, plain)
		}
	}
	return list
}

// Each amount, count and percentage that a page's table shows of somebody or something is in the lines about it of the page's
// files, in both languages.
func TestTheFilesOfListsHaveWhatTheirPagesShow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sells()
	s.sumDay("2026-11-18")
	caio := s.Influencer(s.live, "Caio Lima")
	coupon := s.Coupon(s.live, caio, "", "CAIO5")
	s.Sum(s.live, rollup.Order{Outcome: &facts.Outcome{Day: "2026-11-18", Currency: commerce.BRL, TotalMinor: 987654,
		Payout: facts.Payout{State: facts.PayoutEarned, InfluencerID: caio, CouponID: coupon, CommissionMinor: 98765}}})
	client := s.loggedIn()
	for _, portuguese := range []bool{false, true} {
		comma, thousands := ',', ","
		if portuguese {
			s.inPortuguese(client)
			comma, thousands = ';', "."
		}
		for _, name := range []string{"orders", "payouts", "influencers", "coupons", "products"} {
			page := s.readPage(client, "/dashboard/"+name+"?company="+s.live)
			var lines [][]string
			for _, link := range listFile.FindAllStringSubmatch(page, -1) {
				lines = append(lines, tableOf(t, s.readRaw(client, html.UnescapeString(link[1])), comma)[1:]...)
			}
			compared := 0
			for _, row := range pageRow.FindAllString(pageTable.FindString(page), -1) {
				var cells []string
				for _, cell := range pageCell.FindAllString(row, -1) {
					text := html.UnescapeString(pageTag.ReplaceAllString(cell, " "))
					cells = append(cells, strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " "))
				}
				has := map[string]bool{}
				for _, line := range lines {
					about := func(cell string) bool { return cell == cells[0] || cell != "" && strings.HasPrefix(cells[0], cell+" ") }
					if !slices.ContainsFunc(line, about) {
						continue
					}
					for _, cell := range line {
						if shownNumber.MatchString(cell) {
							has[rounded(cell)] = true
							has[decimalOf(cell).Shift(2).Round(1).String()+"%"] = true
						}
					}
				}
				for i, cell := range cells[1:] {
					for _, number := range numbersOf([]string{cell}, thousands) {
						compared++
						if !has[number] && number != "0" {
							t.Errorf("%s: of %s the page shows %s in column %d, the files %v", name, cells[0], number, i+2, has)
						}
					}
				}
			}
			if compared < 3 {
				t.Errorf("%s: %d numbers are compared", name, compared)
			}
		}
	}
}

// Of many influencers the page shows the first ten of each table, with the totals of all, says so, and leads to all. The file has
// them either way.
func TestTheOverviewShowsTheFirstRowsOfMany(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	for i := range 13 {
		name := fmt.Sprintf("Parceira %02d", i)
		id := s.Influencer(s.live, name)
		c := facts.Credit{Channel: name, InfluencerID: id}
		for k := range c.Parts {
			c.Parts[k] = facts.Part{Given: true, Minor: int64(100-i) * 1000}
		}
		s.Sum(s.live, rollup.Order{Outcome: &facts.Outcome{Day: "2026-11-19", Currency: commerce.BRL, TotalMinor: int64(100-i) * 1000,
			Credits: []facts.Credit{c}, Payout: facts.Payout{State: facts.PayoutEarned, InfluencerID: id, CommissionMinor: 100}}})
	}
	client := s.loggedIn()
	for _, portuguese := range []bool{false, true} {
		said, channels, all, comma := "Shows 10 of 13 influencers; the other 3 have R$ 2,670.00 together. The file has all.",
			"Shows 10 of 13 rows. The file has all.", "Show all", ','
		if portuguese {
			s.inPortuguese(client)
			said, channels, all, comma = "Mostra 10 de 13 influenciadores; os outros 3 têm R$ 2.670,00 no total. O arquivo tem todos.",
				"Mostra 10 de 13 linhas. O arquivo tem todas.", "Mostrar tudo", ';'
		}
		page := s.readPage(client, "/dashboard/overview?company="+s.live)
		if text := strings.ReplaceAll(page, "\u00a0", " "); !contains(text, said, channels, ">"+all+"</a>") {
			t.Fatalf("the page does not say what it leaves out: %s", text)
		}
		_, link, _ := strings.Cut(page, `The file has all. <a href="`)
		if portuguese {
			_, link, _ = strings.Cut(page, `O arquivo tem todos. <a href="`)
		}
		link, _, _ = strings.Cut(link, "#")
		whole := s.readPage(client, html.UnescapeString(link))
		if contains(whole, ">"+all+"</a>") {
			t.Error("the page with all rows leads to all of them")
		}
		few, many := tablesWithFiles(page), tablesWithFiles(whole)
		if len(few) != 2 || len(many) != 2 {
			t.Fatalf("%d and %d tables have files", len(few), len(many))
		}
		for path, rows := range few {
			file := tableOf(t, s.readRaw(client, path), comma)
			every := many[path]
			if len(every) != len(file) || len(rows) != len(every)-3 || !slices.Equal(rows[len(rows)-1], every[len(every)-1]) ||
				!slices.EqualFunc(rows[:11], every[:11], slices.Equal[[]string]) {
				t.Errorf("%s: %d rows of %d, the file has %d: %q", path, len(rows), len(every), len(file), rows)
			}
		}
	}
}
