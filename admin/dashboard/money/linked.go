package money

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// linesPerPage bounds the orders of one page of a statement, and how many are read at
// once for its CSV.
const linesPerPage = 500

// A statement is read linkBurst times by its links at once, then once every linkEvery:
// whoever has a link is not logged in, and a CSV reads the whole statement.
const (
	linkBurst = 60
	linkEvery = time.Second
)

// linkedPage is what templates/linked.html shows: a statement to its influencer, who has
// a link to it and no log-in, and to the store.
type linkedPage struct {
	Influencer          string
	Parties             commerce.Parties // as whoever looks may see them
	Issued              string           // the day on which it was closed; empty: it is being closed
	Back                string           // path of the store's statements; empty: the page is the influencer's
	Period              string
	Number              string
	Closed              bool // false: it is being closed
	State               string
	StateIs             string // closed | carried | paid: a class
	Reference           string // of the payment
	Opening, Sum, Total string
	Carry               bool // an amount was carried here from the statement before
	Withheld            []site.Said
	Net, Invoice        string // Net is empty where nothing is withheld
	Lines               []linkedLine
	Orders              int64
	More, First         string // paths of the next page and of the first
	CSV                 string
}

type linkedLine struct {
	Order, Day, Amount string
	Evidence           string // why the order is the influencer's; empty: it is not any more
	Why                string // it was taken back; empty: it was not
	Value, Base, Rate  string // of the order, and of the agreement; empty: not known
	Href               string // of the order; empty: it is not shown
	Negative           bool
}

// statementView is whose statement is shown, and where.
type statementView struct {
	company   string
	statement commerce.Statement
	parties   commerce.Parties            // as whoever looks may see them
	zone      *time.Location              // the store's
	path, csv string                      // of the page and of its file
	back      string                      // of the store's statements; empty: the influencer looks
	order     func(orderID string) string // path of an order's page; nil: the influencer looks
}

// after is the path of the page that begins after an order.
func (v statementView) after(orderID string) string {
	return site.WithValue(v.path, "after", orderID)
}

// linkedPolicy is stricter than that of the other pages: it has no script.
const linkedPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// withLink answers a request for a linked statement: by serve, or with why the link shows
// nothing. A refused link says no more than that, so that nobody learns which there are.
func (s *Pages) withLink(serve func(w http.ResponseWriter, r *http.Request, v statementView)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// No search engine keeps the page, and no other site learns its address.
		w.Header().Set("X-Robots-Tag", "noindex, nofollow, noarchive")
		w.Header().Set("Referrer-Policy", "no-referrer")
		l, err := s.links.Read(r.PathValue("token"), s.Now())
		if errors.Is(err, statementlink.ErrExpired) {
			s.Problem(w, r, http.StatusGone, "link_expired")
			return
		}
		if err != nil {
			s.Problem(w, r, http.StatusNotFound, "link_refused")
			return
		}
		if got := s.linkReads.Take(l.StatementID, s.Now()); !got.OK {
			w.Header().Set("Retry-After", strconv.Itoa(site.Seconds(got.Wait)))
			s.Problem(w, r, http.StatusTooManyRequests, "link_too_often")
			return
		}
		statement, err := s.db.LinkedStatement(r.Context(), l.CompanyID, l.StatementID, l.InfluencerID, l.Number)
		if errors.Is(err, commerce.ErrNotFound) { // its links were revoked
			s.Problem(w, r, http.StatusNotFound, "link_refused")
			return
		}
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		path := statementlink.Path + r.PathValue("token")
		v := statementView{company: l.CompanyID, statement: statement, path: path, csv: path + "/csv"}
		if err := s.printed(r.Context(), &v, false); err != nil {
			s.Unavailable(w, r, err)
			return
		}
		serve(w, r, v)
	}
}

// printed adds the parties of a statement to its view, and the store's time zone. whole: documents and keys are not masked.
func (s *Pages) printed(ctx context.Context, v *statementView, whole bool) error {
	company, err := s.db.Company(ctx, v.company)
	if err != nil {
		return err
	}
	v.zone = site.ZoneOf(company.Timezone)
	parties, err := s.db.Parties(ctx, v.company, []string{v.statement.StatementID})
	if err != nil {
		return err
	}
	var closed bool
	if v.parties, closed = parties[v.statement.StatementID]; !closed { // it is being closed
		v.parties.Store.Name, v.parties.Influencer.Name = company.Name, v.statement.Influencer
	}
	if !whole {
		v.parties = v.parties.Masked()
	}
	v.parties.Store.Document = commerce.ShownDocument(v.parties.Store.Document)
	v.parties.Influencer.Document = commerce.ShownDocument(v.parties.Influencer.Document)
	return nil
}

// askedStatement reads the statement whose id the address has.
func (s *Pages) askedStatement(w http.ResponseWriter, r *http.Request, v site.Request) (st commerce.Statement, ok bool) {
	id, err := strings.ToLower(r.URL.Query().Get("id")), error(commerce.ErrNotFound)
	if uuidtext.Is(id) {
		st, err = s.db.Statement(r.Context(), v.Current.CompanyID, id)
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
	}
	return st, err == nil
}

