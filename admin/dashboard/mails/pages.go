// Package mails is the page on which people choose what is sent by e-mail: to themselves, and to the store's influencers.
//
// What belongs here: that page and its forms. What sends, and what a mail says, is admin/mail.
package mails

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// Database is what the page reads and keeps. Errors are internal/commerce's kinds.
type Database interface {
	// MailDestination returns commerce.ErrNotFound where no mails are sent to it.
	MailDestination(ctx context.Context, companyID, id string) (commerce.MailDestination, error)
	// ChangeMail returns a *commerce.StaleError where the form is of an older version.
	ChangeMail(ctx context.Context, author commerce.Author, to commerce.MailDestination) error
	Messages(ctx context.Context, companyID, id, state string, before int64, limit int) ([]commerce.Message, error)
}

// Pages are the page and its forms. Safe for concurrent use.
type Pages struct {
	*site.Site
	db Database
}

// New makes the page.
func New(shared *site.Site, db Database) *Pages { return &Pages{shared, db} }

// Routes are the page and its forms.
func (s *Pages) Routes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.MailsPath, Handle: func(w http.ResponseWriter, r *http.Request, v site.Request) {
			s.show(w, r, v, http.StatusOK, "", nil)
		}},
		{Pattern: "POST " + site.MailsPath + "/own", Owner: true, Pays: true, Handle: s.save(ownID)},
		{Pattern: "POST " + site.MailsPath + "/partners", Owner: true, Handle: s.save(partnersID)},
	}
}

// ownID is the destination of who looks.
func ownID(v site.Request) string { return commerce.MailPrefix + v.Access.PersonID }

// partnersID is the destination of the store's influencers.
func partnersID(site.Request) string { return commerce.MailPartners }

// Bounds of the page.
const (
	mostFailed = 20                  // messages that are shown
	lookedAt   = 100                 // that are looked at for them, of each state
	shownFor   = 30 * 24 * time.Hour // as long as they are kept
)

// mailsPage is what templates/mails.html shows.
type mailsPage struct {
	site.Head
	Analyst, None bool
	Own, Partners *part // nil: not shown
	Failed        []failedRow
}

// part is what one destination gets.
type part struct {
	Version string
	Full    bool
	Form    *site.Form
}

// failedRow is a mail that did not reach who was to get it.
type failedRow struct{ What, Href, When, Why, Next string }

// typesOf are the mails among which one can choose for a destination.
func typesOf(v site.Request, id string) []commerce.EventType {
	if id == commerce.MailPartners {
		return []commerce.EventType{commerce.StatementIsClosed}
	}
	return account.MailTypes(v.Current.Role)
}

// form asks what a destination gets.
func form(v site.Request, typed map[string][]string, d commerce.MailDestination) *site.Form {
	f := site.NewForm(v.Lang, "mails", typed)
	f.IDs = "own-"
	if d.ID == commerce.MailPartners {
		f.IDs = "partners-"
	}
	f.Add(site.Field{Name: "type", Type: "checks", Values: commerce.EventNames(d.Types),
		Options: f.Options("type", commerce.EventNames(typesOf(v, d.ID))...)})
	f.Add(site.Field{Name: "language", Type: "select", Value: d.Language, Options: f.Options("language", lang.Tags...)})
	return f
}

