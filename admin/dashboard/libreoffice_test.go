//go:build libreoffice

package dashboard_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// office is LibreOffice with a profile of its own, whose locale is pt-BR.
type office struct {
	t   *testing.T
	dir string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t, t.TempDir()}
	const locale = `<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">` +
		`<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale"><value>pt-BR</value></prop></item></oor:items>`
	profile := filepath.Join(o.dir, "profile", "user")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	o.write("profile/user/registrymodifications.xcu", locale)
	return o
}

func (o *office) write(name, text string) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) read(name string) string {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, name))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}

// asBrazil is how a Brazilian spreadsheet opens CSV by a double click: semicolons, UTF-8 by its byte order mark, numbers and days as
// the locale writes them.
const asBrazil = "CSV:59,34,76,1,,0,false,true"

// convert opens files and saves them in another format.
func (o *office) convert(format, filter string, names ...string) {
	o.t.Helper()
	args := []string{"-env:UserInstallation=file://" + filepath.Join(o.dir, "profile"), "--headless",
		"--convert-to", format, "--outdir", o.dir}
	if filter != "" {
		args = append(args, "--infilter="+filter)
	}
	for _, name := range names {
		args = append(args, filepath.Join(o.dir, name))
	}
	output, err := exec.CommandContext(o.t.Context(), os.Getenv("TRIBUTARY_SOFFICE"), args...).CombinedOutput()
	if err != nil {
		o.t.Fatalf("soffice %v: %v: %s", args, err, output)
	}
}

// officeCell is a cell as LibreOffice has read it: its kind is float, date, string or none.
type officeCell struct{ kind, value string }

// cellsOf reads the cells of a flat OpenDocument spreadsheet.
func (o *office) cellsOf(document string) (rows [][]officeCell) {
	o.t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(document))
	var cell officeCell
	repeated, inText := 1, false
	for {
		token, err := decoder.Token()
		if err != nil {
			return rows
		}
		switch tag := token.(type) {
		case xml.StartElement:
			switch tag.Name.Local {
			case "table-row":
				rows = append(rows, nil)
			case "p":
				inText = true
			case "table-cell":
				cell, repeated = officeCell{}, 1
				for _, a := range tag.Attr {
					switch a.Name.Local {
					case "value-type":
						cell.kind = a.Value
					case "value", "date-value", "boolean-value":
						cell.value = a.Value
					case "number-columns-repeated":
						repeated, _ = strconv.Atoi(a.Value)
					}
				}
			}
		case xml.CharData:
			if inText && cell.kind == "string" {
				cell.value += string(tag)
			}
		case xml.EndElement:
			switch tag.Name.Local {
			case "p":
				inText = false
			case "table-cell":
				for range min(repeated, 100) {
					rows[len(rows)-1] = append(rows[len(rows)-1], cell)
				}
			}
		}
	}
}

var (
	aNumber = regexp.MustCompile(`^[+-]?[0-9]+(,[0-9]+)?$`)
	aPart   = regexp.MustCompile(`^[0-9]+(,[0-9]+)?%$`)
	aDay    = regexp.MustCompile(`^([0-9]{2})/([0-9]{2})/([0-9]{4})(?: ([0-9]{2}:[0-9]{2}))?$`)
	blanks  = regexp.MustCompile(`\s+`)
)

// wanted is the cell that LibreOffice makes of a cell of a file.
func wanted(text string) officeCell {
	switch day := aDay.FindStringSubmatch(text); {
	case text == "":
		return officeCell{}
	case aNumber.MatchString(text):
		return officeCell{"float", decimal.RequireFromString(strings.Replace(strings.TrimPrefix(text, "+"), ",", ".", 1)).String()}
	case aPart.MatchString(text):
		return officeCell{"percentage", decimal.RequireFromString(strings.Replace(text[:len(text)-1], ",", ".", 1)).Shift(-2).String()}
	case day != nil && day[4] == "":
		return officeCell{"date", day[3] + "-" + day[2] + "-" + day[1]}
	case day != nil:
		return officeCell{"date", day[3] + "-" + day[2] + "-" + day[1] + "T" + day[4] + ":00"}
	}
	return officeCell{"string", text}
}

// sheetOfSums puts a sheet before the others, with LibreOffice's own sum of each column of the next one.
func sheetOfSums(document string, columns int) string {
	name := regexp.MustCompile(`<table:table table:name="([^"]*)"`).FindStringSubmatch(document)[1]
	cells := ""
	for i := range columns {
		letters := string(rune('A' + i%26))
		if i >= 26 {
			letters = string(rune('A'+i/26-1)) + letters
		}
		cells += fmt.Sprintf(`<table:table-cell table:formula="of:=SUM(['%s'.%s2:.%s60000])"/>`, name, letters, letters)
	}
	sums := `<table:table table:name="sums"><table:table-row>` + cells + `</table:table-row></table:table>`
	return strings.Replace(document, "<table:table ", sums+"<table:table ", 1)
}

