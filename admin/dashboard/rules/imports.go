package rules

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/spreadsheet"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/reports"
)

// Importer registers a list of influencers: all of it, or what keep says.
type Importer interface {
	// RegisterAll says what became of each. All is rolled back where keep returns false of it.
	RegisterAll(ctx context.Context, author commerce.Author, list []commerce.Registration, keep func([]commerce.Imported) bool,
		random io.Reader) ([]commerce.Imported, error)
}

const (
	importPath = site.InfluencersPath + "/import"
	// importTime bounds one import; a page's own time is for pages. It is less than the 60 s that proxies wait by default: the page
	// says what is to be done, not the proxy. 5,000 lines of 16 columns took 17 s of CPU time, and 31 to 48 s beside 18 other
	// processes on two cores (BenchmarkImport).
	importTime = 55 * time.Second
	// importsAtOnce bounds the imports of all stores together, since each has a connection for as long as it lasts; of
	// one person it is one.
	importsAtOnce = 2
	// problemsShown bounds the lines of which the page says why they are refused.
	problemsShown = 100
	// examplesShown is how many cells of a column the page shows.
	examplesShown = 2
	// maxUpload bounds the form's body, in bytes: the file as text may be twice as long, and there is the rest of the form.
	maxUpload = 2*spreadsheet.MaxBytes + 64<<10
)

// importPage is what templates/import.html shows.
type importPage struct {
	site.Head
	Alert    string
	Back     string         // path of the influencers
	Text     string         // the file, for the next step; empty: there is none yet, or Book
	Book     string         // a workbook of several sheets, for the next step, in base64; empty: there is none
	Sheet    string         // the one of Sheets that was read
	Sheets   []site.Option  // of Book
	Columns  []importColumn // what each is read as
	Known    string         // the columns that an import knows, in words
	Model    string         // path of a file that is an example
	Said     string         // how many would be registered
	Cautions []string       // what the result card warns of: columns with numbers that are not read, influencers without commission
	Notes    []string       // other columns that are not read, how many lines change nothing
	Refused  string         // how many are refused; empty: none
	Problems []importProblem
	Warnings []importProblem // what is registered, and is probably not meant
	More     string          // how many problems are not shown; empty: none
	MaySave  bool
	Partial  bool // may be saved without the lines that are refused
	Max      int64
}

type importColumn struct {
	Number           int
	Header, Examples string
	Fields           []site.Option
}

type importProblem struct{ Line, Name, Text string }

func (s *Pages) importRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + importPath, Owner: true, Handle: s.askForFile},
		{Pattern: "POST " + importPath, Owner: true, Upload: maxUpload, Handle: s.importFile},
		{Pattern: "GET " + importPath + "/model" + site.CSVEnding, Owner: true, Handle: s.modelFile},
	}
}

func (s *Pages) askForFile(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showImport(w, r, v, http.StatusOK, importPage{})
}

func (s *Pages) showImport(w http.ResponseWriter, r *http.Request, v site.Request, status int, page importPage) {
	v.Here = v.Path(importPath)
	page.Head, page.Back = v.Head(v.Lang.T("import.title"), "influencers"), v.Path(site.InfluencersPath)
	page.Max, page.Model = spreadsheet.MaxLines, v.Path(importPath+"/model"+site.CSVEnding)
	var known []string
	for _, field := range spreadsheet.Fields {
		known = append(known, v.Lang.T("import.field_"+field))
	}
	page.Known = strings.Join(known, " · ")
	s.Render(w, r, status, "import.html", page)
}

