package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/test/await"
)

// No load balancer leads to the services of the other tests.
func TestMain(m *testing.M) {
	runAsTributary()
	if err := os.Setenv("TRIBUTARY_SHUTDOWN_DELAY", "0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// balancer leads each request to the next service that was ready when it was asked last, as load balancers do. It tries nothing again.
type balancer struct {
	mu       sync.Mutex
	services []*running
	ready    map[*running]bool
	next     int
	refused  atomic.Int64 // requests that no service answered
}

// balance starts a balancer, which ends with the test.
func balance(t *testing.T, services ...*running) (*balancer, string) {
	t.Helper()
	b := &balancer{services: services, ready: map[*running]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() { b.ask(ctx) })
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if origin, err := url.Parse(b.choose()); err == nil {
				r.SetURL(origin)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			b.refused.Add(1)
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	})
	t.Cleanup(func() {
		server.Close()
		cancel()
		asking.Wait()
	})
	return b, server.URL
}

// ask looks at /readyz of all services every 50 ms.
func (b *balancer) ask(ctx context.Context) {
	client := &http.Client{Timeout: time.Second}
	for ctx.Err() == nil {
		b.mu.Lock()
		services := b.services
		b.mu.Unlock()
		for _, service := range services {
			response, err := client.Get(service.origin() + "/readyz")
			b.mu.Lock()
			b.ready[service] = err == nil && response.StatusCode == http.StatusOK
			b.mu.Unlock()
			if err == nil {
				response.Body.Close()
			}
		}
		background.Sleep(ctx, 50*time.Millisecond)
	}
}

// choose returns the origin of the next ready service, "" where none is.
func (b *balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.services {
		b.next++
		if service := b.services[b.next%len(b.services)]; b.ready[service] {
			return service.origin()
		}
	}
	return ""
}

// replace stops a service as a deployment does, and starts another one in its place. It returns once that one is ready.
func (b *balancer) replace(t *testing.T, at int, args ...string) {
	t.Helper()
	b.services[at].stop()
	newcomer := start(t, args...)
	newcomer.says(" listens")
	b.mu.Lock()
	services := append([]*running{}, b.services...)
	services[at] = newcomer
	b.services = services
	b.mu.Unlock()
	await.Until(t, await.Long, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.ready[newcomer]
	}, func() string { return "the new one is not ready:\n" + newcomer.out.String() })
}

// Two edges and two admins behind a balancer and two processors, each restarted in turn under load: no request is refused, and
// nothing that was acknowledged is lost.
func TestARollingRestartRefusesNothing(t *testing.T) {
	edgeArgs := []string{"edge", "--shutdown-delay", "3s"}
	adminArgs := []string{"admin", "--short-base", "go.example.com", "--shutdown-delay", "3s"}
	s := startServices(t, edgeArgs[1:]...)
	edges, edgeURL := balance(t, s.edge, start(t, edgeArgs...))
	s.admin.stop()
	admins, adminURL := balance(t, start(t, adminArgs...), start(t, adminArgs...))
	for _, b := range []*balancer{edges, admins} {
		await.Until(t, await.Long, func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.ready[b.services[0]] && b.ready[b.services[1]]
		}, func() string { return b.services[0].out.String() + b.services[1].out.String() })
	}
	processors := []*running{s.processor, start(t, "processor")}
	processors[1].says("partition owned")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	// A sender sends one request after the other, some 50 a second at most, and returns how many were acknowledged.
	send := func(request func(i int) *http.Request) *atomic.Int64 {
		acknowledged := &atomic.Int64{}
		load.Go(func() {
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				response, err := http.DefaultClient.Do(request(i))
				if err != nil {
					t.Errorf("the balancer does not answer: %v", err)
					return
				}
				body, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if response.StatusCode/100 != 2 {
					t.Errorf("request %d: %s %s", i, response.Status, body)
				} else {
					acknowledged.Add(1)
				}
				<-pace.C
			}
		})
		return acknowledged
	}
	events := send(func(int) *http.Request { return s.request(http.MethodPost, edgeURL+"/v1/events", s.event()) })
	orders := send(func(i int) *http.Request {
		return s.request(http.MethodPost, adminURL+"/admin/v1/order", strings.Replace(anOrder, "1001", fmt.Sprint("o", i), 1))
	})
	for at := range 2 {
		var both sync.WaitGroup
		both.Go(func() { edges.replace(t, at, edgeArgs...) })
		both.Go(func() { admins.replace(t, at, adminArgs...) })
		both.Go(func() {
			processors[at].stop()
			processors[at] = start(t, "processor")
			processors[at].says("partition owned")
		})
		both.Wait()
	}
	stop()
	load.Wait()
	if edges.refused.Load()+admins.refused.Load() > 0 || events.Load() < 10 || orders.Load() < 10 {
		t.Errorf("acknowledged %d events and %d orders, refused %d and %d", events.Load(), orders.Load(), edges.refused.Load(),
			admins.refused.Load())
	}
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var gotEvents, gotOrders int64
	await.Until(t, await.Long, func() bool {
		err = conn.QueryRow(context.Background(),
			`select (select count(*) from event_fact), (select count(*) from orders)`).Scan(&gotEvents, &gotOrders)
		return err != nil || gotEvents == events.Load()+1 && gotOrders == orders.Load() // one event is that of startServices
	}, func() string {
		return fmt.Sprintf("stored %d events and %d orders; acknowledged %d and %d", gotEvents, gotOrders, events.Load()+1, orders.Load())
	})
	if err != nil {
		t.Fatal(err)
	}
}