func TestLibreOfficeOpensEveryPortugueseFile(t *testing.T) {
	s, o := newLinkedSite(t, 2), newOffice(t)
	s.Close(s.live)
	s.sells()
	s.Cost(s.live, s.sumDay("2026-11-18"), "", 3000, commerce.Daily, "2026-11-18")
	s.sumDay("2026-10-15")
	for i := range 40 {
		s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("ação-", i), TotalMinor: int64(1990 + 31*i),
			CreatedAt:    time.Date(2026, 11, 1+i%19, 1, 30, 0, 0, time.UTC),
			InfluencerID: s.Influencer(s.live, fmt.Sprint("João d'Ávila; \"o\" ", i)), Evidence: "link", CommissionMinor: int64(101 * i),
			DiscountCode: "JOÃO" + fmt.Sprint(i)})
	}
	owner := s.loggedIn()
	s.inPortuguese(owner)
	if status, text := s.upload(owner, wholeFile, "step", "save"); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	paths := append(s.files(), "/dashboard/report.csv?report=sales&compare=year&company="+s.live,
		"/dashboard/report.csv?report=channels&model=markov&company="+s.live,
		"/dashboard/statement.csv?"+url.Values{"company": {s.live}, "id": {s.statement}}.Encode())
	portuguese, english := make([][][]string, len(paths)), make([][][]string, len(paths))
	var names, documents, sums []string
	s.inEnglish(owner)
	for i, path := range paths {
		english[i] = tableOf(t, s.readRaw(owner, path), ',')
	}
	s.inPortuguese(owner)
	for i, path := range paths {
		name := fmt.Sprintf("file%02d", i)
		names, documents, sums = append(names, name+".csv"), append(documents, name+".fods"), append(sums, name+"-sums.fods")
		file := s.readRaw(owner, path)
		portuguese[i] = tableOf(t, file, ';')
		o.write(names[i], file)
	}
	o.convert("fods", asBrazil, names...)
	cells, numbers, days := 0, 0, 0
	for i, path := range paths {
		document := o.read(documents[i])
		o.write(sums[i], sheetOfSums(document, len(portuguese[i][0])))
		got := o.cellsOf(document)
		for row, line := range portuguese[i] {
			for column, text := range line {
				want, is := wanted(text), officeCell{}
				if row < len(got) && column < len(got[row]) {
					is = got[row][column]
				}
				if want.kind == "float" && is.kind == "float" {
					is.value = decimal.RequireFromString(is.value).String()
				}
				if blanks.ReplaceAllString(is.value, " ") != blanks.ReplaceAllString(want.value, " ") || is.kind != want.kind {
					t.Errorf("%s: row %d, %s: %q is %+v, want %+v", path, row+1, portuguese[i][0][column], text, is, want)
				}
				cells++
				switch is.kind {
				case "float":
					numbers++
				case "date":
					days++
				}
			}
		}
	}
	o.convert("csv:Text - txt - csv (StarCalc):44,34,76,1,,1033,false,false", "", sums...)
	columns := 0
	for i, path := range paths {
		line := tableOf(t, o.read(strings.TrimSuffix(sums[i], ".fods")+".csv"), ',')[0]
		for to, from := range idsLast(english[i][0]) {
			sum, is := decimal.Zero, false
			for _, row := range english[i][1:] {
				if d, err := decimal.NewFromString(row[from]); err == nil && aNumber.MatchString(strings.Replace(row[from], ".", ",", 1)) {
					sum, is = sum.Add(d), true
				}
			}
			if name := english[i][0][from]; !is || name == "phone" || name == "pix_key" { // which are texts in Portuguese
				continue
			}
			columns++
			if got := localDecimal(line[to]); !got.Round(8).Equal(sum.Round(8)) {
				t.Errorf("%s: LibreOffice's sum of %s is %s, that of the API's %s %s", path, portuguese[i][0][to], got, english[i][0][from], sum)
			}
		}
	}
	// The sums of a report are its totals.
	r, err := s.DB.Report(t.Context(), reports.Query{CompanyID: s.live, Name: reports.Sales, Start: "2026-10-22", End: "2026-11-20"})
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		if path != "/dashboard/report.csv?company="+s.live+"&report=sales" {
			continue
		}
		line := tableOf(t, o.read(strings.TrimSuffix(sums[i], ".fods")+".csv"), ',')[0]
		for to, from := range idsLast(english[i][0]) {
			if english[i][0][from] == "sales" {
				want, _ := r.Value(r.Totals, r.Spec.Column("sales"))
				if got := localDecimal(line[to]); !got.Shift(2).Equal(want) || want.IsZero() {
					t.Errorf("LibreOffice's sum of the sales is %s, want the API's %s", got, want.Shift(-2))
				}
				columns++
			}
		}
	}
	if numbers < 500 || days < 100 || columns < 50 {
		t.Errorf("%d numbers, %d days, %d columns with sums: too few", numbers, days, columns)
	}
	t.Logf("%d files, %d cells, %d numbers, %d days, %d columns summed", len(paths), cells, numbers, days, columns)
}

func localDecimal(text string) decimal.Decimal {
	return decimal.RequireFromString(strings.Replace(text, ",", ".", 1))
}

// idsLast is the order of the columns in Portuguese.
func idsLast(header []string) (order []int) {
	var ids []int
	for i, name := range header {
		if name == "id" || strings.HasSuffix(name, "_id") {
			ids = append(ids, i)
		} else {
			order = append(order, i)
		}
	}
	return append(order, ids...)
}

// The file of influencers, opened in LibreOffice and saved as .xlsx, makes the same influencers in another store.
func TestInfluencersComeBackFromLibreOffice(t *testing.T) {
	o := newOffice(t)
	file := wholeFile
	var files []string
	for i := range 2 {
		s := newSite(t)
		owner := s.loggedIn()
		s.inPortuguese(owner)
		if status, text := s.upload(owner, file, "step", "save"); status != http.StatusSeeOther {
			t.Fatalf("%d: %s", status, text)
		}
		exported := s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
		files = append(files, withoutIDs(t, exported))
		if i == 0 {
			o.write("parceiros.csv", exported)
			o.convert("xlsx", asBrazil, "parceiros.csv")
			file = o.read("parceiros.xlsx")
			if !strings.HasPrefix(file, "PK") {
				t.Fatalf("LibreOffice made no workbook: %.100q", file)
			}
		}
	}
	if files[0] != files[1] {
		t.Errorf("the file:\n%s\nof those imported from LibreOffice's workbook:\n%s", files[0], files[1])
	}
}
