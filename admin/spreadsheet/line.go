package spreadsheet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/wire"
)

// Reading says how lines are read.
type Reading struct {
	File    *lang.Printer    // the language in which the file's numbers and days are written
	Page    *lang.Printer    // the language in which it is told what is wrong
	Today   string           // YYYY-MM-DD; an agreement without a start begins on it
	Company string           // id of the store
	Country string           // the store's, for telephones
	Hasher  *identity.Hasher // makes the keyed hashes of e-mails, telephones and documents; nil: none are made
}

// Line is one line of a file.
type Line struct {
	Number   int // in the file
	Asked    commerce.Registration
	Problems []string // what is wrong with it, in the page's language
}

// Lines reads and checks every line. Check was called.
func (t *Table) Lines(how Reading) []Line {
	lines := make([]Line, 0, len(t.rows))
	for _, r := range t.rows {
		read := reader{Reading: how, header: map[string]string{}, cell: map[string]string{}}
		for i, field := range t.Columns {
			if field == "" {
				continue
			}
			read.header[field] = t.Headers[i]
			if i < len(r.cells) {
				read.cell[field] = cellText(r.cells[i])
			}
		}
		lines = append(lines, Line{Number: r.number, Asked: read.registration(), Problems: read.problems})
	}
	return lines
}

// cellText is what a cell says: without the sign by which a file of ours keeps a text from being a formula (reports.CSVText).
func cellText(cell string) string {
	cell = strings.TrimSpace(cell)
	if text, guarded := strings.CutPrefix(cell, "'"); guarded && reports.CSVText(text) == cell {
		return text
	}
	return cell
}

// CheckLinks looks up the hosts of the links of lines where all else is right, all at once. check says of each address why
// it is refused, or nil.
func CheckLinks(ctx context.Context, lines []Line, check func(ctx context.Context, urls []string) []error, page *lang.Printer) {
	var urls []string
	var of []*Line
	for i := range lines {
		if len(lines[i].Problems) > 0 {
			continue
		}
		for _, url := range lines[i].Asked.Links {
			urls, of = append(urls, url), append(of, &lines[i])
		}
	}
	for n, err := range check(ctx, urls) {
		if err != nil {
			of[n].Problems = append(of[n].Problems, urls[n]+" "+site.ViolationText(page, commerce.Violation{Message: err.Error()}))
		}
	}
}

// reader reads one line.
type reader struct {
	Reading
	header, cell map[string]string // by field
	problems     []string
}

func (r *reader) registration() commerce.Registration {
	asked := commerce.Registration{Name: r.cell["name"], Category: r.cell["category"], Campaign: r.cell["campaign"],
		CampaignID: r.cell["campaign_id"], Links: strings.Fields(r.cell["links"])}
	for i, link := range asked.Links {
		asked.Links[i] = site.WithScheme(link)
	}
	asked.CouponOnly = len(asked.Links) == 0
	if r.cell["coupon"] != "" {
		asked.Coupons = []commerce.CouponTerms{{Code: strings.ToUpper(r.cell["coupon"]), StartDate: r.day("coupon_start"),
			EndDate: r.day("coupon_end")}}
	} else {
		r.refuseWithout("import.needs_coupon", "coupon_start", "coupon_end")
	}
	if r.cell["var_fee"]+r.cell["fixed_fee"]+r.cell["monthly"]+r.cell["value"] != "" {
		asked.Costs = []commerce.CostTerms{r.cost()}
	} else {
		r.refuseWithout("import.needs_fee", "cost_start", "cost_end", "frequency", "owed_from")
	}
	asked.KnownOnly = len(asked.Links)+len(asked.Coupons)+len(asked.Costs) == 0
	r.details(&asked.Details)
	if len(r.problems) == 0 {
		r.refuse(asked.Check())
	}
	return asked
}

// problem adds what is wrong with a field's cell.
func (r *reader) problem(field, text string) {
	r.problems = append(r.problems, r.column(field)+" "+text)
}

