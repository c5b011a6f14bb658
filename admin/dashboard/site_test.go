package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

const (
	testEmail    = "ana@loja.example"
	testPassword = "a good long password"
)

// site is the dashboard as cmd wires it, on a real database; hints come from
// the test in place of Kafka.
type site struct {
	*reporttest.Fixture
	t      testing.TB
	server *dashboard.Server
	url    string
	live   string // companyIds
	hasher *identity.Hasher
	box    string
	hints  chan []byte
	kafka  testLog

	mu        sync.Mutex
	now       time.Time // zero: the real clock
	address   string    // of whoever asks
	log       bytes.Buffer
	kafkaAway error // guarded by mu
}

// cheapHash is a password's hash at less cost: a hash has its own parameters, and how dear
// a guess is, is argon2id's.
func cheapHash(password string) (string, error) {
	return argon2id.CreateHash(password, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
}

func newSite(t testing.TB) *site {
	t.Helper()
	return newSiteWith(t, preview.Limits{})
}

// newSiteWith is a site whose previews have limits, and whose pages are otherwise configured.
func newSiteWith(t testing.TB, limits preview.Limits, options ...func(c *dashboard.Config)) *site {
	t.Helper()
	s := &site{Fixture: reporttest.New(t), t: t, hints: make(chan []byte, 16), address: "192.0.2.1", kafka: testLog{t: t}}
	s.live, s.box = s.Store.Live.CompanyID, s.Store.Sandbox.CompanyID
	hash, err := cheapHash(testPassword)
	if err != nil {
		t.Fatal(err)
	}
	person, err := s.DB.CreatePerson(t.Context(), testEmail, hash)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DB.SetMembership(t.Context(), s.Store.StoreID, person.ID, account.RoleOwner); err != nil {
		t.Fatal(err)
	}
	if s.hasher, err = identity.NewHasher([]byte("0123456789abcdef0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	config := dashboard.Config{
		TokenSecret: []byte("0123456789abcdef0123456789abcdef"), ShortBase: "go.example.com", ClientIP: s.clientIP,
		Live: live.Config{Poll: time.Hour}, SignsWait: await.Long,
	}
	for _, option := range options {
		option(&config)
	}
	pages, err := dashboard.New(config,
		dashboard.Deps{Database: s.DB, Hints: s.follow, Previews: s.Previews(limits), Events: &s.kafka, Rules: s.Rules(),
			OnKafka: s.onKafka, AddEntry: s.AddEntry, CheckLinks: s.checkLinks, Hasher: s.hasher, Now: s.clock,
			Log: slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	s.server = pages
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = pages.Run(ctx)
	}()
	server := httptest.NewServer(pages)
	s.url = server.URL
	t.Cleanup(func() { stop(); <-done; server.Close() })
	return s
}

// onKafka is Kafka's answer about what was stored: kafkaAway.
func (s *site) onKafka(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kafkaAway
}

// checkLinks refuses hosts that begin with "private".
func (s *site) checkLinks(_ context.Context, urls []string) []error {
	list := make([]error, len(urls))
	for i, url := range urls {
		if strings.HasPrefix(url, "https://private") {
			list[i] = errors.New("has a host that resolves to an address that is not public")
		}
	}
	return list
}

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.IsZero() {
		return time.Now()
	}
	return s.now
}

func (s *site) setClock(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// setAddress says where the next requests come from.
func (s *site) setAddress(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// testAddress is the nth of addresses in networks of their own.
func testAddress(n int) string { return fmt.Sprintf("198.18.%d.1", n) }

func (s *site) clientIP(*http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Write takes a line of the log.
func (s *site) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

// logged is the log so far.
func (s *site) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *site) follow(ctx context.Context, handle func([]byte) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case value := <-s.hints:
			if err := handle(value); err != nil {
				return err
			}
		}
	}
}

// hint says that orders changed, as the processor does on results.v1.
func (s *site) hint(companyID string, orderIDs ...string) {
	value, err := json.Marshal(wire.Result{V: 1, CompanyID: companyID, OrderIDs: orderIDs, At: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.hints <- value
}

// client keeps cookies and follows no redirect.
func (s *site) client() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: reporttest.Watched{T: s.t}, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
}

func (s *site) logIn(client *http.Client, email, password string) *http.Response {
	s.t.Helper()
	answer, err := client.PostForm(s.url+"/dashboard/login", url.Values{"email": {email}, "password": {password}})
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	return answer
}

func (s *site) loggedIn() *http.Client {
	s.t.Helper()
	client := s.client()
	if answer := s.logIn(client, testEmail, testPassword); answer.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("log-in answered %s", answer.Status)
	}
	return client
}
