package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/statementlink"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	statementPath = "/dashboard/statement" // statementlink.Path begins with it, and has a token after it

	balancesShown     = 500
	reviewsPerPage    = 25
	statementsPerPage = 50
	// statementLinkLife is how long a link lets an influencer see their own statement.
	statementLinkLife = 90 * 24 * time.Hour
)

// payoutsPage is what templates/payouts.html shows.
type payoutsPage struct {
	head
	Today     string
	Form      *form
	List      []balanceRow
	Hidden    bool  // there are more
	Waiting   bool  // some wait for a decision
	Waiting64 int64 // how many, up to a page
	Reviews   string
	Overview  []tile
}

type balanceRow struct {
	Influencer, Href                      string
	Expected, Review, Held, Payable, Paid string
}

// reviewsPage is what templates/reviews.html shows.
type reviewsPage struct {
	head
	List        []reviewRow
	More, First string
	Clean       string // path of this page
	Again       bool   // an order was decided about and is still here: the page asks for itself again
}

type reviewRow struct {
	ID, Name, Href, When, Total string
	InfluencerID, Influencer    string
	Commission, Reason          string
	Touches                     []touchLine
	Decided                     bool // just now: it goes from here in a moment
}

// statementsPage is what templates/statements.html shows.
type statementsPage struct {
	head
	List        []statementRow
	More, First string
	Today       string
	Closing     bool   // some are being closed: the page asks for itself again
	Clean       string // path of this page
	Again       string // that path, where the page is to ask for it by itself
	Payouts     string // path of the page on which a period is closed
	Link        string // a signed link that was made just now
	LinkOf      string
	Alert       string
	Blocked     bool // nothing is paid until an owner confirms
}

type statementRow struct {
	ID, Influencer, Period, Opening, Total, State, StateText, Paid string
	Href                                                           string // of its page; empty: it is being closed
	Lines                                                          int64
	Payable, Closed                                                bool
}

func (s *moneyPages) payoutRoutes() []route {
	return []route{
		{pattern: "GET " + payoutsPath, handle: s.payouts},
		{pattern: "GET " + reviewsPath, handle: s.reviews},
		{pattern: "GET " + statementsPath, handle: s.statements},
		{pattern: "GET " + statementPath, handle: s.ofStore(s.linked)},
		{pattern: "GET " + statementPath + csvEnding, handle: s.inTurn(s.ofStore(s.linkedCSV))},
		{pattern: "POST " + statementsPath, owner: true, handle: s.closeStatements},
		{pattern: "POST " + statementsPath + "/pay", owner: true, handle: s.payStatement},
		{pattern: "POST " + statementsPath + "/confirm", owner: true, handle: s.confirmRestored, always: true},
		{pattern: "POST " + statementsPath + "/link", owner: true, handle: s.linkStatement},
	}
}

func (s *moneyPages) payouts(w http.ResponseWriter, r *http.Request, v pageRequest) {
	s.showPayouts(w, r, v, http.StatusOK, s.closingForm(v, nil))
}

// closingForm asks up to which day statements are made.
func (s *moneyPages) closingForm(v pageRequest, typed map[string][]string) *form {
	f := newForm(v.lang, "payouts", typed)
	f.add(field{Name: "end_date", Type: "date", Required: true, Value: s.dayOf(v)})
	return f
}

