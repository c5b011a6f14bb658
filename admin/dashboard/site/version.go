package site

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// Versions tells which version of something a page shows, and who made it.
type Versions interface {
	// Versions returns the version of each subject of the audit log.
	Versions(ctx context.Context, companyID string, subjects []string) (map[string]commerce.Version, error)
	// LastChange returns commerce.ErrNotFound where nobody changed the subject.
	LastChange(ctx context.Context, companyID, subject string) (account.AuditEntry, error)
}

// VersionField is the hidden field by which a form says what it showed. The template "version"
// writes it. Each form that changes or removes what is stored already has it.
const VersionField = "version"

// VersionsOf returns the version of each subject, as forms have it: Head.Versions.
func (s *Site) VersionsOf(ctx context.Context, companyID string, subjects ...string) (map[string]string, error) {
	versions, err := s.versions.Versions(ctx, companyID, subjects)
	texts := make(map[string]string, len(versions))
	for subject, v := range versions {
		texts[subject] = v.String()
	}
	return texts, err
}

// LastChange returns who changed a subject last; commerce.ErrNotFound where nobody did.
func (s *Site) LastChange(ctx context.Context, companyID, subject string) (account.AuditEntry, error) {
	return s.versions.LastChange(ctx, companyID, subject)
}

type (
	requestKey struct{} // of the Request of a form with a version
	staleKey   struct{} // of why the form before was refused
)

// WithVersion makes every change that a form asks for depend on the version that the form
// showed. An error is that the form's version is none.
func (s *Site) WithVersion(r *http.Request, v *Request) (*http.Request, error) {
	if text, ok := r.Context().Value(staleKey{}).(string); ok {
		v.Stale, v.Done = text, ""
	}
	text := r.PostForm.Get(VersionField)
	if r.Method != http.MethodPost || text == "" {
		return r, nil
	}
	version, err := commerce.ParseVersion(text)
	if err != nil {
		return r, err
	}
	ctx := context.WithValue(r.Context(), requestKey{}, *v)
	return r.WithContext(commerce.WithVersion(ctx, version)), nil
}

// StaleWords says who changed meanwhile what a form was to change. ok is false where err is
// another error.
func (s *Site) StaleWords(r *http.Request, err error) (words string, ok bool) {
	var stale *commerce.StaleError
	v, known := r.Context().Value(requestKey{}).(Request)
	if !errors.As(err, &stale) || !known {
		return "", false
	}
	last, err := s.versions.LastChange(context.WithoutCancel(r.Context()), stale.CompanyID, stale.Subject)
	if err != nil {
		return v.Lang.T("stale.text"), true
	}
	when := v.Lang.Time(last.At.In(v.Zone()))
	if last.Actor == v.Actor() {
		return v.Lang.T("stale.by_you", when), true
	}
	return v.Lang.T("stale.by", ActorWords(v.Lang, last), when), true
}

// ActorWords says who changed something.
func ActorWords(l *lang.Printer, e account.AuditEntry) string {
	kind, _, _ := strings.Cut(e.Actor, "/")
	switch {
	case kind == "key" && e.Name != "":
		return l.T("audit.by_key", e.Name)
	case e.Name != "":
		return e.Name
	case kind == "cli":
		return l.T("audit.by_cli")
	case kind == "processor", kind == "admin", kind == "connect":
		return l.T("audit.by_processor")
	case kind == "mail":
		return l.T("audit.by_mail")
	}
	return e.Actor
}

// Stale reports whether something was changed meanwhile. The form then says so, keeps what
// was typed, and shows what is stored now of the fields that differ (f.Stored).
func (s *Site) Stale(r *http.Request, f *Form, err error) bool {
	words, ok := s.StaleWords(r, err)
	if !ok {
		return false
	}
	f.stale, f.Alert = true, words+" "+f.Lang.T("stale.kept")
	if f.Stored == nil {
		return true
	}
	for _, x := range f.Fields {
		saved := f.Stored.Field(x.Name)
		if x.Disabled || x.Type == "password" || x.Type != "checks" && sameLines(saved.Value, x.Value) ||
			x.Type == "checks" && slices.Equal(saved.Values, x.Values) {
			continue
		}
		f.Now = append(f.Now, Saved{x.Label, saved.words(f.Lang)})
	}
	return true
}

// sameLines compares texts as browsers send them: with CR LF.
func sameLines(a, b string) bool {
	return strings.TrimSpace(a) == strings.TrimSpace(strings.ReplaceAll(b, "\r\n", "\n"))
}

// words says what the field has.
func (x *Field) words(l *lang.Printer) string {
	var list []string
	for _, o := range x.Options {
		if o.Chosen {
			list = append(list, o.Label)
		}
	}
	switch {
	case list != nil:
		return strings.Join(list, ", ")
	case x.Type == "check":
		return l.T("audit." + map[bool]string{true: "yes", false: "no"}[x.Value == "yes"])
	case x.Value == "":
		return "–"
	}
	return strings.Join(strings.Fields(x.Value), " ")
}

// stale answers 409 with the page from which a stale form came, as it is now, and says above
// it who changed it. Where there is no such page, the answer is a page of its own.
func (s *Site) stale(w http.ResponseWriter, r *http.Request, stale *commerce.StaleError) {
	words, ok := s.StaleWords(r, stale)
	if !ok {
		s.ProblemOf(w, r, http.StatusConflict, "stale")
		return
	}
	page := r.Clone(context.WithValue(r.Context(), staleKey{}, words))
	page.Method, page.Body, page.Form, page.PostForm, page.ContentLength = http.MethodGet, http.NoBody, nil, nil, 0
	for _, from := range []string{r.PostForm.Get("page"), r.Referer()} {
		u, err := url.Parse(from)
		if err != nil || from == "" || !strings.HasPrefix(u.Path, CookiePath) {
			continue
		}
		query := u.Query()
		query.Del("done")
		page.URL = &url.URL{Path: u.Path, RawQuery: query.Encode()}
		page.RequestURI = page.URL.RequestURI()
		if _, pattern := s.Pages.Handler(page); strings.HasPrefix(pattern, "GET "+CookiePath) {
			s.Pages.ServeHTTP(&conflicting{ResponseWriter: w}, page)
			return
		}
	}
	s.ProblemOf(w, r, http.StatusConflict, "stale")
}

// conflicting answers 409 instead of 200.
type conflicting struct {
	http.ResponseWriter
	told bool
}

// WriteHeader implements http.ResponseWriter.
func (c *conflicting) WriteHeader(status int) {
	if status == http.StatusOK {
		status = http.StatusConflict
	}
	c.told = true
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *conflicting) Write(b []byte) (int, error) {
	if !c.told {
		c.WriteHeader(http.StatusOK)
	}
	return c.ResponseWriter.Write(b)
}

// OnKafka is of a change that money follows from: it returns the change's error, else waits until the change is on Kafka.
// The error is then commerce.ErrNotOnKafka.
func (s *Site) OnKafka(r *http.Request, v Request, err error) error {
	if err != nil || s.onKafka == nil {
		return err
	}
	return s.onKafka(r.Context(), v.Current.CompanyID)
}