// ofStore answers a member's request for a statement: the influencer's page, with links to
// the orders.
func (s *Pages) ofStore(serve func(w http.ResponseWriter, r *http.Request, v statementView)) func(http.ResponseWriter,
	*http.Request, site.Request) {
	return func(w http.ResponseWriter, r *http.Request, v site.Request) {
		statement, ok := s.askedStatement(w, r, v)
		if !ok {
			return
		}
		id := statement.StatementID
		view := statementView{
			company: v.Current.CompanyID, statement: statement,
			path: v.Path(site.StatementPath, "id", id),
			csv:  v.Path(site.StatementPath+site.CSVEnding, "id", id),
			back: v.Path(site.StatementsPath), order: func(orderID string) string {
				return site.OrderPath(v.Current.CompanyID, orderID)
			},
		}
		if err := s.printed(r.Context(), &view, v.Current.Role == account.RoleOwner); err != nil {
			s.Unavailable(w, r, err)
			return
		}
		serve(w, r, view)
	}
}

// inTurn answers a member's request for a statement's file once it is their turn. Influencers
// are bounded by their link (linkReads).
func (s *Pages) inTurn(serve func(http.ResponseWriter, *http.Request, site.Request)) func(http.ResponseWriter,
	*http.Request, site.Request) {
	return func(w http.ResponseWriter, r *http.Request, v site.Request) {
		end, err := s.Streaming.Take(r.Context(), v.Access.PersonID)
		if err != nil {
			s.Refuse(w, r, err)
			return
		}
		defer end()
		serve(w, r, v)
	}
}

// linked is the page of a statement.
func (s *Pages) linked(w http.ResponseWriter, r *http.Request, v statementView) {
	printer, statement := s.LangOf(r), v.statement
	page := linkedPage{Influencer: v.parties.Influencer.Name, Parties: v.parties, Number: statement.NumberText(),
		Period: printer.Period(statement.StartDate, statement.EndDate), CSV: v.csv, Back: v.back,
		Closed: statement.State != commerce.StatementClosing, Orders: statement.Lines}
	if page.Closed {
		page.Issued = printer.Date(statement.ClosedAt.In(v.zone))
		page.amounts(printer, statement)
		after := r.URL.Query().Get("after")
		if after != "" && !commerce.IsLedgerAccount(after) {
			s.Problem(w, r, http.StatusBadRequest, "bad_address")
			return
		}
		lines, err := s.db.StatementLines(r.Context(), v.company, statement.StatementID, after, linesPerPage+1)
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		if len(lines) > linesPerPage {
			lines = lines[:linesPerPage]
			page.More = v.after(lines[linesPerPage-1].OrderID)
		}
		if after != "" {
			page.First = v.path
		}
		for _, line := range lines {
			page.Lines = append(page.Lines, v.line(printer, &line))
		}
	}
	w.Header().Set("Content-Security-Policy", linkedPolicy)
	s.Render(w, r, http.StatusOK, "linked.html", page)
}

// line is a line of the statement in words.
func (v statementView) line(l *lang.Printer, line *commerce.StatementLine) linkedLine {
	known := func(sum *commerce.Sum) string {
		if sum == nil {
			return ""
		}
		return l.Sum(sum.Minor, sum.Currency)
	}
	currency := v.statement.Currency
	row := linkedLine{Order: lineName(l, line), Day: l.Day(line.Day), Amount: l.Sum(line.AmountMinor, currency),
		Negative: line.AmountMinor.IsNegative(), Value: known(line.Value(currency)), Base: known(line.Base(currency)), Rate: rateWords(l, line)}
	if line.Evidence != "" {
		row.Evidence = l.T("linked.by_"+string(line.Evidence), scrub.Text(line.Coupon))
	}
	if row.Negative {
		row.Why = takenBack(l, line.Cause)
	}
	if v.order != nil && !commerce.IsAccount(line.OrderID) {
		row.Href = v.order(line.OrderID)
	}
	return row
}

// rateWords are the agreement by which a line has its amount.
func rateWords(l *lang.Printer, line *commerce.StatementLine) string {
	var parts []string
	for _, t := range line.Rates() {
		if !t.VarFee.IsZero() {
			parts = append(parts, l.Number(t.VarFee)+"%")
		}
		if t.FixedBRLMinor != 0 {
			parts = append(parts, l.T("cost.per_order", l.Money(t.FixedBRLMinor, commerce.BRL)))
		}
	}
	return strings.Join(parts, " + ")
}

// lineName names what a line is of: the order, the agreement, or the manual entry with its reason.
func lineName(l *lang.Printer, line *commerce.StatementLine) string {
	switch of, _ := line.Account(); of {
	case commerce.OfOrder:
		return scrub.Text(line.Name())
	case commerce.OfAgreement:
		return l.T("linked.agreement")
	}
	return l.T("linked.entry", l.T("entry."+line.Kind), scrub.Text(line.Reason))
}