func (s *moneyPages) showPayouts(w http.ResponseWriter, r *http.Request, v pageRequest, status int, f *form) {
	v.here = storePath(payoutsPath, v.current.CompanyID)
	page := payoutsPage{head: v.head(v.lang.T("payouts.title"), "payouts"), Form: f, Today: s.dayOf(v),
		Reviews: storePath(reviewsPath, v.current.CompanyID)}
	list, err := s.db.Balances(r.Context(), v.current.CompanyID, page.Today, commerce.BalanceCursor{}, balancesShown+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page.File = storePath(payoutsPath+csvEnding, v.current.CompanyID)
	if page.Hidden = len(list) > balancesShown; page.Hidden {
		list = list[:balancesShown]
	}
	waiting, err := s.db.Reviews(r.Context(), v.current.CompanyID, commerce.Cursor{}, reviewsPerPage+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page.Waiting, page.Waiting64 = len(waiting) > 0, int64(len(waiting))
	total := map[string]sums{"expected": {}, "review": {}, "held": {}, "payable": {}, "paid": {}}
	for _, b := range list {
		sum := func(kind string, minor decimal.Decimal) string {
			total[kind].add(b.Currency, minor)
			if minor.IsZero() {
				return "–"
			}
			return v.lang.Sum(minor, b.Currency)
		}
		page.List = append(page.List, balanceRow{
			Influencer: b.Influencer, Href: storePath(influencerPath, v.current.CompanyID, "id", b.InfluencerID),
			Expected: sum("expected", b.ExpectedMinor), Review: sum("review", b.ReviewMinor), Held: sum("held", b.HeldMinor),
			Payable: sum("payable", b.PayableMinor), Paid: sum("paid", b.PaidMinor),
		})
	}
	for _, kind := range []string{"expected", "review", "held", "payable", "paid"} {
		lines := total[kind].lines(v.lang, v.current.Currency)
		page.Overview = append(page.Overview,
			tile{ID: kind, Label: v.lang.T("payouts." + kind), Lines: lines, Note: v.lang.T("payouts." + kind + "_note"), Size: sizeOf(lines...)})
	}
	s.render(w, r, status, "payouts.html", page)
}

func (s *moneyPages) reviews(w http.ResponseWriter, r *http.Request, v pageRequest) {
	before, err := commerce.ParseCursor(r.URL.Query().Get("before"))
	if err != nil {
		s.problemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	list, err := s.db.Reviews(r.Context(), v.current.CompanyID, before, reviewsPerPage+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page := reviewsPage{head: v.head(v.lang.T("reviews.title"), "reviews")}
	page.File, page.Clean = storePath(reviewsPath+csvEnding, v.current.CompanyID), storePath(reviewsPath, v.current.CompanyID)
	if !before.IsZero() {
		page.First = storePath(reviewsPath, v.current.CompanyID)
	}
	if len(list) > reviewsPerPage {
		list = list[:reviewsPerPage]
		last := list[len(list)-1].Sale
		page.More = storePath(reviewsPath, v.current.CompanyID, "before", commerce.Cursor{At: last.CreatedAt, OrderID: last.OrderID}.String())
	}
	zone := zoneOf(v.current.Timezone)
	for _, review := range list {
		row := s.viewReview(v, review, zone)
		row.Decided = row.ID == r.URL.Query().Get("decided")
		page.Again = page.Again || row.Decided
		page.List = append(page.List, row)
	}
	s.render(w, r, http.StatusOK, "reviews.html", page)
}

func (s *moneyPages) viewReview(v pageRequest, review commerce.Review, zone *time.Location) reviewRow {
	l, sale := v.lang, review.Sale
	row := reviewRow{ID: sale.OrderID, Name: orderName(sale), Href: orderPath(v.current.CompanyID, sale.OrderID),
		When:  l.Time(sale.CreatedAt.In(zone)),
		Total: l.Money(sale.TotalMinor, sale.Currency), InfluencerID: review.InfluencerID, Influencer: review.Influencer,
		Reason: sentence(textOf(l, "reason."+review.Reason, review.Reason))}
	owed := commerce.Sale{Currency: sale.Currency, CommissionMinor: review.CommissionMinor, FixedBRLMinor: review.FixedBRLMinor}
	var parts []string
	for _, a := range owed.Commissions() {
		parts = append(parts, l.Money(a.Minor, a.Currency))
	}
	row.Commission = and(l, parts)
	var x facts.Explanation
	if len(review.Explanation) == 0 || json.Unmarshal(review.Explanation, &x) != nil {
		return row // the order's own page tells what is missing
	}
	for _, t := range x.Touches {
		if t.InfluencerID == review.InfluencerID && len(row.Touches) < 5 {
			row.Touches = append(row.Touches, viewTouch(l, t, zone))
		}
	}
	return row
}

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

func (s *moneyPages) statements(w http.ResponseWriter, r *http.Request, v pageRequest) {
	s.showStatements(w, r, v, http.StatusOK, statementsPage{})
}

func (s *moneyPages) showStatements(w http.ResponseWriter, r *http.Request, v pageRequest, status int, page statementsPage) {
	var after commerce.StatementCursor
	if text := r.URL.Query().Get("after"); text != "" && r.Method == http.MethodGet {
		var err error
		if after, err = commerce.ParseStatementCursor(text); err != nil {
			s.problemOf(w, r, http.StatusBadRequest, "bad_address")
			return
		}
		page.First = storePath(statementsPath, v.current.CompanyID)
	}
	if r.Method != http.MethodGet {
		v.here = storePath(statementsPath, v.current.CompanyID)
	}
	page.head, page.Today = v.head(v.lang.T("statements.title"), "statements"), s.dayOf(v)
	page.Blocked = !v.current.RestoredAt.IsZero()
	page.Payouts, page.Clean = storePath(payoutsPath, v.current.CompanyID), storePath(statementsPath, v.current.CompanyID)
	page.File = storePath(statementsPath+csvEnding, v.current.CompanyID)
	list, err := s.db.Statements(r.Context(), v.current.CompanyID, commerce.StatementFilter{}, after, statementsPerPage+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	if len(list) > statementsPerPage {
		list = list[:statementsPerPage]
		page.More = storePath(statementsPath, v.current.CompanyID, "after", list[len(list)-1].Cursor().String())
	}
	zone := zoneOf(v.current.Timezone)
	for _, st := range list {
		row := statementRow{ID: st.StatementID, Influencer: st.Influencer, Period: v.lang.Period(st.StartDate, st.EndDate),
			Opening: v.lang.Sum(st.OpeningMinor, st.Currency),
			Total:   v.lang.Sum(st.TotalMinor, st.Currency), Lines: st.Lines, Closed: st.State != commerce.StatementClosing,
			Payable: st.State == commerce.StatementClosed && !st.Carried && !page.Blocked}
		if !row.Closed { // its amounts are not known yet
			row.Opening, row.Total = "–", "–"
		} else {
			row.Href = storePath(statementPath, v.current.CompanyID, "id", st.StatementID)
		}
		row.State, row.StateText = map[string]string{commerce.StatementClosing: "pending", commerce.StatementClosed: "ahead",
			commerce.StatementPaid: "approved"}[st.State], v.lang.T("statements.state_"+st.State)
		if st.Carried {
			row.StateText = v.lang.T("statements.carried")
		}
		if !st.PaidAt.IsZero() {
			row.Paid = v.lang.T("statements.paid_at", v.lang.Date(st.PaidAt.In(zone)), st.Reference)
		}
		page.Closing = page.Closing || st.State == commerce.StatementClosing
		page.List = append(page.List, row)
	}
	if page.Closing && page.Link == "" && page.Alert == "" && page.First == "" { // else there is something to read first
		page.Again = page.Clean
	}
	s.render(w, r, status, "statements.html", page)
}

// closeStatements asks for a statement of each influencer and currency.
func (s *moneyPages) closeStatements(w http.ResponseWriter, r *http.Request, v pageRequest) {
	f := s.closingForm(v, r.PostForm)
	asked := commerce.Closing{EndDate: r.PostForm.Get("end_date")}
	f.refuse(asked.Check(), nil)
	if !f.Failed() {
		_, err := s.db.AskStatements(r.Context(), s.author(v), asked, s.Random)
		switch {
		case errors.Is(err, commerce.ErrFutureDay):
			f.fail("end_date", v.lang.T("payouts.future"))
		case errors.Is(err, commerce.ErrTooManyStatements):
			f.fail("end_date", v.lang.T("payouts.too_many"))
		case err != nil:
			s.unavailable(w, r, err)
			return
		}
	}
	if f.Failed() {
		s.showPayouts(w, r, v, http.StatusUnprocessableEntity, f)
		return
	}
	done(w, r, storePath(statementsPath, v.current.CompanyID), "statements_asked")
}

// payStatement records that a statement was paid.
func (s *moneyPages) payStatement(w http.ResponseWriter, r *http.Request, v pageRequest) {
	zone := zoneOf(v.current.Timezone)
	day, dayErr := commerce.ParseDay(r.PostForm.Get("paid_on"), zone)
	payment := commerce.StatementPayment{StatementID: strings.ToLower(r.PostForm.Get("statement")), PaidAt: day.UTC(),
		Reference: strings.TrimSpace(r.PostForm.Get("reference"))}
	fail := func(status int, key string) {
		s.showStatements(w, r, v, status, statementsPage{Alert: v.lang.T("statements." + key)})
	}
	if !uuidtext.Is(payment.StatementID) {
		s.problemOf(w, r, http.StatusNotFound, "no_statement")
		return
	}
	if bad := payment.Check(s.Now()); dayErr != nil || bad.Any() {
		fail(http.StatusUnprocessableEntity, "bad_payment")
		return
	}
	err := s.db.PayStatement(r.Context(), s.author(v), payment)
	switch {
	case errors.Is(err, commerce.ErrNotClosed):
		fail(http.StatusConflict, "not_closed")
	case errors.Is(err, commerce.ErrCarried):
		fail(http.StatusConflict, "is_carried")
	case errors.Is(err, commerce.ErrPaidOtherwise):
		fail(http.StatusConflict, "paid_otherwise")
	case errors.Is(err, commerce.ErrRestored):
		fail(http.StatusConflict, "blocked")
	case err != nil:
		s.notFoundOr(w, r, err, "no_statement")
	default:
		done(w, r, storePath(statementsPath, v.current.CompanyID), "statement_paid")
	}
}

// confirmRestored lets the store pay again after its database was restored.
func (s *moneyPages) confirmRestored(w http.ResponseWriter, r *http.Request, v pageRequest) {
	if _, err := s.db.ConfirmRestored(r.Context(), s.author(v)); err != nil {
		s.unavailable(w, r, err)
		return
	}
	done(w, r, storePath(statementsPath, v.current.CompanyID), "restored_confirmed")
}

// linkStatement makes a signed link that lets the influencer see the statement.
func (s *moneyPages) linkStatement(w http.ResponseWriter, r *http.Request, v pageRequest) {
	id := strings.ToLower(r.PostForm.Get("statement"))
	if !uuidtext.Is(id) {
		s.problemOf(w, r, http.StatusNotFound, "no_statement")
		return
	}
	statement, err := s.db.Statement(r.Context(), v.current.CompanyID, id)
	var number int64
	if err == nil {
		number, err = s.db.LinkNumber(r.Context(), s.author(v), id, false)
	}
	var link string
	if err == nil {
		link, err = s.StatementLink(r, statementlink.Link{CompanyID: v.current.CompanyID, StatementID: id, InfluencerID: statement.InfluencerID,
			Number: number, Expires: s.Now().Add(statementLinkLife)})
	}
	if err != nil {
		s.notFoundOr(w, r, err, "no_statement")
		return
	}
	s.showStatements(w, r, v, http.StatusOK, statementsPage{LinkOf: statement.Influencer, Link: link})
}

// StatementLink returns the address of a statement's page, which works without a log-in, as
// browsers reach it.
func (s *moneyPages) StatementLink(r *http.Request, l statementlink.Link) (url string, err error) {
	token, err := s.links.Token(l)
	return s.originFor(r) + statementlink.Path + token, err
}
