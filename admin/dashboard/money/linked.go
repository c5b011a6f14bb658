package money

import (
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/statementlink"
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
	Store, Influencer   string
	Back                string // path of the store's statements; empty: the page is the influencer's
	Period              string
	Number              string
	Closed              bool // false: it is being closed
	State               string
	StateIs             string // closed | carried | paid: a class
	Reference           string // of the payment
	Opening, Sum, Total string
	Carry               bool // an amount was carried here from the statement before
	Lines               []linkedLine
	Orders              int64
	More, First         string // paths of the next page and of the first
	CSV                 string
}

type linkedLine struct {
	Order, Day, Amount string
	Why                string // it was taken back; empty: it was not
	Base               string // what a share of the order was computed on; empty: not known
	Href               string // of the order; empty: it is not shown
	Negative           bool
}

// statementView is whose statement is shown, and where.
type statementView struct {
	company   string
	statement commerce.Statement
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
		serve(w, r, statementView{company: l.CompanyID, statement: statement, path: path, csv: path + "/csv"})
	}
}

// ofStore answers a member's request for a statement: the influencer's page, with links to
// the orders.
func (s *Pages) ofStore(serve func(w http.ResponseWriter, r *http.Request, v statementView)) func(http.ResponseWriter,
	*http.Request, site.Request) {
	return func(w http.ResponseWriter, r *http.Request, v site.Request) {
		id, err := strings.ToLower(r.URL.Query().Get("id")), error(commerce.ErrNotFound)
		var statement commerce.Statement
		if uuidtext.Is(id) {
			statement, err = s.db.Statement(r.Context(), v.Current.CompanyID, id)
		}
		if err != nil {
			s.NotFoundOr(w, r, err, "no_statement")
			return
		}
		serve(w, r, statementView{
			company: v.Current.CompanyID, statement: statement,
			path: site.StorePath(statementPath, v.Current.CompanyID, "id", id),
			csv:  site.StorePath(statementPath+site.CSVEnding, v.Current.CompanyID, "id", id),
			back: site.StorePath(site.StatementsPath, v.Current.CompanyID), order: func(orderID string) string {
				return site.OrderPath(v.Current.CompanyID, orderID)
			},
		})
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
	page := linkedPage{Influencer: statement.Influencer, Number: statement.NumberText(), Period: printer.Period(statement.StartDate,
		statement.EndDate),
		CSV: v.csv, Back: v.back,
		Closed: statement.State != commerce.StatementClosing, Orders: statement.Lines}
	var err error
	if page.Store, err = s.db.CompanyName(r.Context(), v.company); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if page.Closed {
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
			row := linkedLine{Order: lineName(printer, &line), Day: printer.Day(line.Day),
				Amount: printer.Sum(line.AmountMinor, statement.Currency), Negative: line.AmountMinor.IsNegative()}
			if line.AmountMinor.IsNegative() {
				row.Why = takenBack(printer, line.Cause)
			}
			if base := line.Base(statement.Currency); base != nil {
				row.Base = printer.Sum(base.Minor, base.Currency)
			}
			if v.order != nil && !commerce.IsAccount(line.OrderID) {
				row.Href = v.order(line.OrderID)
			}
			page.Lines = append(page.Lines, row)
		}
	}
	w.Header().Set("Content-Security-Policy", linkedPolicy)
	s.Render(w, r, http.StatusOK, "linked.html", page)
}

// lineName names what a line is of: the order, the agreement, or the manual entry with its reason.
func lineName(l *lang.Printer, line *commerce.StatementLine) string {
	switch of, _ := line.Account(); of {
	case commerce.OfOrder:
		return scrub.Text(line.OrderID)
	case commerce.OfAgreement:
		return l.T("linked.agreement")
	}
	return l.T("linked.entry", l.T("entry."+line.Kind), scrub.Text(line.Reason))
}

// amounts writes what a closed statement has, and what becomes of it.
func (p *linkedPage) amounts(l *lang.Printer, s commerce.Statement) {
	sum := func(minor decimal.Decimal) string { return l.Sum(minor, s.Currency) }
	p.Opening, p.Sum, p.Total = sum(s.OpeningMinor), sum(s.TotalMinor.Sub(s.OpeningMinor)), sum(s.TotalMinor)
	p.Carry = !s.OpeningMinor.IsZero()
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

// linkedCSV is a statement as a table: the amount that was carried to it, then
// each order. The amounts sum to the total.
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
	out := csv.NewWriter(w)
	out.UseCRLF = true
	amount := func(minor decimal.Decimal) string { return commerce.FormatSum(minor, statement.Currency) }
	_ = out.Write([]string{"kind", "order", "day", "amount", "currency", "base"}) // an error is kept, for Error below
	if !statement.OpeningMinor.IsZero() {
		_ = out.Write([]string{"opening", "", "", amount(statement.OpeningMinor), statement.Currency, ""})
	}
	err = s.eachLine(r.Context(), v, first, func(line commerce.StatementLine) {
		base := ""
		if sum := line.Base(statement.Currency); sum != nil {
			base = sum.String()
		}
		kind, name := "order", line.OrderID
		switch of, _ := line.Account(); of {
		case commerce.OfEntry:
			kind, name = line.Kind, line.Reason
		case commerce.OfAgreement:
			kind, name = of, ""
		}
		_ = out.Write([]string{kind, reports.CSVText(scrub.Text(name)), line.Day, amount(line.AmountMinor), statement.Currency, base})
	})
	out.Flush()
	if err != nil || out.Error() != nil {
		panic(http.ErrAbortHandler) // the table is not whole: the connection ends in the middle
	}
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
