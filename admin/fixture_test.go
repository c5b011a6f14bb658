package admin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	pgpreview "github.com/tributary-io/tributary/internal/postgres/preview"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/test/devtest"
)

// service is a whole admin service on real parts, with one store.
type service struct {
	t      *testing.T
	url    string // origin
	dsn    string
	db     stores
	client *kafka.Client
	hasher *identity.Hasher
	store  commerce.Store
	server *admin.Server
	stop   func() // ends the service and waits for it
	live   string // API key texts with every scope
	test   string
}

// stores is what the service reads and writes.
type stores struct {
	*merchant.Store
	*report.Reader
}

func storesOf(db *postgres.DB) stores { return stores{merchant.New(db), report.New(db)} }

// everyNamePublic resolves each name to one public address: these tests need no network.
type everyNamePublic struct{}

func (everyNamePublic) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func start(t *testing.T, config admin.Config) *service {
	t.Helper()
	return startOn(t, config, devtest.Postgres(t), devtest.Kafka(t))
}

func startOn(t *testing.T, config admin.Config, dsn, broker string) *service {
	t.Helper()
	return startWith(t, config, dsn, broker, nil)
}

// startWith starts the service with other parts; nil: with its own.
func startWith(t *testing.T, config admin.Config, dsn, broker string, change func(*admin.Deps)) *service {
	t.Helper()
	s := &service{t: t, dsn: dsn}
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s.db = storesOf(db)
	if s.client, err = kafka.NewClient(kafka.Config{Brokers: []string{broker}, ClientID: "admin-test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	if s.hasher, err = identity.NewHasher(bytes.Repeat([]byte("s"), 32)); err != nil {
		t.Fatal(err)
	}
	s.store, err = s.db.CreateStore(t.Context(), commerce.NewStore{Name: "Loja", Actor: "cli", KeyCheck: s.hasher.Check, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	s.live = s.key(s.store.Live.CompanyID, account.Scopes...)
	s.test = s.key(s.store.Sandbox.CompanyID, account.Scopes...)
	config.ShortBase = "go.example.com/s"
	if config.DependencyTimeout == 0 {
		config.DependencyTimeout = time.Minute // a busy machine is no outage
	}
	if config.RuleRate == (admin.Rate{}) {
		config.RuleRate = admin.Rate{PerSecond: 1000, Burst: 1000}
	}
	batcher := produce.NewBatcher(kafka.NewProducer(s.client), produce.Config{})
	t.Cleanup(func() { batcher.Close(context.Background()) })
	deps := admin.Deps{
		Database: s.db, Names: s.db, Producer: batcher, Hasher: s.hasher, Resolver: everyNamePublic{},
		Previews: preview.New(pgpreview.New(db), preview.Limits{Time: time.Hour, Wait: time.Minute}),
		Checks:   map[string]func(context.Context) error{"postgres": db.Ping},
	}
	signer, err := statementlink.NewSigner([]byte(strings.Repeat("t", 32)), nil)
	if err != nil {
		t.Fatal(err)
	}
	deps.Links = links{signer}
	if change != nil {
		change(&deps)
	}
	s.server, err = admin.New(config, deps)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.server.Serve(ctx, listener, s.server); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	s.stop = func() { stop(); http.DefaultClient.CloseIdleConnections(); served.Wait() }
	t.Cleanup(s.stop)
	return s
}

func (s *service) key(companyID string, scopes ...account.Scope) string {
	s.t.Helper()
	_, text, err := s.db.CreateAPIKey(s.t.Context(),
		account.NewAPIKey{CompanyID: companyID, Name: "test", Scopes: scopes, Actor: "cli", Random: rand.Reader})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// answer is a parsed envelope.
type answer struct {
	Status  int
	Header  http.Header
	Success *bool
	Data    json.RawMessage
	Error   *struct {
		Code, Message string
		Details       []struct {
			Field, Code, Message, Influencer string
			StartDate                        *string `json:"start_date"`
			EndDate                          *string `json:"end_date"`
		}
	}
	Warnings   []struct{ Field, Code, Message string }
	Pagination *struct {
		HasMore    bool    `json:"has_more"`
		NextCursor *string `json:"next_cursor"`
	}
	RequestID string `json:"request_id"`
	Timestamp string
}

// call makes a request and holds the envelope to its rules.
func (s *service) call(method, path, key, body string, headers ...string) answer {
	s.t.Helper()
	request := httptest.NewRequest(method, s.url+path, strings.NewReader(body))
	request.RequestURI = ""
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
	}
	s.conform(request, body, response, raw)
	got := answer{Status: response.StatusCode, Header: response.Header}
	if method == http.MethodHead || response.StatusCode == http.StatusNoContent || response.StatusCode == http.StatusNotModified {
		return got
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		s.t.Errorf("%s %s: %d is no envelope: %s", method, path, response.StatusCode, raw)
		return got
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", got.Timestamp); err != nil {
		s.t.Errorf("%s %s: timestamp %q", method, path, got.Timestamp)
	}
	if got.RequestID == "" || got.RequestID != response.Header.Get("X-Request-Id") {
		s.t.Errorf("%s %s: request_id %q, header %q", method, path, got.RequestID, response.Header.Get("X-Request-Id"))
	}
	if got.Success == nil || *got.Success != (got.Status == 200) || (got.Error == nil) != *got.Success {
		s.t.Errorf("%s %s: success and error contradict the status: %s", method, path, raw)
	}
	return got
}

// want fails the test unless an answer has a status and, for errors, a code.
func (s *service) want(got answer, status int, code string) {
	s.t.Helper()
	gotCode := ""
	if got.Error != nil {
		gotCode = got.Error.Code
	}
	if got.Status != status || gotCode != code {
		s.t.Fatalf("%d %s, want %d %s: %+v", got.Status, gotCode, status, code, got.Error)
	}
}

// read gives a topic's records until enough says so.
func (s *service) read(topic string, partitions int, enough func(kafka.Record) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	found := make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var readers sync.WaitGroup
	for p := range partitions {
		readers.Go(func() {
			err := s.client.Follow(ctx, topic, p, kafka.FromFirst, func(_ int64, r kafka.Record) error {
				mu.Lock()
				defer mu.Unlock()
				if enough(r) {
					once.Do(func() { close(found) })
				}
				return nil
			}, nil)
			if err != nil && ctx.Err() == nil {
				s.t.Errorf("%s: %v", topic, err)
			}
		})
	}
	select {
	case <-found:
	case <-ctx.Done():
		s.t.Errorf("%s: what was awaited did not come", topic)
	}
	cancel()
	readers.Wait()
}

// links are the dashboard's, which is reached where the API is.
type links struct{ *statementlink.Signer }

func (l links) StatementLink(r *http.Request, link statementlink.Link) (string, error) {
	token, err := l.Token(link)
	return "http://" + r.Host + statementlink.Path + token, err
}