// show shows the page. The form of one destination may be shown again.
func (s *Pages) show(w http.ResponseWriter, r *http.Request, v site.Request, status int, id string, again *site.Form) {
	company := v.LiveCompany()
	v.Here = v.Path(site.MailsPath)
	page := mailsPage{Head: v.Head(v.Lang.T("mails.title"), "mails"), Analyst: len(account.MailTypes(v.Current.Role)) == 0}
	var err error
	if page.Versions, err = s.VersionsOf(r.Context(), company, ownID(v), commerce.MailPartners); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if !page.Analyst {
		page.Own, err = s.part(r.Context(), v, ownID(v), &page)
	}
	if err == nil && v.Current.Role == account.RoleOwner {
		page.Partners, err = s.part(r.Context(), v, commerce.MailPartners, &page)
	}
	for one, p := range map[string]*part{ownID(v): page.Own, commerce.MailPartners: page.Partners} {
		if one == id && p != nil {
			p.Form = again
		}
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.Render(w, r, status, "mails.html", page)
}

// part reads what a destination gets, and adds to the page what did not reach it; nil where no mails are sent.
func (s *Pages) part(ctx context.Context, v site.Request, id string, page *mailsPage) (*part, error) {
	d, err := s.db.MailDestination(ctx, v.LiveCompany(), id)
	if errors.Is(err, commerce.ErrNotFound) {
		page.None = true
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		return nil, err
	}
	return &part{Version: page.Versions[id], Full: !d.Active, Form: form(v, nil, d)},
		s.failed(ctx, v, v.LiveCompany(), id, &page.Failed)
}

// failed adds the mails of a destination that did not reach who was to get them.
func (s *Pages) failed(ctx context.Context, v site.Request, company, id string, rows *[]failedRow) error {
	zone := v.Zone()
	for _, state := range []string{commerce.MessageWaiting, commerce.MessageParked} {
		list, err := s.db.Messages(ctx, company, id, state, 0, lookedAt)
		if err != nil {
			return err
		}
		for _, m := range list {
			if len(m.Tries) == 0 || len(*rows) >= mostFailed || s.Now().Sub(m.Tries[len(m.Tries)-1].At) > shownFor {
				continue
			}
			last := m.Tries[len(m.Tries)-1]
			row := failedRow{What: site.TextOf(v.Lang, "mails.type_"+strings.ReplaceAll(string(m.Type), ".", "_"), string(m.Type)),
				When: v.Lang.Time(last.At.In(zone)), Why: why(v.Lang, m, last)}
			if state == commerce.MessageWaiting {
				row.Next = v.Lang.T("mails.tried", v.Lang.Time(m.DueAt.In(zone)))
			}
			var told commerce.StatementNamed
			if m.Type == commerce.StatementIsClosed && json.Unmarshal(m.Data, &told) == nil {
				row.What = v.Lang.T("mails.statement", strconv.FormatInt(told.Number, 10))
				row.Href = site.StorePath(site.StatementPath, company, "id", told.StatementID)
			}
			*rows = append(*rows, row)
		}
	}
	return nil
}

// why says why a mail did not arrive.
func why(l *lang.Printer, m commerce.Message, t commerce.Try) string {
	key := t.Failure
	if key == commerce.TryStatus && m.State == commerce.MessageWaiting {
		key = "later"
	}
	if !l.Has("mails.failure_" + key) {
		return key
	}
	return l.T("mails.failure_"+key, strconv.Itoa(t.Status))
}

// save is the form that chooses what a destination gets.
func (s *Pages) save(of func(v site.Request) string) func(w http.ResponseWriter, r *http.Request, v site.Request) {
	return func(w http.ResponseWriter, r *http.Request, v site.Request) {
		id, company := of(v), v.LiveCompany()
		d, err := s.db.MailDestination(r.Context(), company, id)
		if err != nil {
			s.NotFoundOr(w, r, err, "no_mails")
			return
		}
		f := form(v, r.PostForm, d)
		f.Stored = form(v, nil, d)
		may, language := typesOf(v, id), r.PostForm.Get("language")
		if !slices.Contains(lang.Tags, language) {
			s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
			return
		}
		// What another role may get stays as it is: the person may have that role again.
		types := slices.DeleteFunc(slices.Clone(d.Types), func(t commerce.EventType) bool { return slices.Contains(may, t) })
		for _, t := range r.PostForm["type"] {
			if !slices.Contains(may, commerce.EventType(t)) {
				s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
				return
			}
			if !slices.Contains(types, commerce.EventType(t)) {
				types = append(types, commerce.EventType(t))
			}
		}
		author := s.Author(v)
		author.CompanyID = company
		err = s.db.ChangeMail(r.Context(), author, commerce.MailDestination{ID: id, Types: types, Language: language})
		switch {
		case s.Stale(r, f, err):
			s.show(w, r, v, f.Status(), id, f)
		case err != nil:
			s.NotFoundOr(w, r, err, "no_mails")
		default:
			site.Done(w, r, v.Path(site.MailsPath), "mails_changed")
		}
	}
}
