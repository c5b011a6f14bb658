package edge

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// sink takes produces at once: what is measured here is the handler. What an
// event costs the whole process is measured by test/bench/edge.
type sink struct{}

func (sink) Partitions(context.Context, string) (int, error) { return 8, nil }

func (sink) ProducePartition(context.Context, string, int, []kafka.Record) error { return nil }

// quietDirectory is a directory.v1 with nothing to say.
type quietDirectory struct{}

func (quietDirectory) Follow(ctx context.Context, _ string, _ int, _ int64, _ func(int64, kafka.Record) error, caughtUp func()) error {
	caughtUp()
	<-ctx.Done()
	return ctx.Err()
}

func (quietDirectory) TopicID(context.Context, string) (string, error)    { return "", nil }
func (quietDirectory) LogEnd(context.Context, string, int) (int64, error) { return 0, nil }

func benchServer(b testing.TB) *Server {
	b.Helper()
	hasher := testHasher(b)
	server, err := New(Config{EventsPerSecond: 1e9, Burst: 1e9, NetworkPerSecond: 1e9, NetworkBurst: 1e9},
		Deps{Producer: sink{}, Directory: quietDirectory{}, Hasher: hasher})
	if err != nil {
		b.Fatal(err)
	}
	server.directory.mu.Lock()
	server.directory.served.companies[testCompany] = server.directory.newCompany(wire.Company{
		CompanyID: testCompany, Country: "BR", Origins: []string{testOrigin}, KeyCheck: hasher.Check(testCompany),
	})
	server.directory.mu.Unlock()
	b.Cleanup(func() { server.batcher.Close(context.Background()) })
	return server
}

// benchEvent is an ordinary event of a browser, of a shopper who is known.
func benchEvent(id string) string {
	digits := strings.Map(func(hex rune) rune { return '0' + hex%10 }, id[27:])
	return `{"eventId":"` + id +
		`","event":"PRODUCT_VIEW","timestamp":"2026-11-21T06:00:00.000Z","payload":{"item_id":"44123456789012","price":129.9},
		"identity":{"email":"` + id[24:] + `@example.com","phone":"+4915` + digits +
		`","customer_id":"cus_5521907","cart_token":"c1-7f0e5b9a44d2e18f"},
		"context":{"page":{"url":"https://loja.example.com/p/camiseta?utm_source=influencer&utm_campaign=Ana","path":"/p/camiseta",
			"referrer":"https://www.instagram.com/","title":"Camiseta"},
		"campaign":{"source":"influencer","medium":"link","name":"Ana"},"library":{"name":"sdk-js","version":"1.0.0"},"locale":"pt-BR",
			"screen":"390x844"},
		"visitorId":"v-0001","sessionId":"s-0001","stream":"d-0001","seq":12}`
}

// benchRequest is a request of n fresh events, without a socket.
func benchRequest(n int) *fasthttp.RequestCtx {
	events := make([]string, n)
	for i := range events {
		events[i] = benchEvent(newID())
	}
	ctx := &fasthttp.RequestCtx{}
	request := &fasthttp.Request{}
	request.Header.SetMethod("POST")
	request.Header.SetContentType("application/json")
	request.Header.Set("Origin", testOrigin)
	request.Header.SetUserAgent(phone)
	request.SetRequestURI("/v1/events")
	request.SetBodyString(batchOf(events...))
	ctx.Init(request, &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 1}, nil)
	return ctx
}

// benchShapes are the events a request, and how often memory may be allocated
// for each of them, all of the request's own included: 13 and 3.5 times, and more
// under the race detector, which empties pools.
var benchShapes = []struct {
	name   string
	events int
	allocs float64
}{{"1-event", 1, 30}, {"20-events", 20, 7}}

func TestAnEventAllocatesLittle(t *testing.T) {
	server := benchServer(t)
	for _, shape := range benchShapes {
		const runs = 500                                 // the race detector empties pools at random: few runs vary by a fifth
		requests := make([]*fasthttp.RequestCtx, runs+1) // AllocsPerRun warms up with one
		for i := range requests {
			requests[i] = benchRequest(shape.events)
			server.handle(requests[i]) // so that the connection has had a request before
			requests[i].Request.SetBodyRaw(benchRequest(shape.events).PostBody())
			requests[i].Response.Reset()
		}
		next := 0
		allocs := testing.AllocsPerRun(runs, func() {
			server.handle(requests[next])
			next++
		}) / float64(shape.events)
		if allocs > shape.allocs {
			t.Errorf("%s: %.1f allocations an event, more than %.0f", shape.name, allocs, shape.allocs)
		}
		t.Logf("%s: %.1f allocations an event", shape.name, allocs)
		for _, ctx := range requests {
			if ctx.Response.StatusCode() != 200 || !strings.Contains(string(ctx.Response.Body()), `"ok"`) {
				t.Fatalf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
			}
		}
	}
}

// BenchmarkHandle is the handler with everything between parsing and the
// answer, by as many connections as test/bench/edge has. Making the requests is
// in it.
func BenchmarkHandle(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			server := benchServer(b)
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ctx := benchRequest(shape.events)
					server.handle(ctx)
					if status := ctx.Response.StatusCode(); status != 200 {
						b.Errorf("%d %s", status, ctx.Response.Body())
						return
					}
				}
			})
			b.ReportMetric(float64(b.N*shape.events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
