package edge

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// sink takes produces in memory, at the price measured for kafka-go against a
// real broker: about 18 µs of CPU and a millisecond of waiting per call. So
// the benchmarks measure the edge, not a broker that shares the machine.
type sink struct{ calls, records atomic.Int64 }

const (
	sinkWait = time.Millisecond
	sinkCPU  = 18 * time.Microsecond
)

func (s *sink) Partitions(context.Context, string) (int, error) { return 8, nil }

func (s *sink) ProducePartition(_ context.Context, _ string, _ int, batch []kafka.Record) error {
	s.calls.Add(1)
	s.records.Add(int64(len(batch)))
	for until := time.Now().Add(sinkCPU); time.Now().Before(until); {
	}
	time.Sleep(sinkWait)
	return nil
}

// quietDirectory is a directory.v1 with nothing to say.
type quietDirectory struct{}

func (quietDirectory) Follow(ctx context.Context, _ string, _ int, _ int64, _ func(int64, kafka.Record) error, caughtUp func()) error {
	caughtUp()
	<-ctx.Done()
	return ctx.Err()
}

func (quietDirectory) LogEnd(context.Context, string, int) (int64, error) { return 0, nil }

func benchServer(b *testing.B, s *sink) *Server {
	b.Helper()
	hasher := testHasher(b)
	server, err := New(Config{EventsPerSecond: 1e9, Burst: 1e9}, Deps{Producer: s, Directory: quietDirectory{}, Hasher: hasher})
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

// benchEvent is an ordinary event of a browser.
func benchEvent(id string) string {
	return `{"eventId":"` + id + `","event":"PRODUCT_VIEW","timestamp":"2026-11-21T06:00:00.000Z","payload":{"item_id":"44123456789012","price":129.9},
		"context":{"page":{"url":"https://loja.example.com/p/camiseta?utm_source=influencer&utm_campaign=Ana","path":"/p/camiseta","referrer":"https://www.instagram.com/","title":"Camiseta"},
		"campaign":{"source":"influencer","medium":"link","name":"Ana"},"library":{"name":"sdk-js","version":"1.0.0"},"locale":"pt-BR","screen":"390x844"},
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

// benchShapes are the events a request.
var benchShapes = []struct {
	name   string
	events int
}{{"1-event", 1}, {"10-events", 10}}

// BenchmarkCollect is handler and batcher, with the requests of 256
// connections. The client's work, making the requests, is in it.
func BenchmarkCollect(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			benchCollect(b, shape.events, func(server *Server, ctx *fasthttp.RequestCtx) { server.handle(ctx) })
		})
	}
}

// BenchmarkOneProducePerRequest is the baseline: the same handler, but each
// request produces for itself instead of sharing the batcher's.
func BenchmarkOneProducePerRequest(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			benchCollect(b, shape.events, func(server *Server, ctx *fasthttp.RequestCtx) {
				d, refused := server.newDelivery(ctx, string(ctx.PostBody()), "", "")
				if refused != nil {
					server.refuse(ctx, *refused)
					return
				}
				d.makeRecords()
				d.finish(server.deps.Producer.ProducePartition(ctx, wire.TopicEvents, 0, d.events) == nil)
				server.answer(ctx, d.results, d.durable)
			})
		})
	}
}

func benchCollect(b *testing.B, events int, serve func(*Server, *fasthttp.RequestCtx)) {
	s := &sink{}
	server := benchServer(b, s)
	b.SetParallelism(128)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ctx := benchRequest(events)
			serve(server, ctx)
			if status := ctx.Response.StatusCode(); status != 200 || !strings.Contains(string(ctx.Response.Body()), `"ok"`) {
				b.Errorf("%d %s", status, ctx.Response.Body())
				return
			}
		}
	})
	b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(s.records.Load())/float64(s.calls.Load()), "records/produce")
}
