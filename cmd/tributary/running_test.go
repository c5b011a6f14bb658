package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// running is a command that runs until stop.
type running struct {
	t      *testing.T
	out    await.Buffer
	cancel context.CancelFunc
	ended  chan int // its exit status
	done   bool
}

// start runs a command in this process; it is stopped at the test's end.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, ended: make(chan int, 1)}
	go func() { r.ended <- run(ctx, args, &r.out, &r.out) }()
	t.Cleanup(r.stop)
	return r
}

// says waits until the command has printed a text.
func (r *running) says(text string) {
	r.t.Helper()
	await.Until(r.t, await.Long, func() bool { return strings.Contains(r.out.String(), text) },
		func() string { return "want " + text + " in\n" + r.out.String() })
}

var listensAt = regexp.MustCompile(`msg="\w+ listens" addr=(\S+)`)

// internalAt finds the address of --internal-addr.
var internalAt = regexp.MustCompile(`msg="\w+ listens for metrics and health" addr=(\S+)`)

// origin waits until the service listens and returns its origin.
func (r *running) origin() string {
	r.t.Helper()
	r.says(" listens")
	return "http://" + listensAt.FindStringSubmatch(r.out.String())[1]
}

// stop ends the command as SIGTERM does. The exit status must be 0.
func (r *running) stop() {
	r.t.Helper()
	if r.done {
		return
	}
	r.done = true
	r.cancel()
	if status := <-r.ended; status != 0 {
		r.t.Errorf("exit status %d:\n%s", status, r.out.String())
	}
}

// ends waits until the command has ended by itself, and returns its exit status.
func (r *running) ends() int {
	r.t.Helper()
	select {
	case status := <-r.ended:
		r.done = true
		return status
	case <-time.After(await.Long):
		r.t.Fatalf("it goes on:\n%s", r.out.String())
		return 0
	}
}

// services are edge, admin, processor and connect of one installation, on real stores.
type services struct {
	t                               *testing.T
	edge, admin, processor, connect *running
	company, key                    string
	dsn                             string // of the owner of the tables; the services have another role
}

// startServices starts them and returns once all three are ready. The edge gets
// more arguments.
func startServices(t *testing.T, edgeArgs ...string) *services {
	t.Helper()
	return startServicesAt(t, devtest.Kafka(t), edgeArgs...)
}

// startServicesAt is startServices at a broker that has the topics.
func startServicesAt(t *testing.T, broker string, edgeArgs ...string) *services {
	t.Helper()
	live, dsn := installation(t)
	t.Setenv("TRIBUTARY_TOKEN_SECRET", strings.Repeat("t", 32))
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	t.Setenv("TRIBUTARY_ADDR", "127.0.0.1:0")
	out, status := command(t, "keys", "create", "erp", "--company", live.CompanyID)
	if status != 0 {
		t.Fatalf("keys create: %d\n%s", status, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	s := &services{t: t, dsn: dsn, company: live.CompanyID, key: lines[len(lines)-1]}
	s.admin = start(t, "admin", "--short-base", "go.example.com")
	s.processor = start(t, "processor")
	s.edge = start(t, append([]string{"edge"}, edgeArgs...)...)
	for _, service := range []*running{s.admin, s.processor, s.edge} {
		service.is(http.StatusOK, func() *http.Request { return s.request(http.MethodGet, service.origin()+"/readyz", "") })
	}
	// The company reaches the edge by the outbox and the directory.
	s.edge.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", s.event()) })
	return s
}

// startConnect starts connect beside the others.
func (s *services) startConnect() {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "connect.key")
	if out, status := command(s.t, "connect", "key", "create", "--connect-key-file", path); status != 0 {
		s.t.Fatal(out)
	}
	s.connect = start(s.t, "connect", "--contact", "it@example.com", "--admin-url", s.admin.origin(), "--connect-key-file", path)
	s.connect.is(http.StatusOK, func() *http.Request { return s.request(http.MethodGet, s.connect.origin()+"/readyz", "") })
}

// event is a body of one event.
func (s *services) event() string {
	return fmt.Sprintf(`{"companyId":%q,"event":"PAGE_VIEW","eventId":%q}`, s.company, uuid.Must(uuid.NewV7()))
}

const anOrder = `{"orderId":"1001","orderStatus":0,"createdAt":"2026-03-15T12:00:00Z","updatedAt":"2026-03-15T12:00:00Z",` +
	`"totalPrice":200.00,"currency":"BRL"}`

func (s *services) request(method, url, body string) *http.Request {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.HasSuffix(r.URL.Path, "/events") { // an edge wants another scope, and none for a page's event
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

// is sends requests until one is answered with a status, and returns its body.
func (r *running) is(status int, request func() *http.Request) string {
	r.t.Helper()
	var said string
	await.Until(r.t, await.Long, func() bool {
		response, err := http.DefaultClient.Do(request())
		if err != nil {
			said = err.Error()
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		said = fmt.Sprintf("%s %s %v", response.Status, text, err)
		if response.StatusCode == status && err == nil {
			said = string(text)
			return true
		}
		return false
	}, func() string { return said + "\n" + r.out.String() })
	return said
}

// metrics is what the service answers to Prometheus.
func (r *running) metrics() string {
	r.t.Helper()
	origin := r.origin()
	if internal := internalAt.FindStringSubmatch(r.out.String()); internal != nil { // said before the other
		origin = "http://" + internal[1]
	}
	return r.is(http.StatusOK, func() *http.Request {
		request, err := http.NewRequest(http.MethodGet, origin+"/metrics", nil)
		if err != nil {
			r.t.Fatal(err)
		}
		return request
	})
}
