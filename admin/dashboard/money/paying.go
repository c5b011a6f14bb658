package money

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// chosenPage is what templates/chosen.html shows: what is to be paid together, or the links to statements.
type chosenPage struct {
	site.Head
	Links             bool
	List              []chosenRow
	Sums              []string // one for each currency
	Count             int64
	PaidOn, Reference string
	Day               string // PaidOn in words
	All               string // the links, a line each
	Hidden            bool   // there are more to be paid
	Back              string
	Pay               string // address of the form that records the payments
}

const payChosenPath = site.StatementsPath + "/pay-chosen"

type chosenRow struct {
	Version, Number, Influencer, Period, Total, Link string
	Notes                                            []string // that the key is another one
}

// typedPayment reads the day and the reference of a form. ok is false where one is not good.
func (s *Pages) typedPayment(r *http.Request, v site.Request) (p commerce.StatementPayment, day string, ok bool) {
	day, err := v.Lang.ReadDay(r.PostForm.Get("paid_on"))
	if err != nil {
		return p, "", false
	}
	at, err := commerce.ParseDay(day, v.Zone())
	p = commerce.StatementPayment{PaidAt: at.UTC(), Reference: strings.TrimSpace(r.PostForm.Get("reference"))}
	bad := p.Check(s.Now())
	return p, day, err == nil && !bad.Any()
}

func (s *Pages) payAlert(w http.ResponseWriter, r *http.Request, v site.Request, status int, key string) {
	s.showStatements(w, r, v, status, statementsPage{Alert: v.Lang.T("statements." + key)})
}

// payStatement records that a statement was paid.
func (s *Pages) payStatement(w http.ResponseWriter, r *http.Request, v site.Request) {
	p, _, ok := s.typedPayment(r, v)
	p.StatementID = strings.ToLower(r.PostForm.Get("statement"))
	switch {
	case !uuidtext.Is(p.StatementID):
		s.ProblemOf(w, r, http.StatusNotFound, "no_statement")
	case !ok:
		s.payAlert(w, r, v, http.StatusUnprocessableEntity, "bad_payment")
	default:
		s.answerPaid(w, r, v, s.db.PayStatements(r.Context(), s.Author(v), []commerce.StatementPayment{p}), "statement_paid")
	}
}

// answerPaid answers a form about payments.
func (s *Pages) answerPaid(w http.ResponseWriter, r *http.Request, v site.Request, err error, done string) {
	for _, of := range []struct {
		err error
		key string
	}{
		{commerce.ErrNotClosed, "not_closed"},
		{commerce.ErrCarried, "is_carried"},
		{commerce.ErrPaidOtherwise, "paid_otherwise"},
		{commerce.ErrPaid, "paid_otherwise"},
		{commerce.ErrNotPaid, "not_paid"},
		{commerce.ErrRestored, "blocked"},
	} {
		if errors.Is(err, of.err) {
			s.payAlert(w, r, v, http.StatusConflict, of.key)
			return
		}
	}
	if err := s.OnKafka(r, v, err); err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
		return
	}
	site.Done(w, r, statementsBack(r, v), done)
}

// undoPayment takes a payment back.
func (s *Pages) undoPayment(w http.ResponseWriter, r *http.Request, v site.Request) {
	u := commerce.PaymentUndo{StatementID: strings.ToLower(r.PostForm.Get("statement")),
		Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	bad := u.Check()
	switch {
	case !uuidtext.Is(u.StatementID):
		s.ProblemOf(w, r, http.StatusNotFound, "no_statement")
	case bad.Any():
		s.payAlert(w, r, v, http.StatusUnprocessableEntity, "bad_reason")
	default:
		s.answerPaid(w, r, v, s.db.UndoPayment(r.Context(), s.Author(v), u), "payment_undone")
	}
}

// chosenOf reads the statements that a form chose by their versions, or, with "all" or "all_links", those that are to be paid. ok is false
// where it chose none or too many.
func (s *Pages) chosenOf(r *http.Request, v site.Request) (list []commerce.Statement, versions map[string]string, ok bool, err error) {
	if r.PostForm.Get("all") != "" || r.PostForm.Get("do") == "all_links" {
		list, err = s.dueStatements(r.Context(), v)
		if err != nil || len(list) == 0 {
			return nil, nil, false, err
		}
		ids := make([]string, len(list))
		for i, st := range list {
			ids[i] = st.StatementID
		}
		versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, ids...)
		return list, versions, true, err
	}
	chosen := r.PostForm["chosen"]
	if len(chosen) == 0 || len(chosen) > commerce.MostPaidAtOnce {
		return nil, nil, false, nil
	}
	versions = map[string]string{}
	for _, text := range chosen {
		version, err := commerce.ParseVersion(text)
		if err != nil || !uuidtext.Is(version.Subject) {
			return nil, nil, false, commerce.ErrNotFound
		}
		if versions[version.Subject] != "" {
			continue
		}
		st, err := s.db.Statement(r.Context(), v.Current.CompanyID, version.Subject)
		if err != nil {
			return nil, nil, false, err
		}
		list, versions[version.Subject] = append(list, st), text
	}
	return list, versions, true, nil
}

