package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/statementlink"
	"github.com/tributary-io/tributary/internal/throttle"
)

// Config of the dashboard. Every field but TokenSecret has a default for its zero value.
type Config struct {
	// TokenSecret signs log-ins: at least 32 random bytes, the same in every
	// process that serves the dashboard. PreviousTokenSecret, if any, still
	// verifies, so that nobody is logged out when the secret changes.
	TokenSecret         []byte
	PreviousTokenSecret []byte

	PublicURL  string        // where browsers reach it; https makes cookies Secure behind a proxy that ends TLS
	EdgeURL    string        // where the pages' script is loaded from; empty: the page shows an example
	ShortBase  string        // the part of a short link before its code; empty: pages show the codes alone
	AccessFor  time.Duration // life of an access cookie; default 10 min
	RefreshFor time.Duration // life of an unused refresh cookie; default 14 days
	// SignsWait is how long a page waits for a report of signs that is not kept; default 2 s.
	// One that takes longer is made in the background, while the page loads itself again.
	SignsWait time.Duration
	// Live bounds the websocket. Its Origins are those besides the page's own
	// host and PublicURL's.
	Live live.Config
	// ClientIP returns the address that attempts a log-in. The default is the
	// connection's. Behind a proxy, read the header that the proxy sets.
	ClientIP func(*http.Request) string
}

// Deps is what the dashboard uses. Database and Hints are required.
type Deps struct {
	Database Database
	// CheckLinks says of each destination of a short link why it is refused, or nil; the
	// hosts are looked up. nil: all are refused.
	CheckLinks func(ctx context.Context, urls []string) []error
	// Previews says what a change would move before it is saved. nil: changes are saved at
	// once.
	Previews Previews
	// Events reads the logs of events, and Rules the rules by which they are looked at.
	// Without Events, the page of events says that there is no log here.
	Events EventLog
	Rules  RuleReader
	// Hasher makes the keyed hash by which orders are found by an e-mail. nil: they are
	// not found by it.
	Hasher *identity.Hasher
	// Hints calls handle with the value of each new record of results.v1 until
	// ctx ends. When it returns earlier it is called again after a pause.
	Hints  func(ctx context.Context, handle func(value []byte) error) error
	Log    *slog.Logger
	Now    func() time.Time
	Random io.Reader // default crypto/rand
}

// Server serves the pages and their websocket: an http.Handler for /dashboard/
// and /. Run sends updates to open pages. Safe for concurrent use.
type Server struct {
	config       Config
	db           Database
	log          *slog.Logger
	now          func() time.Time
	random       io.Reader
	keys         signingKeys
	links        *statementlink.Signer
	handler      http.Handler
	live         *live.Hub
	languages    *lang.Languages
	pages        map[string]pages // by language
	assets       assets
	checkLinks   func(ctx context.Context, urls []string) []error
	hasher       *identity.Hasher
	previews     Previews
	eventLog     EventLog
	rules        RuleReader
	indexMu      sync.Mutex
	indexes      []*attribution.Index // of few companies, the one that was asked for first at the front; indexMu guards it
	reading      *turns               // of pages whose events are read
	filing       *turns               // of lists that are made a file
	streaming    *turns               // of statements that are sent as a file, while they are read
	attempts     *attempts
	guesses      *throttle.Guesses // of refresh tokens
	linkReads    *throttle.Buckets // of statements by their links
	hashing      chan struct{}     // holds an element for each password that is being checked
	publicOrigin string            // of Config.PublicURL; empty where that is not given
	dummyHash    string            // what an unknown e-mail's password is compared with
}

// hashingAtOnce bounds memory: each check takes 19 MiB.
const hashingAtOnce = 4

