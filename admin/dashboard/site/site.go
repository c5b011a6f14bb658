package site

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/lang"
)

// Config of the pages. Log, Now and Random have defaults.
type Config struct {
	PublicURL string // where browsers reach the pages; https makes cookies Secure behind a proxy that ends TLS
	Log       *slog.Logger
	Now       func() time.Time
	Random    io.Reader // default crypto/rand
	Versions  Versions
	// OnKafka waits until what is stored of a company now is on Kafka, as admin.Server.OnKafka does. nil: nobody waits.
	OnKafka func(ctx context.Context, companyID string) error
}

// Site is what the pages of all subjects share: the clock, the log, the languages, and how
// a page is written and refused. Safe for concurrent use.
type Site struct {
	Log          *slog.Logger
	Now          func() time.Time
	Random       io.Reader
	PublicOrigin string // scheme and host of Config.PublicURL; empty where that is not given
	// Pages serves every page: where a form is stale, the page from which it came is shown
	// as it is now.
	Pages *http.ServeMux
	// Sealer encrypts what Made hands to the next page.
	Sealer Sealer
	// Failing leads to the connections to shops that fail for some time, and to webhook endpoints and accounts at networks that were
	// disabled, in words. Their pages set it.
	Failing func(r *http.Request, v Request) ([]Link, error)
	// Streaming bounds statements that are sent as a file, while they are read.
	Streaming *Turns

	publicURL string
	versions  Versions
	onKafka   func(ctx context.Context, companyID string) error
	embedded
	filing *Turns // of lists that are made a file
}

// New parses the templates and loads the texts.
func New(config Config) (*Site, error) {
	s := &Site{Log: config.Log, Now: config.Now, Random: config.Random, publicURL: config.PublicURL, versions: config.Versions,
		onKafka:   config.OnKafka,
		filing:    NewTurns("files are being made", filesAtOnce, PersonsFiles),
		Streaming: NewTurns("statements are being sent", statementsAtOnce, PersonsFiles)}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Random == nil {
		s.Random = rand.Reader
	}
	var err error
	if s.PublicOrigin, err = OriginOf(config.PublicURL); err != nil {
		return nil, err
	}
	if s.embedded, err = loadEmbedded(); err != nil {
		return nil, err
	}
	return s, nil
}

// embedded is what is made of the program's own files. Nothing of it changes.
type embedded struct {
	assets    assets
	Languages *lang.Languages
	pages     map[string]pages // by language
}

// loadEmbedded reads them once in a process: all dashboards of one, as in tests, share them.
var loadEmbedded = sync.OnceValues(func() (e embedded, err error) {
	if e.assets, err = loadAssets(); err != nil {
		return e, err
	}
	if e.Languages, err = LoadTexts(); err != nil {
		return e, err
	}
	e.pages = map[string]pages{}
	for _, l := range e.Languages.All() {
		if e.pages[l.Tag], err = parsePages(e.assets, l); err != nil {
			return e, err
		}
	}
	return e, nil
})

// OriginOf is the scheme and host of a URL, as browsers send them.
func OriginOf(publicURL string) (string, error) {
	if publicURL == "" {
		return "", nil
	}
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("dashboard: public URL %q is not http(s)://host", publicURL)
	}
	return u.Scheme + "://" + u.Host, nil
}

// OriginFor is where browsers reach the dashboard.
func (s *Site) OriginFor(r *http.Request) string {
	if s.PublicOrigin != "" {
		return s.PublicOrigin
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// secure reports whether cookies are sent over https only.
func (s *Site) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.publicURL, "https://")
}

// SetCookie sets a cookie for a time; a negative one deletes it.
func (s *Site) SetCookie(w http.ResponseWriter, r *http.Request, name, path, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever browsers reach us by https
		Name: s.cookieName(r, name), Value: value, Path: path, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode,
	})
}

// Cookie is the value of a cookie that SetCookie has set.
func (s *Site) Cookie(r *http.Request, name string) (value string, ok bool) {
	cookie, err := r.Cookie(s.cookieName(r, name))
	if err != nil {
		return "", false
	}
	return cookie.Value, true
}

// cookieName is the name under which a cookie is kept. A browser takes one of this prefix by https alone, so that nobody between can
// give it one of theirs (RFC 6265bis, 4.1.3).
func (s *Site) cookieName(r *http.Request, name string) string {
	if s.secure(r) {
		return "__Secure-" + name
	}
	return name
}

// CookiePath is the path of the cookies that every page reads.
const CookiePath = "/dashboard/"

// maxForm bounds the body of a form of somebody who is not logged in, in bytes.
const maxForm = 8 << 10

// WithForm reads the form that somebody who is not logged in sent, before handle does.
func (s *Site) WithForm(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			s.Problem(w, r, http.StatusBadRequest, "bad_form")
			return
		}
		handle(w, r)
	}
}

// Timeout bounds what a page waits for the database and for its turn to check a
// password.
const Timeout = 10 * time.Second

// LongestCookie is as long as browsers keep a cookie (RFC 6265bis, 5.5: 400 days).
const LongestCookie = 400 * 24 * time.Hour
