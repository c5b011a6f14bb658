package money

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

const (
	balancesShown     = 500
	reviewsPerPage    = 25
	statementsPerPage = 50
)

// payoutsPage is what templates/payouts.html shows.
type payoutsPage struct {
	site.Head
	Today     string
	Form      *site.Form
	List      []balanceRow
	Hidden    bool  // there are more
	Proposed  int64 // how many decisions wait for a second person
	Waiting   bool  // some wait for a decision
	Waiting64 int64 // how many, up to a page
	Reviews   string
	Payable   []site.Tile // what may be paid, part by part
	Overview  []site.Tile
}

// The sums of the page. The first ones are the parts of what may be paid: they add up to it.
var (
	payableParts = []string{"due", "open", "carried", "deducted"}
	otherSums    = []string{"held", "review", "expected", "paid", "withheld"}
)

// partOf is the part of an amount that is not due: what is below zero is deducted from what comes later.
func partOf(part string, minor decimal.Decimal) string {
	if minor.IsNegative() {
		return "deducted"
	}
	return part
}

type balanceRow struct {
	Influencer, Href                      string
	Expected, Review, Held, Payable, Paid string
}

// reviewsPage is what templates/reviews.html shows.
type reviewsPage struct {
	site.Head
	Proposals   []proposalRow // what waits for a second person
	Proposed    int64         // how many
	Rule        bool          // decisions need a second person
	RuleEnds    bool          // it is proposed to turn that off
	List        []reviewRow
	More, First string
	Clean       string // path of this page
	Again       bool   // an order was decided about and is still here: the page asks for itself again
}

type reviewRow struct {
	ID, Name, Href, When, Total string
	InfluencerID, Influencer    string
	Who                         string // path of the influencer's page
	Commission, Reason          string
	Touches                     []touchLine
	Decided                     bool   // just now: it goes from here in a moment
	Proposal                    string // path of what was proposed about it; empty: nothing was
}

// statementsPage is what templates/statements.html shows.
type statementsPage struct {
	site.Head
	List        []statementRow
	Name        string // a part of an influencer's name, as it was searched
	States      []site.Option
	Sum         string // how many there are, and what they sum to
	Narrowed    bool
	More, First string
	Today       string
	Closing     bool   // some are being closed: the page asks for itself again
	Clean       string // path of this page
	Again       string // that path, where the page is to ask for it by itself
	Payouts     string // path of the page on which a period is closed
	Pix         string // path of the page with the codes by which they are paid
	Link        string // a signed link that was made just now
	LinkOf      string
	Alert       string
	Blocked     bool // nothing is paid until an owner confirms
	kept        []string
}

// To is the address of a form of the page, which leads back to the same statements.
func (p statementsPage) To(form string) string {
	return site.StorePath(site.StatementsPath+"/"+form, p.Company, p.kept...)
}

type statementRow struct {
	ID, Influencer, Period, Total, State, StateText, Paid string
	Opening                                               string // what it has of the one before; empty: nothing
	Withheld                                              string // of which total what is withheld; empty: nothing
	Withhold                                              string // path of the page that enters it; empty: nothing can be entered
	Href                                                  string // of its page; empty: it is being closed
	Number                                                string
	Lines                                                 int64
	Payable, Closed, IsPaid                               bool
}