// column names a field as the file does, else as the page does where a column is chosen.
func (r *reader) column(field string) string {
	if header := r.header[field]; header != "" {
		return header
	}
	return "“" + r.Page.T("import.field_"+field) + "”"
}

// typed says why a cell could not be read.
func (r *reader) typed(field string, err error) {
	if err != nil {
		r.problem(field, fmt.Sprintf("%q: %s", r.cell[field], site.TypedText(r.Page, err)))
	}
}

// refuse adds the violations of a registration.
func (r *reader) refuse(bad commerce.Violations) {
	for _, v := range bad.List {
		field := fieldOfPath(v.Field)
		if v.Code == commerce.CodeNoRate { // of all amounts: those that the line has
			field = r.firstOf("var_fee", "fixed_fee", "monthly", "value")
		}
		text := site.ViolationText(r.Page, v)
		if digits := len(r.cell[field]); field == "document" && (digits == 9 || digits == 10 || digits == 12 || digits == 13) {
			text += r.Page.T("import.lost_zero")
		}
		r.problem(field, text)
	}
}

// firstOf is the first of some fields whose cell has something.
func (r *reader) firstOf(fields ...string) string {
	if n := slices.IndexFunc(fields, func(field string) bool { return r.cell[field] != "" }); n > 0 {
		return fields[n]
	}
	return fields[0]
}

// fieldOfPath returns the field that a violation's path is about: coupons[0].cupom is coupon.
func fieldOfPath(path string) string {
	list, last := path, path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		list, last = path[:i], path[i+1:]
	}
	switch list, _, _ = strings.Cut(list, "["); {
	case list == "links":
		return "links"
	case last == "cupom", list == "coupons" && last == path:
		return "coupon"
	case list == "costs" && last == path:
		return "var_fee"
	case list == "coupons":
		return "coupon_" + strings.TrimSuffix(last, "_date")
	case list == "costs" && strings.HasSuffix(last, "_date"):
		return "cost_" + strings.TrimSuffix(last, "_date")
	case list == "details.pix":
		return "pix_" + last
	}
	last, _, _ = strings.Cut(last, "[")
	return last
}

// refuseWithout refuses cells that say something about what the line does not have.
func (r *reader) refuseWithout(key string, fields ...string) {
	for _, field := range fields {
		if r.cell[field] != "" {
			r.problem(field, r.Page.T(key))
		}
	}
}

// day reads a cell with a day; empty where there is none.
func (r *reader) day(field string) string {
	if r.cell[field] == "" {
		return ""
	}
	day, err := r.File.ReadDay(r.cell[field])
	r.typed(field, err)
	return day
}

// yes are the words for yes and no, as fold.Name writes them.
var yes = map[string]bool{"yes": true, "true": true, "1": true, "sim": true, "s": true, "x": true,
	"": false, "no": false, "false": false, "0": false, "nao": false, "n": false}

// frequencies are how often an amount is owed, as people write it and fold.Name folds it.
var frequencies = func() map[string]string {
	known := map[string]string{}
	for frequency, words := range map[string]string{
		commerce.Specific: "uma vez, uma so vez, uma unica vez, unico, unica, pagamento unico, once, one time",
		commerce.Daily:    "por dia, ao dia, todo dia, dia, diario, diaria, diariamente, per day, every day, day",
		commerce.Weekly:   "por semana, toda semana, semana, semanal, semanalmente, per week, every week, week",
		commerce.Monthly:  "por mes, ao mes, todo mes, mes, mensal, mensalmente, per month, every month, month",
	} {
		known[frequency] = frequency
		for word := range strings.SplitSeq(words, ", ") {
			known[word] = frequency
		}
	}
	return known
}()