// chosenStatements shows what is to be paid together before it is recorded, or makes links to the chosen statements.
func (s *Pages) chosenStatements(w http.ResponseWriter, r *http.Request, v site.Request) {
	list, versions, ok, err := s.chosenOf(r, v)
	if err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
		return
	}
	if !ok {
		s.payAlert(w, r, v, http.StatusUnprocessableEntity, "none_chosen")
		return
	}
	page := chosenPage{Links: strings.HasSuffix(r.PostForm.Get("do"), "links"), Back: statementsBack(r, v),
		Pay: v.Path(payChosenPath, statementsKept(r.URL.Query())...)}
	if page.Links {
		err = s.linksTo(r, v, &page, list)
	} else {
		p, day, ok := s.typedPayment(r, v)
		if !ok {
			s.payAlert(w, r, v, http.StatusUnprocessableEntity, "bad_payment")
			return
		}
		page.PaidOn, page.Day, page.Reference = day, v.Lang.Day(day), p.Reference
		if page.Hidden = len(list) > commerce.MostPaidAtOnce; page.Hidden {
			list = list[:commerce.MostPaidAtOnce]
		}
		to, err := s.payeesOf(r.Context(), v.Current.CompanyID, list)
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		total := sums{}
		for _, st := range list {
			if st.State != commerce.StatementClosed || st.Carried {
				s.payAlert(w, r, v, http.StatusConflict, "not_due")
				return
			}
			total.add(st.Currency, st.NetMinor())
			row := chosenRowOf(v, st, versions[st.StatementID])
			row.Notes = to.keyNotes(v, st)
			page.List = append(page.List, row)
		}
		page.Sums = total.lines(v.Lang, v.Current.Currency)
		page.Count = int64(len(page.List))
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
		return
	}
	v.Here = page.Back
	title := "statements.confirm_title"
	if page.Links {
		title = "statements.links_title"
	}
	page.Head = v.Head(v.Lang.T(title), "statements")
	s.Render(w, r, http.StatusOK, "chosen.html", page)
}

func chosenRowOf(v site.Request, st commerce.Statement, version string) chosenRow {
	return chosenRow{Version: version, Number: st.NumberText(), Influencer: st.Influencer,
		Period: v.Lang.Period(st.StartDate, st.EndDate), Total: v.Lang.Sum(st.NetMinor(), st.Currency)}
}

// linksTo makes a link to each closed statement of a list.
func (s *Pages) linksTo(r *http.Request, v site.Request, page *chosenPage, list []commerce.Statement) error {
	for _, st := range list {
		if st.State == commerce.StatementClosing {
			continue
		}
		link, err := s.makeLink(r.Context(), r, v, st)
		if err != nil {
			return err
		}
		row := chosenRowOf(v, st, "")
		row.Link = link
		page.List = append(page.List, row)
		page.All += st.Influencer + ": " + link + "\n"
	}
	return nil
}

// payChosen records the payments that the page before showed: all, or none.
func (s *Pages) payChosen(w http.ResponseWriter, r *http.Request, v site.Request) {
	typed, _, ok := s.typedPayment(r, v)
	if !ok {
		s.payAlert(w, r, v, http.StatusUnprocessableEntity, "bad_payment")
		return
	}
	var list []commerce.StatementPayment
	for _, text := range slices.Compact(slices.Sorted(slices.Values(r.PostForm["chosen"]))) {
		version, err := commerce.ParseVersion(text)
		if err != nil || !uuidtext.Is(version.Subject) {
			s.ProblemOf(w, r, http.StatusNotFound, "no_statement")
			return
		}
		typed.StatementID, typed.Seen = version.Subject, text
		list = append(list, typed)
	}
	if len(list) == 0 || len(list) > commerce.MostPaidAtOnce {
		s.payAlert(w, r, v, http.StatusUnprocessableEntity, "none_chosen")
		return
	}
	s.answerPaid(w, r, v, s.db.PayStatements(r.Context(), s.Author(v), list), "statements_paid")
}

// makeLink makes a signed link that lets the influencer see the statement.
func (s *Pages) makeLink(ctx context.Context, r *http.Request, v site.Request, st commerce.Statement) (string, error) {
	number, err := s.db.LinkNumber(ctx, s.Author(v), st.StatementID, false)
	if err != nil {
		return "", err
	}
	return s.StatementLink(r, statementlink.Link{CompanyID: v.Current.CompanyID, StatementID: st.StatementID, InfluencerID: st.InfluencerID,
		Number: number, Expires: s.Now().Add(statementlink.Life)})
}

// linkStatement makes a link to one statement.
func (s *Pages) linkStatement(w http.ResponseWriter, r *http.Request, v site.Request) {
	id := strings.ToLower(r.PostForm.Get("statement"))
	if !uuidtext.Is(id) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_statement")
		return
	}
	statement, err := s.db.Statement(r.Context(), v.Current.CompanyID, id)
	var link string
	if err == nil {
		link, err = s.makeLink(r.Context(), r, v, statement)
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
		return
	}
	s.Made(w, r, v, site.StatementsPath, statementsKept(r.URL.Query()), statement.Influencer, link)
}

// StatementLink returns the address of a statement's page, which works without a log-in, as
// browsers reach it.
func (s *Pages) StatementLink(r *http.Request, l statementlink.Link) (url string, err error) {
	token, err := s.links.Token(l)
	return s.OriginFor(r) + statementlink.Path + token, err
}