// importFile shows what a file's lines would register, by registering them and rolling it back, or registers them.
func (s *Pages) importFile(w http.ResponseWriter, r *http.Request, v site.Request) {
	refuse := func(page importPage, err error) {
		page.Alert = site.TypedText(v.Lang, err)
		s.showImport(w, r, v, http.StatusUnprocessableEntity, page)
	}
	raw, sheet, err := uploaded(r)
	if err != nil {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	if len(raw) == 0 {
		s.showImport(w, r, v, http.StatusUnprocessableEntity, importPage{Alert: v.Lang.T("import.no_file")})
		return
	}
	end, err := s.importing.Take(r.Context(), v.Access.PersonID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	defer end()
	// Reading a workbook and registering thousands take longer than a page may. Where no deadline can be set, the server's own one counts.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.importTime + site.Timeout))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.importTime)
	defer cancel()
	page := importPage{}
	page.carryBook(raw, sheet)
	table, err := spreadsheet.Parse(raw, sheet, v.Lang)
	if err != nil {
		refuse(page, err)
		return
	}
	if page.Book == "" {
		page.Text = table.Text()
	}
	// What else the form says is of the sheet that the page before showed.
	sameSheet := sheet == r.PostForm.Get("sheet_read")
	for i := range table.Headers {
		name := "column-" + strconv.Itoa(i)
		if sameSheet && r.PostForm.Has(name) && err == nil {
			err = table.Choose(i, r.PostForm.Get(name))
		}
	}
	page.Columns = s.importColumns(v, table)
	if err == nil {
		err = table.Check()
	}
	if err != nil {
		refuse(page, err)
		return
	}
	save, partial := sameSheet && stepOf(r, v) == stepSave, r.PostForm.Get("partial") == "yes"
	stored, err := s.importLines(ctx, v, table, &page, save, partial)
	switch {
	case err != nil && ctx.Err() != nil:
		// It may be stored all the same, where the end of the transaction was not heard of. Sending it again is safe.
		s.Log.Warn("dashboard: an import had no time", "company", v.Current.CompanyID, "error", err)
		s.showImport(w, r, v, http.StatusServiceUnavailable, importPage{Alert: v.Lang.T("import.no_time"), Text: page.Text, Book: page.Book,
			Sheet: page.Sheet, Sheets: page.Sheets, Columns: page.Columns})
	case err != nil:
		s.Unavailable(w, r, err)
	case stored:
		site.Done(w, r, v.Path(site.InfluencersPath), "influencers_imported")
	default:
		status := http.StatusOK
		if save {
			status, page.Alert = http.StatusUnprocessableEntity, v.Lang.T("import.not_stored")
		}
		s.showImport(w, r, v, status, page)
	}
}

// modelFile is a file with a header and one line, which an import reads. Its columns are those of the influencers' file.
func (s *Pages) modelFile(w http.ResponseWriter, r *http.Request, v site.Request) {
	header := []string{"influencer", "category", "links", "coupon", "coupon_start", "coupon_end", "var_fee", "fixed_fee", "value", "frequency",
		"email", "phone", "document", "pix_type", "pix_key", "handles", "notes"}
	line := []string{v.Lang.T("import.model_name"), v.Lang.T("import.model_category"), "", "ANA10", s.DayOf(v), "", "10", "", "500.00",
		commerce.Monthly, "ana@example.com", "+5511988887766", "", commerce.PixEmail, "ana@example.com", "@ana.prado", ""}
	s.SendFile(w, r, v, v.Lang.T("import.model_file"), reports.WriteCSV(header, [][]string{line}))
}

// carryBook keeps a workbook of several sheets for the next step, which may choose another one of them.
func (p *importPage) carryBook(raw []byte, sheet string) {
	names := spreadsheet.Sheets(raw)
	if len(names) < 2 {
		return
	}
	if !slices.Contains(names, sheet) {
		sheet = names[0]
	}
	p.Book, p.Sheet = base64.StdEncoding.EncodeToString(raw), sheet
	for _, name := range names {
		p.Sheets = append(p.Sheets, site.Option{Value: name, Label: name, Chosen: name == sheet})
	}
}

// uploaded is the file that was chosen, else the one of the step before, with the name of its sheet; empty: the first.
func uploaded(r *http.Request) (raw []byte, sheet string, err error) {
	file, _, err := r.FormFile("file")
	if err != nil && !errors.Is(err, http.ErrMissingFile) {
		return nil, "", err
	}
	if err == nil {
		defer file.Close()
		if raw, err := io.ReadAll(file); len(raw) > 0 || err != nil { // of a body that is bounded
			return raw, "", err
		}
	}
	if book := r.PostForm.Get("book"); book != "" {
		raw, err = base64.StdEncoding.DecodeString(book)
		return raw, r.PostForm.Get("sheet"), err
	}
	return []byte(r.PostForm.Get("text")), "", nil
}

func (s *Pages) importColumns(v site.Request, table *spreadsheet.Table) (list []importColumn) {
	for i, header := range table.Headers {
		c := importColumn{Number: i, Header: header, Examples: strings.Join(table.Examples(i, examplesShown), " · "),
			Fields: []site.Option{{Label: v.Lang.T("import.ignored"), Chosen: table.Columns[i] == ""}}}
		for _, field := range spreadsheet.Fields {
			c.Fields = append(c.Fields, site.Option{Value: field, Label: v.Lang.T("import.field_" + field), Chosen: table.Columns[i] == field})
		}
		list = append(list, c)
	}
	return list
}

// importLines registers the lines, and tells on the page what became of each. stored is false where all was rolled back:
// it was not to be saved, or a line is refused and not left out.
func (s *Pages) importLines(ctx context.Context, v site.Request, table *spreadsheet.Table, page *importPage, save,
	partial bool) (stored bool, err error) {
	store, err := s.db.Company(ctx, v.Current.CompanyID)
	if err != nil {
		return false, err
	}
	lines := table.Lines(spreadsheet.Reading{File: v.Lang, Page: v.Lang, Today: s.DayOf(v), Company: store.CompanyID,
		Country: store.Country, Hasher: s.hasher})
	spreadsheet.CheckLinks(ctx, lines, s.checkLinks, v.Lang)
	var asked []commerce.Registration
	var of []int // of which line each is
	for i, line := range lines {
		if len(line.Problems) == 0 {
			asked, of = append(asked, line.Asked), append(of, i)
		}
	}
	count := importCount{}
	became, err := s.imports.RegisterAll(ctx, s.Author(v), asked, func(became []commerce.Imported) bool {
		count = countImported(asked, became)
		stored = save && count.good > 0 && (count.good+count.unchanged == len(lines) || partial)
		return stored
	}, s.Random)
	if err != nil {
		return false, err
	}
	for n, line := range became {
		if line.Refused != nil {
			lines[of[n]].Problems = []string{importRefusal(v, lines[of[n]].Asked, line.Refused)}
		}
	}
	page.tell(v, lines, count)
	page.tellUnread(v, table)
	return stored, s.warnOfLines(ctx, v, page, lines)
}

// importCount counts what became of lines: those that are registered, those that say nothing new, and the influencers among
// them who have no agreement.
type importCount struct{ good, unchanged, unpaid int }

func countImported(asked []commerce.Registration, became []commerce.Imported) (count importCount) {
	unpaid := map[string]bool{} // by name, as of the influencer's last line
	for i, line := range became {
		switch {
		case line.Refused != nil:
			continue
		case line.Unchanged:
			count.unchanged++
		default:
			count.good++
		}
		unpaid[fold.Name(asked[i].Name)] = line.Unpaid
	}
	for _, is := range unpaid {
		if is {
			count.unpaid++
		}
	}
	return count
}

// warnOfLines says of lines that are registered what is probably not meant.
func (s *Pages) warnOfLines(ctx context.Context, v site.Request, page *importPage, lines []spreadsheet.Line) error {
	own, err := s.ownHosts(ctx, v)
	if err != nil {
		return err
	}
	today := s.DayOf(v)
	for _, line := range lines {
		for _, text := range []string{lateAgreement(v.Lang, line.Asked, today), foreignHosts(v.Lang, own, line.Asked.Links)} {
			if text != "" && len(line.Problems) == 0 && len(page.Warnings) < problemsShown {
				page.Warnings = append(page.Warnings, importProblem{Line: strconv.Itoa(line.Number), Name: line.Asked.Name, Text: text})
			}
		}
	}
	return nil
}

// importRefusal says why a line that reads well is not registered.
func importRefusal(v site.Request, asked commerce.Registration, why error) string {
	var payee *commerce.PayeeKnownError
	_, words, known := refusalOf(v.Lang, why)
	switch {
	case len(words) > 0:
		return strings.Join(words, "; ")
	case errors.Is(why, commerce.ErrUnknownInfluencer):
		return v.Lang.T("import.unknown")
	case known: // no stored coupon is in the way: one of the same import is
		return v.Lang.T("import.coupon_before", asked.Coupons[0].Code)
	case errors.As(why, &payee):
		return v.Lang.T("import.payee_known")
	}
	return why.Error()
}

// tell says what became of the lines.
func (p *importPage) tell(v site.Request, lines []spreadsheet.Line, count importCount) {
	bad := 0
	for _, line := range lines {
		if len(line.Problems) == 0 {
			continue
		}
		if bad++; bad <= problemsShown {
			p.Problems = append(p.Problems, importProblem{Line: strconv.Itoa(line.Number), Name: line.Asked.Name,
				Text: strings.Join(line.Problems, "; ")})
		}
	}
	p.Said, p.MaySave, p.Partial = v.Lang.N("import.would", int64(count.good)), count.good > 0, count.good > 0 && bad > 0
	if count.unchanged > 0 {
		p.Notes = append(p.Notes, v.Lang.N("import.unchanged", int64(count.unchanged)))
	}
	if count.unpaid > 0 {
		p.Cautions = append(p.Cautions, v.Lang.N("import.unpaid", int64(count.unpaid)))
	}
	if bad > 0 {
		p.Refused = v.Lang.N("import.refused", int64(bad))
	}
	if bad > problemsShown {
		p.More = v.Lang.N("import.more", int64(bad-problemsShown))
	}
}

// tellUnread names the columns that are not read: those with numbers as a warning, before others.
func (p *importPage) tellUnread(v site.Request, table *spreadsheet.Table) {
	numbers, others := table.Unread()
	if len(numbers) > 0 {
		p.Cautions = slices.Insert(p.Cautions, 0, v.Lang.T("import.unread_numbers", strings.Join(numbers, ", ")))
	}
	if len(others) > 0 {
		p.Notes = append(p.Notes, v.Lang.T("import.unread", strings.Join(others, ", ")))
	}
}
