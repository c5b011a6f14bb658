package events

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// erasuresShown bounds the list, the newest first.
const erasuresShown = 50

// privacyPage is what templates/privacy.html shows.
type privacyPage struct {
	site.Head
	Form *site.Form
	List []erasureRow
	Told *toldPage // of one of them; nil: none was chosen
}

// toldPage is what networks were told of a person who is erased.
type toldPage struct {
	ID   string
	List []toldRow
	More bool
}

type toldRow struct{ Network, Account, Order, Path, At string }

type erasureRow struct {
	ID, Asked, Kinds, Orders, Events string
	Done                             string // when it was done; empty: not yet
	Files                            string // exports that it waits for; empty: for none
	Told                             string // path of what networks were told; empty: they were told nothing
}

func (s *Pages) privacyRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.PrivacyPath, Owner: true, Handle: s.privacy},
		{Pattern: "POST " + site.PrivacyPath, Owner: true, Handle: s.erase},
		{Pattern: "POST " + site.PrivacyPath + "/export", Owner: true, Handle: s.export},
	}
}

func erasureForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "privacy", typed)
	f.Add(site.Field{Name: "email", Type: "email", Max: 255})
	f.Add(site.Field{Name: "phone", Type: "tel", Max: 255})
	f.Add(site.Field{Name: "customer_id", Max: 255})
	f.Add(site.Field{Name: "sure", Type: "check"})
	return f
}

func (s *Pages) privacy(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showPrivacy(w, r, v, http.StatusOK, erasureForm(v, nil))
}

func (s *Pages) showPrivacy(w http.ResponseWriter, r *http.Request, v site.Request, status int, f *site.Form) {
	v.Here = v.Path(site.PrivacyPath)
	list, err := s.db.Erasures(r.Context(), v.Current.CompanyID, erasuresShown)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page, zone := privacyPage{Head: v.Head(v.Lang.T("privacy.title"), "privacy"), Form: f}, v.Zone()
	for _, e := range list {
		var kinds []string
		for _, kind := range e.Kinds {
			kinds = append(kinds, site.TextOf(v.Lang, "privacy."+kind, kind))
		}
		row := erasureRow{ID: e.ErasureID, Asked: v.Lang.Instant(e.AskedAt.In(zone)), Kinds: strings.Join(kinds, ", "),
			Orders: v.Lang.Count(e.Orders), Events: v.Lang.Count(e.Events),
			Files: strings.Join(e.Exports, ", ")}
		if e.Orders > 0 && e.State != commerce.Erasing { // what was told is whole then
			row.Told = v.Path(site.PrivacyPath, "erasure", e.ErasureID)
		}
		if !e.DoneAt.IsZero() {
			row.Done = v.Lang.Instant(e.DoneAt.In(zone))
		}
		page.List = append(page.List, row)
	}
	id := r.URL.Query().Get("erasure")
	if slices.ContainsFunc(list, func(e commerce.Erasure) bool { return e.ErasureID == id && e.State != commerce.Erasing }) {
		if page.Told, err = s.told(r.Context(), v, id); err != nil {
			s.Unavailable(w, r, err)
			return
		}
	}
	s.Render(w, r, status, "privacy.html", page)
}

// told reads what networks were told of the person of an erasure.
func (s *Pages) told(ctx context.Context, v site.Request, erasureID string) (*toldPage, error) {
	list, more, err := s.db.ErasedConversions(ctx, v.Current.CompanyID, erasureID)
	page := &toldPage{ID: erasureID, More: more}
	for _, t := range list {
		row := toldRow{Network: site.TextOf(v.Lang, "conversions.network_"+string(t.Network), string(t.Network)), Account: t.Account,
			Order: t.OrderID, Path: site.OrderPath(v.Current.CompanyID, t.OrderID), At: v.Lang.T("privacy.told_perhaps")}
		if !t.SentAt.IsZero() {
			row.At = v.Lang.Instant(t.SentAt.In(v.Zone()))
		}
		page.List = append(page.List, row)
	}
	return page, err
}