// New checks the configuration and parses the templates.
func New(config Config, deps Deps) (*Server, error) {
	if deps.Database == nil || deps.Hints == nil {
		return nil, errors.New("dashboard: Database and Hints are needed")
	}
	if config.SignsWait == 0 {
		config.SignsWait = 2 * time.Second
	}
	if config.AccessFor == 0 {
		config.AccessFor = 10 * time.Minute
	}
	if config.RefreshFor == 0 {
		config.RefreshFor = 14 * 24 * time.Hour
	}
	if config.ClientIP == nil {
		config.ClientIP = throttle.RemoteIP
	}
	s := &Server{
		config: config, db: deps.Database, log: deps.Log, now: deps.Now, random: deps.Random,
		attempts: newAttempts(), guesses: throttle.NewGuesses(), linkReads: throttle.New(linkEvery, linkBurst),
		hashing: make(chan struct{}, hashingAtOnce),
	}
	s.eventLog, s.rules, s.reading = deps.Events, deps.Rules, newTurns("events are being read", readsOfEvents, personsReads)
	s.filing = newTurns("files are being made", filesAtOnce, personsFiles)
	s.streaming = newTurns("statements are being sent", statementsAtOnce, personsFiles)
	if s.eventLog != nil && s.rules == nil {
		return nil, errNoRules
	}
	s.checkLinks, s.hasher, s.previews = deps.CheckLinks, deps.Hasher, deps.Previews
	if s.checkLinks == nil {
		s.checkLinks = refuseAll
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.random == nil {
		s.random = defaultRandom
	}
	var err error
	if s.publicOrigin, err = originOf(config.PublicURL); err != nil {
		return nil, err
	}
	if s.keys, err = newSigningKeys(config.TokenSecret, config.PreviousTokenSecret); err != nil {
		return nil, err
	}
	if s.links, err = statementlink.NewSigner(config.TokenSecret, config.PreviousTokenSecret); err != nil {
		return nil, err
	}
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if s.languages, err = lang.Load(textFiles); err != nil {
		return nil, err
	}
	s.pages = map[string]pages{}
	for _, l := range s.languages.All() {
		if s.pages[l.Tag], err = parsePages(s.assets, l); err != nil {
			return nil, err
		}
	}
	params := argon2
	if s.dummyHash, err = argon2id.CreateHash("nobody has this password", &params); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	sockets := config.Live
	if s.publicOrigin != "" {
		sockets.Origins = append(slices.Clip(sockets.Origins), s.publicOrigin)
	}
	s.live = live.New(sockets, live.Deps{Feed: s, Viewer: s.Viewer, Still: s.db.StillWatching, Hints: deps.Hints, Log: s.log})
	s.handler = s.routes()
	return s, nil
}

func refuseAll(_ context.Context, urls []string) []error {
	list := make([]error, len(urls))
	for i := range list {
		list[i] = publichost.ErrURLHost
	}
	return list
}

// Run sends updates to open pages until ctx ends; then it closes their sockets
// and returns when all of them have ended.
func (s *Server) Run(ctx context.Context) error { return s.live.Run(ctx) }

// ServeHTTP serves a page, an embedded file or the websocket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// originOf is the scheme and host of a URL, as browsers send them.
func originOf(publicURL string) (string, error) {
	if publicURL == "" {
		return "", nil
	}
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("dashboard: public URL %q is not http(s)://host", publicURL)
	}
	return u.Scheme + "://" + u.Host, nil
}

// routes is every path under /dashboard/, and / which leads there.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	first := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/dashboard/", http.StatusFound) }
	mux.HandleFunc("GET /{$}", first)
	mux.HandleFunc("GET /dashboard", first)
	for _, page := range s.memberRoutes() {
		mux.HandleFunc(page.pattern, s.loggedIn(page))
	}
	mux.HandleFunc("GET /dashboard/session", s.sessionAlive)
	mux.HandleFunc("GET "+loginPath, s.loginForm)
	mux.HandleFunc("POST "+loginPath, s.login)
	mux.HandleFunc("POST /dashboard/logout", s.logout)
	mux.HandleFunc("GET "+JoinPath, s.join)
	mux.HandleFunc("POST "+JoinPath, s.useLink)
	mux.HandleFunc("POST "+languagePath, s.chooseLanguage)
	mux.HandleFunc("GET /dashboard/assets/{name}", s.assets.serve)
	mux.HandleFunc("GET "+statementlink.Path+"{token}", s.withLink(s.linked))
	mux.HandleFunc("GET "+statementlink.Path+"{token}/csv", s.withLink(s.linkedCSV))
	mux.Handle("GET "+livePath, s.live)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, http.StatusNotFound, "no_page")
	})
	var forms http.CrossOriginProtection
	if s.publicOrigin != "" {
		// New has refused what is not an origin.
		_ = forms.AddTrustedOrigin(s.publicOrigin)
	}
	forms.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, http.StatusForbidden, "other_site")
	}))
	inner := forms.Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		if r.URL.Path != livePath { // a socket lives longer; Viewer and the hub bound what it reads
			ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		inner.ServeHTTP(w, r)
	})
}

const (
	livePath = "/dashboard/live"
	// pageTimeout bounds what a page waits for the database and for its turn to
	// check a password.
	pageTimeout = 10 * time.Second
)

// policy lets a page load its own embedded files and nothing else: no inline
// script or style, no other host, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store") // assets set their own
}

// secure reports whether cookies are sent over https only.
func (s *Server) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.config.PublicURL, "https://")
}
