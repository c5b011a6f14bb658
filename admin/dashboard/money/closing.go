package money

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
)

// closingPage is what templates/closing.html shows: what would be closed up to a day.
type closingPage struct {
	site.Head
	EndDate, Day string // the same day, as forms have it and in words
	List         []closingRow
	Count        int64
	Paid         int64    // … of which the total is to be paid
	Sums         []string // what these come to, one for each currency
	Carried      int64    // … of which the total is carried
	Negative     int64    // … which is below zero
	Back         string
}

type closingRow struct {
	ID, Influencer, Opening, Total, State, StateText string
	First                                            bool // of the influencer, whose rows are chosen together
}

// askedClosing reads up to which day statements are made, and of whom.
func (s *Pages) askedClosing(r *http.Request, v site.Request) (commerce.Closing, *site.Form) {
	f := s.closingForm(v, r.PostForm)
	asked := commerce.Closing{EndDate: f.Day("end_date")}
	if r.PostForm.Get("choose") != "" {
		asked.Chosen = append([]string{}, r.PostForm["influencer"]...)
	}
	f.Refuse(asked.Check(), nil)
	if asked.Chosen != nil && len(asked.Chosen) == 0 {
		f.Fail("end_date", v.Lang.T("payouts.nobody"))
	}
	return asked, f
}

// closingFailed answers where nothing can be closed, and reports whether it did.
func (s *Pages) closingFailed(w http.ResponseWriter, r *http.Request, v site.Request, f *site.Form, found int, err error) bool {
	switch {
	case f.Failed():
	case errors.Is(err, commerce.ErrFutureDay):
		f.Fail("end_date", v.Lang.T("payouts.future"))
	case errors.Is(err, commerce.ErrTooManyStatements):
		f.Fail("end_date", v.Lang.T("payouts.too_many"))
	case err != nil:
		s.Unavailable(w, r, err)
		return true
	case found == 0:
		f.Fail("end_date", v.Lang.T("payouts.nothing"))
	}
	if f.Failed() {
		s.showPayouts(w, r, v, http.StatusUnprocessableEntity, f)
	}
	return f.Failed()
}

// previewClosing shows what would be closed. Influencers can be left out.
func (s *Pages) previewClosing(w http.ResponseWriter, r *http.Request, v site.Request) {
	asked, f := s.askedClosing(r, v)
	var list []commerce.Statement
	var err error
	if !f.Failed() {
		list, err = s.db.PreviewStatements(r.Context(), s.Author(v), asked)
	}
	if s.closingFailed(w, r, v, f, len(list), err) {
		return
	}
	page := closingPage{EndDate: asked.EndDate, Day: v.Lang.Day(asked.EndDate), Count: int64(len(list)), Back: v.Path(site.PayoutsPath)}
	slices.SortStableFunc(list, func(a, b commerce.Statement) int {
		return strings.Compare(fold.Name(a.Influencer), fold.Name(b.Influencer))
	})
	total, seen := sums{}, map[string]bool{}
	for _, st := range list {
		row := closingRow{ID: st.InfluencerID, Influencer: st.Influencer, Total: v.Lang.Sum(st.TotalMinor, st.Currency),
			First: !seen[st.InfluencerID],
			State: "ahead", StateText: v.Lang.T("statements.state_closed")}
		seen[st.InfluencerID] = true
		if !st.OpeningMinor.IsZero() {
			row.Opening = v.Lang.T("statements.with_opening", v.Lang.Sum(st.OpeningMinor, st.Currency))
		}
		switch {
		case st.TotalMinor.IsNegative():
			page.Negative++
			row.State, row.StateText = "pending", v.Lang.T("payouts.deducted")
		case st.Carried:
			page.Carried++
			row.State, row.StateText = "pending", v.Lang.T("statements.carried")
		default:
			page.Paid++
			total.add(st.Currency, st.TotalMinor)
		}
		page.List = append(page.List, row)
	}
	page.Sums = total.lines(v.Lang, v.Current.Currency)
	v.Here = page.Back
	page.Head = v.Head(v.Lang.T("payouts.close"), "payouts")
	s.Render(w, r, http.StatusOK, "closing.html", page)
}

// closeStatements asks for a statement of each influencer and currency.
func (s *Pages) closeStatements(w http.ResponseWriter, r *http.Request, v site.Request) {
	asked, f := s.askedClosing(r, v)
	var list []commerce.Statement
	var err error
	if !f.Failed() {
		list, err = s.db.AskStatements(r.Context(), s.Author(v), asked, s.Random)
	}
	if !s.closingFailed(w, r, v, f, len(list), err) {
		site.Done(w, r, v.Path(site.StatementsPath), "statements_asked")
	}
}