func (s *Pages) payoutRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.PayoutsPath, Handle: s.payouts},
		{Pattern: "GET " + site.ReviewsPath, Handle: s.reviews},
		{Pattern: "GET " + site.StatementsPath, Handle: s.statements},
		{Pattern: "GET " + site.StatementPath, Handle: s.ofStore(s.linked)},
		{Pattern: "GET " + site.StatementPath + site.CSVEnding, Handle: s.inTurn(s.ofStore(s.linkedCSV))},
		{Pattern: "POST " + site.StatementsPath, Owner: true, Pays: true, Handle: s.closeStatements},
		{Pattern: "GET " + pixPath, Owner: true, Pays: true, Handle: s.pix},
		{Pattern: "POST " + pixPath + "/confirm", Owner: true, Pays: true, Handle: s.confirmPix},
		{Pattern: "GET " + pixPath + ".svg", Owner: true, Pays: true, Handle: s.pixCode},
		{Pattern: "GET " + pixPath + site.CSVEnding, Owner: true, Pays: true,
			Handle: s.File("pix", []string{"number", "influencer", "document", "pix_type", "pix_key", "amount", "currency", "txid", "reason",
				"statement_id"}, s.pixFile)},
		{Pattern: "POST " + site.StatementsPath + "/closing", Owner: true, Pays: true, Handle: s.previewClosing},
		{Pattern: "POST " + site.StatementsPath + "/pay", Owner: true, Pays: true, Handle: s.payStatement},
		{Pattern: "POST " + site.StatementsPath + "/chosen", Owner: true, Pays: true, Handle: s.chosenStatements},
		{Pattern: "POST " + payChosenPath, Owner: true, Pays: true, Handle: s.payChosen},
		{Pattern: "GET " + withholdPath, Owner: true, Pays: true, Handle: s.withholdPage},
		{Pattern: "POST " + withholdPath, Owner: true, Pays: true, Handle: s.withhold},
		{Pattern: "POST " + site.StatementsPath + "/undo", Owner: true, Handle: s.undoPayment},
		{Pattern: "POST " + site.StatementsPath + "/confirm", Owner: true, Handle: s.confirmRestored, Always: true},
		{Pattern: "POST " + site.StatementsPath + "/link", Owner: true, Pays: true, Handle: s.linkStatement},
	}
}

func (s *Pages) payouts(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showPayouts(w, r, v, http.StatusOK, s.closingForm(v, nil))
}

// lastOfMonthBefore is the last day of the month before a day's, both YYYY-MM-DD.
func lastOfMonthBefore(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.AddDate(0, 0, -t.Day()).Format(time.DateOnly)
}

// closingForm asks up to which day statements are made: the month before is proposed.
func (s *Pages) closingForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "payouts", typed)
	f.Add(site.Field{Name: "end_date", Type: "date", Required: true, Value: lastOfMonthBefore(s.DayOf(v))})
	return f
}

func (s *Pages) showPayouts(w http.ResponseWriter, r *http.Request, v site.Request, status int, f *site.Form) {
	v.Here = v.Path(site.PayoutsPath)
	page := payoutsPage{Head: v.Head(v.Lang.T("payouts.title"), "payouts"), Form: f, Today: s.DayOf(v), Reviews: v.Path(site.ReviewsPath)}
	list, err := s.db.Balances(r.Context(), v.Current.CompanyID, page.Today, commerce.BalanceCursor{}, balancesShown+1)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.File = v.Path(site.PayoutsPath + site.CSVEnding)
	if page.Hidden = len(list) > balancesShown; page.Hidden {
		list = list[:balancesShown]
	}
	waiting, err := s.db.Reviews(r.Context(), v.Current.CompanyID, commerce.Cursor{}, reviewsPerPage+1)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Waiting, page.Waiting64 = len(waiting) > 0, int64(len(waiting))
	proposed, err := s.db.Proposals(r.Context(), s.Author(v))
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Proposed = int64(len(proposed))
	total := map[string]sums{}
	for _, kind := range slices.Concat(payableParts, otherSums, []string{"payable"}) {
		total[kind] = sums{}
	}
	for _, b := range list {
		sum := func(kind string, minor decimal.Decimal) string {
			total[kind].add(b.Currency, minor)
			if minor.IsZero() {
				return "–"
			}
			return v.Lang.Sum(minor, b.Currency)
		}
		sum("due", b.DueMinor)
		sum("withheld", b.WithheldMinor)
		sum(partOf("open", b.OpenMinor()), b.OpenMinor())
		sum(partOf("carried", b.CarriedMinor), b.CarriedMinor)
		page.List = append(page.List, balanceRow{
			Influencer: b.Influencer, Href: v.Path(site.InfluencerPath, "id", b.InfluencerID),
			Expected: sum("expected", b.ExpectedMinor), Review: sum("review", b.ReviewMinor), Held: sum("held", b.HeldMinor),
			Payable: sum("payable", b.PayableMinor), Paid: sum("paid", b.PaidMinor),
		})
	}
	tiles := func(kinds []string) (list []site.Tile) {
		for _, kind := range kinds {
			lines := total[kind].lines(v.Lang, v.Current.Currency)
			list = append(list, site.Tile{ID: kind, Label: v.Lang.T("payouts." + kind), Lines: lines,
				Note: v.Lang.T("payouts." + kind + "_note"), Size: site.SizeOf(lines...)})
		}
		return list
	}
	page.Payable, page.Overview = tiles(payableParts), tiles(otherSums)
	s.Render(w, r, status, "payouts.html", page)
}