// erase asks to erase a person, as POST /erasures does.
func (s *Pages) erase(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := erasureForm(v, r.PostForm)
	person, keys, err := s.subjectOf(r, v, f)
	if r.PostForm.Get("sure") != "yes" {
		f.Fail("sure", v.Lang.T("privacy.not_sure"))
	}
	if err == nil && !f.Failed() {
		_, err = s.db.AskErasure(r.Context(), s.Author(v), person.Kinds(), keys, s.Random)
	}
	if errors.Is(err, commerce.ErrTooManyErasures) {
		f.Fail("email", v.Lang.T("privacy.too_many", commerce.MaxErasing))
		err = nil
	}
	switch {
	case err != nil:
		s.Unavailable(w, r, err)
	case f.Failed():
		s.showPrivacy(w, r, v, http.StatusUnprocessableEntity, f)
	default:
		site.Done(w, r, v.Path(site.PrivacyPath), "erasure_asked")
	}
}

// subjectOf reads whom a form names, and fails its fields that name nobody. What names the person goes no further than
// its keyed hashes.
func (s *Pages) subjectOf(r *http.Request, v site.Request, f *site.Form) (person commerce.DataSubject, keys []facts.Key, err error) {
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	person = commerce.DataSubject{Email: get("email"), Phone: get("phone"), CustomerID: get("customer_id")}
	f.Refuse(person.Check(), nil)
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	if err != nil || s.hasher == nil {
		return person, nil, errors.Join(err, errNoHasher)
	}
	keys, wrong := facts.SubjectKeys(person, s.hasher.Company(company.CompanyID, company.Country))
	for _, field := range wrong {
		f.Fail(field, v.Lang.T("privacy.nobody"))
	}
	return person, keys, nil
}

// exportsAtOnce bounds the files of persons' data that are written at the same time.
const exportsAtOnce = 2

// export sends what is stored about a person as a file. The audit log says so before the first byte, not who it is.
func (s *Pages) export(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := erasureForm(v, r.PostForm)
	person, keys, err := s.subjectOf(r, v, f)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if f.Failed() {
		s.showPrivacy(w, r, v, http.StatusUnprocessableEntity, f)
		return
	}
	end, err := s.writing.Take(r.Context(), v.Access.PersonID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	defer end()
	if err := s.db.LogExport(r.Context(), s.Author(v), person.Kinds(), s.Random); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	asked := commerce.PersonFile{CompanyID: v.Current.CompanyID, At: s.Now(), Kinds: person.Kinds()}
	file := &download{w: w, kind: "application/json", name: "person-" + s.DayOf(v) + ".json"}
	if r.PostForm.Get("as") == "page" {
		file.kind, file.name = "text/html; charset=utf-8", v.Lang.T("person.file")+"-"+s.DayOf(v)+".html"
		err = s.writePersonPage(r.Context(), v, asked, keys, file)
	} else {
		err = s.db.WritePerson(r.Context(), asked, keys, file)
	}
	switch {
	case err != nil && file.began:
		panic(http.ErrAbortHandler) // the file is not whole: the connection ends in the middle
	case err != nil:
		s.Unavailable(w, r, err)
	}
}

// writePersonPage writes what is stored about a person as a page.
func (s *Pages) writePersonPage(ctx context.Context, v site.Request, asked commerce.PersonFile, keys []facts.Key, to io.Writer) error {
	from, stored := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := s.db.WritePerson(ctx, asked, keys, stored)
		_ = stored.CloseWithError(err) // nil: the end
		written <- err
	}()
	err := writePersonPage(from, to, v.Lang, v.Zone(), v.Current.Name)
	if err == nil {
		_, err = io.Copy(io.Discard, from) // the end of its last line
	}
	_ = from.CloseWithError(err) // where the page cannot be written, nobody reads the rest
	return errors.Join(err, <-written)
}

// download is an answer that is a file once its first bytes are written.
type download struct {
	w          http.ResponseWriter
	kind, name string
	began      bool
}

// Write implements io.Writer.
func (d *download) Write(b []byte) (int, error) {
	if !d.began {
		d.began = true
		d.w.Header().Set("Content-Type", d.kind)
		d.w.Header().Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	}
	return d.w.Write(b)
}

var errNoHasher = errors.New("dashboard: there is no hashing secret: nobody can be found")