// cost reads the cells of an agreement.
func (r *reader) cost() (cost commerce.CostTerms) {
	cost = commerce.CostTerms{StartDate: r.day("cost_start"), EndDate: r.day("cost_end"), OwedFrom: r.day("owed_from"),
		CouponCost: r.yes("coupon_only"), CampaignCost: r.yes("campaign_only")}
	if cost.CampaignCost && r.cell["campaign_id"] == "" {
		r.problem("campaign_only", r.Page.T("import.needs_campaign", r.Page.T("import.field_campaign_id")))
	}
	if r.cell["cost_start"] == "" {
		cost.StartDate, cost.StartAssumed = r.Today, true
	}
	if r.cell["var_fee"] != "" {
		var err error
		cost.VarFee, err = r.File.ReadPercent(r.cell["var_fee"])
		r.typed("var_fee", err)
	}
	cost.FixedFeeMinor = r.money("fixed_fee")
	cost.ValueMinor, cost.Frequency = r.periodic()
	return cost
}

// periodic reads the amount that is owed of each period, and how often: from a column for months, or one with a frequency.
func (r *reader) periodic() (minor int64, frequency string) {
	minor, each := r.money("value"), r.money("monthly")
	frequency, known := frequencies[fold.Name(r.cell["frequency"])]
	written := r.cell["frequency"] != ""
	switch {
	case minor != 0 && each != 0:
		r.problem("monthly", r.Page.T("import.two_amounts", r.column("value")))
	case minor+each == 0:
		return 0, ""
	case written && !known:
		r.problem("frequency", fmt.Sprintf("%q: %s", r.cell["frequency"], r.Page.T("import.frequencies")))
	case each != 0 && written && frequency != commerce.Monthly:
		r.problem("frequency", fmt.Sprintf("%q: %s", r.cell["frequency"], r.Page.T("import.is_monthly", r.column("monthly"))))
	case each != 0:
		frequency = commerce.Monthly
	case !written:
		r.problem("value", r.Page.T("import.needs_frequency", r.Page.T("import.field_monthly"), r.Page.T("import.field_frequency")))
	}
	return minor + each, frequency
}

// yes reads a cell with yes or no; an empty one is no.
func (r *reader) yes(field string) bool {
	is, known := yes[fold.Name(r.cell[field])]
	if !known {
		r.problem(field, fmt.Sprintf("%q: %s", r.cell[field], r.Page.T("import.yes_no")))
	}
	return is
}

// money reads a cell with an amount in BRL; 0 where there is none.
func (r *reader) money(field string) int64 {
	if r.cell[field] == "" {
		return 0
	}
	minor, err := r.File.ReadMoney(r.cell[field], commerce.BRL)
	r.typed(field, err)
	return minor
}

// pixTypes are the types of Pix keys, as people write them and fold.Name folds it.
var pixTypes = map[string]string{"telefone": commerce.PixPhone, "celular": commerce.PixPhone, "e-mail": commerce.PixEmail,
	"aleatoria": commerce.PixRandom, "chave aleatoria": commerce.PixRandom, "evp": commerce.PixRandom}

// details reads what is known of the person. An empty cell changes nothing.
func (r *reader) details(d *commerce.DetailsChange) {
	set := func(field string, to *wire.Optional[string]) {
		if r.cell[field] != "" {
			*to = wire.Some(r.cell[field])
		}
	}
	set("email", &d.Email)
	set("phone", &d.Phone)
	set("document", &d.Document)
	set("notes", &d.Notes)
	if r.cell["handles"] != "" {
		d.Handles = wire.Some(strings.Fields(r.cell["handles"]))
	}
	if kind := fold.Name(r.cell["pix_type"]); kind+r.cell["pix_key"] != "" {
		if known, ok := pixTypes[kind]; ok {
			kind = known
		}
		d.Pix = wire.Some(commerce.Pix{Type: kind, Key: r.cell["pix_key"]})
	}
	r.refuse(d.Check(func(raw string) string { return identity.NormalPhone(raw, r.Country) }))
	if r.Hasher != nil && len(r.problems) == 0 {
		d.Keys = facts.PartnerKeys(*d, r.Hasher.Company(r.Company, r.Country))
	}
}