// amounts writes what a closed statement has, and what becomes of it.
func (p *linkedPage) amounts(l *lang.Printer, s commerce.Statement) {
	sum := func(minor decimal.Decimal) string { return l.Sum(minor, s.Currency) }
	p.Opening, p.Sum, p.Total = sum(s.OpeningMinor), sum(s.TotalMinor.Sub(s.OpeningMinor)), sum(s.TotalMinor)
	p.Carry, p.Invoice = !s.OpeningMinor.IsZero(), s.Invoice
	for _, w := range s.Withheld {
		p.Withheld = append(p.Withheld, site.Said{Label: w.Name, Text: sum(decimal.NewFromInt(-w.AmountMinor))})
		p.Net = sum(s.NetMinor())
	}
	switch {
	case s.State == commerce.StatementPaid:
		p.StateIs, p.State, p.Reference = "paid", l.T("linked.paid", l.Date(s.PaidAt)), s.Reference
	case s.Carried:
		p.StateIs, p.State = "carried", l.T("linked.carried")
	default:
		p.StateIs, p.State = "closed", l.T("linked.due")
	}
}

// takenBack says why a commission was taken back, in words for the influencer.
func takenBack(l *lang.Printer, text string) string {
	cause, err := facts.ParseCause(text)
	if err != nil {
		return ""
	}
	switch cause.Kind {
	case facts.CauseOrder:
		return l.T("linked.why_order")
	case facts.CauseEvent, facts.CauseCopy:
		return l.T("linked.why_event")
	case facts.CauseRule:
		return l.T("linked.why_rule", ruleWords(l, cause.Rule))
	case facts.CauseEvidence:
		return l.T("linked.why_evidence")
	}
	return ""
}

// linkedHeader are the columns of a statement's file. Each row says of which statement it is.
var linkedHeader = []string{"number", "issued_on", "store", "store_document", "influencer", "document", "kind", "order", "day",
	"order_value", "base", "rate", "evidence", "coupon", "amount", "currency", "order_id"}

// linkedCSV is a statement as a table: the amount that was carried to it, each order, and what is withheld. The amounts sum to
// what is paid.
func (s *Pages) linkedCSV(w http.ResponseWriter, r *http.Request, v statementView) {
	statement := v.statement
	if statement.State == commerce.StatementClosing {
		s.Problem(w, r, http.StatusNotFound, "link_closing")
		return
	}
	first, err := s.db.StatementLines(r.Context(), v.company, statement.StatementID, "", linesPerPage)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	w.Header().Set("Content-Disposition", `attachment; filename="statement-`+statement.NumberText()+`.csv"`)
	out := site.NewLocalWriter(w, s.LangOf(r), v.zone, linkedHeader)
	whose := []string{statement.NumberText(), statement.ClosedAt.In(v.zone).Format(time.DateOnly), v.parties.Store.Name,
		v.parties.Store.Document, v.parties.Influencer.Name, v.parties.Influencer.Document}
	for i, text := range whose {
		whose[i] = reports.CSVText(text)
	}
	row := func(cells ...string) { out.Write(append(whose[:len(whose):len(whose)], cells...)) }
	if !statement.OpeningMinor.IsZero() {
		row("opening", "", "", "", "", "", "", "", commerce.FormatSum(statement.OpeningMinor, statement.Currency), statement.Currency, "")
	}
	err = s.eachLine(r.Context(), v, first, func(line commerce.StatementLine) { row(lineCells(&line, statement.Currency)...) })
	for _, w := range statement.Withheld {
		row("withheld", reports.CSVText(w.Name), "", "", "", "", "", "", commerce.FormatMinor(-w.AmountMinor, statement.Currency),
			statement.Currency, "")
	}
	if out.Flush(); err != nil || out.Error() != nil {
		panic(http.ErrAbortHandler) // the table is not whole: the connection ends in the middle
	}
}

// lineCells is a line of a statement's file, without of which statement it is.
func lineCells(line *commerce.StatementLine, currency string) []string {
	known := func(sum *commerce.Sum) string {
		if sum == nil {
			return ""
		}
		return sum.String()
	}
	of, orderID := line.Account()
	kind, name := of, line.Name()
	switch of {
	case commerce.OfEntry:
		kind, name, orderID = line.Kind, line.Reason, ""
	case commerce.OfAgreement:
		name, orderID = "", ""
	}
	return []string{kind, reports.CSVText(scrub.Text(name)), line.Day, known(line.Value(currency)), known(line.Base(currency)),
		line.RateText(), string(line.Evidence), reports.CSVText(scrub.Text(line.Coupon)), commerce.FormatSum(line.AmountMinor, currency),
		currency, reports.CSVText(scrub.Text(orderID))}
}

// eachLine calls f with each line of a statement, of which the first ones are read.
func (s *Pages) eachLine(ctx context.Context, v statementView, lines []commerce.StatementLine,
	f func(commerce.StatementLine)) (err error) {
	for {
		for _, line := range lines {
			f(line)
		}
		if len(lines) < linesPerPage {
			return nil
		}
		if lines, err = s.db.StatementLines(ctx, v.company, v.statement.StatementID, lines[len(lines)-1].OrderID, linesPerPage); err != nil {
			return err
		}
	}
}