func (s *Pages) reviews(w http.ResponseWriter, r *http.Request, v site.Request) {
	before, err := commerce.ParseCursor(r.URL.Query().Get("before"))
	if err != nil {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	list, err := s.db.Reviews(r.Context(), v.Current.CompanyID, before, reviewsPerPage+1)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := reviewsPage{Head: v.Head(v.Lang.T("reviews.title"), "reviews")}
	page.File = v.Path(site.ReviewsPath + site.CSVEnding)
	page.Clean = v.Path(site.ReviewsPath)
	if !before.IsZero() {
		page.First = v.Path(site.ReviewsPath)
	}
	if len(list) > reviewsPerPage {
		list = list[:reviewsPerPage]
		last := list[len(list)-1].Sale
		older := commerce.Cursor{At: last.CreatedAt, OrderID: last.OrderID}
		page.More = v.Path(site.ReviewsPath, "before", older.String())
	}
	ids := make([]string, len(list), len(list)+1)
	for i, review := range list {
		ids[i] = review.Sale.OrderID
	}
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, append(ids, v.Current.CompanyID)...); err == nil {
		err = s.waitingProposals(r, v, &page)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := v.Zone()
	for _, review := range list {
		row := s.viewReview(v, review, zone)
		for _, p := range page.Proposals {
			if p.ID == row.ID {
				row.Proposal = p.Href
			}
		}
		row.Decided = row.ID == r.URL.Query().Get("decided")
		page.Again = page.Again || row.Decided
		page.List = append(page.List, row)
	}
	s.Render(w, r, http.StatusOK, "reviews.html", page)
}

func (s *Pages) viewReview(v site.Request, review commerce.Review, zone *time.Location) reviewRow {
	l, sale := v.Lang, review.Sale
	row := reviewRow{ID: sale.OrderID, Name: site.OrderName(sale), Href: site.OrderPath(v.Current.CompanyID, sale.OrderID),
		When:  l.Time(sale.CreatedAt.In(zone)),
		Total: l.Money(sale.TotalMinor, sale.Currency), InfluencerID: review.InfluencerID, Influencer: review.Influencer,
		Who:    v.Path(site.InfluencerPath, "id", review.InfluencerID),
		Reason: sentence(site.TextOf(l, "reason."+review.Reason, review.Reason))}
	owed := commerce.Sale{Currency: sale.Currency, CommissionMinor: review.CommissionMinor, FixedBRLMinor: review.FixedBRLMinor}
	var parts []string
	for _, a := range owed.Commissions() {
		parts = append(parts, l.Money(a.Minor, a.Currency))
	}
	row.Commission = site.JoinAnd(l, parts)
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

func (s *Pages) statements(w http.ResponseWriter, r *http.Request, v site.Request) {
	var page statementsPage
	if made := s.TakeMade(w, r, v, site.StatementsPath, 2); made != nil {
		page.LinkOf, page.Link = made[0], made[1]
	}
	s.showStatements(w, r, v, http.StatusOK, page)
}

func (s *Pages) showStatements(w http.ResponseWriter, r *http.Request, v site.Request, status int, page statementsPage) {
	var after commerce.StatementCursor
	if text := r.URL.Query().Get("after"); text != "" && r.Method == http.MethodGet {
		var err error
		if after, err = commerce.ParseStatementCursor(text); err != nil {
			s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
			return
		}
		page.First = v.Path(site.StatementsPath)
	}
	page.kept = statementsKept(r.URL.Query())
	if r.Method != http.MethodGet {
		v.Here = statementsBack(r, v)
	}
	page.Head, page.Today = v.Head(v.Lang.T("statements.title"), "statements"), s.DayOf(v)
	page.Blocked = !v.Current.RestoredAt.IsZero()
	page.Pix = v.Path(pixPath)
	page.Payouts, page.Clean = v.Path(site.PayoutsPath), v.Path(site.StatementsPath)
	filter, narrow, ok := statementFilter(r.URL.Query())
	if !ok {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	page.Name, page.Narrowed = filter.Name, len(narrow) > 0
	page.States = statementOptions(v.Lang, r.URL.Query().Get("state"))
	page.File = v.Path(site.StatementsPath+site.CSVEnding, narrow...)
	if page.First != "" {
		page.First = v.Path(site.StatementsPath, narrow...)
	}
	totals, err := s.db.StatementTotals(r.Context(), v.Current.CompanyID, filter)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Sum = statementSum(v.Lang, totals, v.Current.Currency)
	list, err := s.db.Statements(r.Context(), v.Current.CompanyID, filter, after, statementsPerPage+1)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if len(list) > statementsPerPage {
		list = list[:statementsPerPage]
		page.More = v.Path(site.StatementsPath, append(narrow, "after", list[len(list)-1].Cursor().String())...)
	}
	ids := make([]string, len(list))
	for i, st := range list {
		ids[i] = st.StatementID
	}
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, ids...); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := v.Zone()
	for _, st := range list {
		row := statementRow{ID: st.StatementID, Number: st.NumberText(), Influencer: st.Influencer,
			Period: v.Lang.Period(st.StartDate, st.EndDate),
			Total:  v.Lang.Sum(st.NetMinor(), st.Currency), Lines: st.Lines, Closed: st.State != commerce.StatementClosing,
			Payable: st.State == commerce.StatementClosed && !st.Carried && !page.Blocked}
		if !row.Closed { // its amounts are not known yet
			row.Total = "–"
		} else {
			if !st.OpeningMinor.IsZero() {
				row.Opening = v.Lang.T("statements.with_opening", v.Lang.Sum(st.OpeningMinor, st.Currency))
			}
			if !st.WithheldMinor.IsZero() {
				row.Withheld = v.Lang.T("statements.withheld", v.Lang.Sum(st.TotalMinor, st.Currency), v.Lang.Sum(st.WithheldMinor, st.Currency))
			}
			if row.Payable {
				row.Withhold = v.Path(withholdPath, append([]string{"id", st.StatementID}, page.kept...)...)
			}
			row.Href = v.Path(site.StatementPath, "id", st.StatementID)
		}
		row.State, row.StateText = map[string]string{commerce.StatementClosing: "pending", commerce.StatementClosed: "ahead",
			commerce.StatementPaid: "approved"}[st.State], v.Lang.T("statements.state_"+st.State)
		if st.Carried {
			row.StateText = v.Lang.T("statements.carried")
		}
		if row.IsPaid = !st.PaidAt.IsZero() && !page.Blocked; !st.PaidAt.IsZero() {
			row.Paid = v.Lang.T("statements.paid_at", v.Lang.Date(st.PaidAt.In(zone)), st.Reference)
		}
		page.Closing = page.Closing || st.State == commerce.StatementClosing
		page.List = append(page.List, row)
	}
	if page.Closing && page.Link == "" && page.Alert == "" && page.First == "" { // else there is something to read first
		page.Again = page.Clean
	}
	s.Render(w, r, status, "statements.html", page)
}

// confirmRestored lets the store pay again after its database was restored.
func (s *Pages) confirmRestored(w http.ResponseWriter, r *http.Request, v site.Request) {
	if _, err := s.db.ConfirmRestored(r.Context(), s.Author(v)); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	site.Done(w, r, v.Path(site.StatementsPath), "restored_confirmed")
}
