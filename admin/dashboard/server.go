package dashboard

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/events"
	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/admin/dashboard/mails"
	"github.com/tributary-io/tributary/admin/dashboard/money"
	"github.com/tributary-io/tributary/admin/dashboard/report"
	"github.com/tributary-io/tributary/admin/dashboard/rules"
	"github.com/tributary-io/tributary/admin/dashboard/shops"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/dashboard/webhooks"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/reports"
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
	// ImportTime bounds one import of influencers; default 55 s, less than proxies wait.
	ImportTime time.Duration
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
	// Reports is what the pages of reports read reports from. nil: Database.
	Reports report.Reports
	// CheckLinks says of each destination of a short link why it is refused, or nil; the
	// hosts are looked up. nil: all are refused.
	CheckLinks func(ctx context.Context, urls []string) []error
	// Previews says what a change would move before it is saved. nil: changes are saved at
	// once.
	Previews site.Previews
	// OnKafka waits until what is stored of a company now is on Kafka, as admin.Server.OnKafka does. nil: nobody waits.
	OnKafka func(ctx context.Context, companyID string) error
	// AddEntry adds a manual entry of a ledger, as admin.Server.AddEntry does. nil: none can be added.
	AddEntry func(ctx context.Context, author commerce.Author, e commerce.NewEntry) error
	// Events reads the logs of events, and Rules the rules by which they are looked at.
	// Without Events, the page of events says that there is no log here.
	Events events.EventLog
	Rules  events.RuleReader
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
	site     *site.Site
	login    *login.Pages
	rules    *rules.Pages
	money    *money.Pages
	report   *report.Pages
	events   *events.Pages
	shops    *shops.Pages
	webhooks *webhooks.Pages
	mails    *mails.Pages
	live     *live.Hub
	handler  http.Handler
}

// New checks the configuration and parses the templates.
func New(config Config, deps Deps) (*Server, error) {
	if deps.Database == nil || deps.Hints == nil {
		return nil, errors.New("dashboard: Database and Hints are needed")
	}
	shared, err := site.New(site.Config{PublicURL: config.PublicURL, Log: deps.Log, Now: deps.Now, Random: deps.Random,
		Versions: deps.Database, OnKafka: deps.OnKafka})
	if err != nil {
		return nil, err
	}
	s := &Server{site: shared}
	if s.login, err = login.New(shared, login.Config{
		TokenSecret: config.TokenSecret, PreviousTokenSecret: config.PreviousTokenSecret, AccessFor: config.AccessFor,
		RefreshFor: config.RefreshFor, ClientIP: config.ClientIP, Recheck: func() { s.live.Recheck() },
	}, deps.Database); err != nil {
		return nil, err
	}
	s.rules = rules.New(shared, rules.Config{ShortBase: config.ShortBase, CheckLinks: deps.CheckLinks, Previews: deps.Previews,
		Hasher: deps.Hasher, Importer: deps.Database, ImportTime: config.ImportTime, Partners: deps.Database, AddEntry: deps.AddEntry,
		Results: func(r *http.Request, v site.Request, i commerce.Influencer) (any, error) {
			return s.report.PartnerResults(r, v, i)
		},
		Days: func(r *http.Request, v site.Request, path string) (any, reports.Query, error) {
			return s.report.Days(r, v, path)
		}},
		deps.Database)
	links, err := statementlink.NewSigner(config.TokenSecret, config.PreviousTokenSecret)
	if err != nil {
		return nil, err
	}
	s.money = money.New(shared, money.Config{Links: links, Hasher: deps.Hasher, Previews: deps.Previews}, deps.Database)
	s.shops = shops.New(shared, deps.Database)
	s.webhooks = webhooks.New(shared, deps.Database)
	s.mails = mails.New(shared, deps.Database)
	s.report = report.New(shared, config.SignsWait, deps.Database, deps.Reports)
	s.events, err = events.New(shared, events.Config{EdgeURL: config.EdgeURL, Log: deps.Events, Rules: deps.Rules, Hasher: deps.Hasher},
		deps.Database)
	if err != nil {
		return nil, err
	}
	sockets := config.Live
	if shared.PublicOrigin != "" {
		sockets.Origins = append(slices.Clip(sockets.Origins), shared.PublicOrigin)
	}
	s.live = live.New(sockets, live.Deps{Feed: s.money, Viewer: s.login.Viewer, Still: deps.Database.StillWatching, Hints: deps.Hints,
		Log: shared.Log})
	s.handler = s.routes()
	return s, nil
}

// Run sends updates to open pages until ctx ends; then it closes their sockets
// and returns when all of them have ended.
func (s *Server) Run(ctx context.Context) error { return s.live.Run(ctx) }

// ServeHTTP serves a page, an embedded file or the websocket.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// routes is every path under /dashboard/, and / which leads there.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	first := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/dashboard/", http.StatusFound) }
	mux.HandleFunc("GET /{$}", first)
	mux.HandleFunc("GET /dashboard", first)
	s.site.Pages = mux
	for _, page := range s.memberRoutes() {
		mux.HandleFunc(page.Pattern, s.login.LoggedIn(page))
	}
	for _, page := range slices.Concat(s.login.Open(), s.money.Open()) {
		mux.HandleFunc(page.Pattern, page.Handle)
	}
	mux.HandleFunc("POST "+site.LanguagePath, s.site.WithForm(s.site.ChooseLanguage))
	mux.HandleFunc("GET /dashboard/assets/{name}", s.site.ServeAsset)
	mux.Handle("GET "+livePath, s.live)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.site.Problem(w, r, http.StatusNotFound, "no_page")
	})
	var forms http.CrossOriginProtection
	if s.site.PublicOrigin != "" {
		// New has refused what is not an origin.
		_ = forms.AddTrustedOrigin(s.site.PublicOrigin)
	}
	forms.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.site.Problem(w, r, http.StatusForbidden, "other_site")
	}))
	inner := forms.Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		if r.URL.Path != livePath { // a socket lives longer; Viewer and the hub bound what it reads
			ctx, cancel := context.WithTimeout(r.Context(), site.Timeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		inner.ServeHTTP(w, r)
	})
}

const livePath = "/dashboard/live"

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

// memberRoutes is every page and form of those who are logged in.
func (s *Server) memberRoutes() []site.Route {
	return slices.Concat(s.login.Routes(), s.rules.Routes(), s.money.Routes(), s.report.Routes(),
		s.events.Routes(), s.shops.Routes(), s.webhooks.Routes(), s.mails.Routes())
}

// StatementLink returns the address of a statement's page, which works without a log-in, as
// browsers reach it.
func (s *Server) StatementLink(r *http.Request, l statementlink.Link) (url string, err error) {
	return s.money.StatementLink(r, l)
}
