package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/cmd/tributary/memory"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	roleBroker  = "broker"
	roleNothing = "nothing" // answers 204
	roleFranz   = "franz"   // fasthttp, a split of the JSON, franz-go
	roleEdge    = "edge"
	roleLossy   = "edge, acks=1"
	roleSpool   = "edge, spool" // which is not in use
)

// linger is the same for both that produce; it is the edge's default.
const linger = time.Millisecond

const company = "co_bench"

// key is the key of all records, so that both servers write to one partition.
var key = []byte(company)

// serveRole is what a started process does until its stdin ends.
func (o options) serveRole(ctx context.Context) error {
	if o.profile != "" && o.serve != roleBroker {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		defer o.profileHeap()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	switch o.serve {
	case roleBroker:
		return serveBroker(ctx)
	case roleEdge, roleLossy, roleSpool:
		return o.serveEdge(ctx)
	case roleFranz:
		return serveFranz(ctx, o.broker)
	case roleNothing:
		return serveHTTP(ctx, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(fasthttp.StatusNoContent) })
	}
	return fmt.Errorf("no such role: %s", o.serve)
}

// profileHeap writes what is in memory beside the CPU profile.
func (o options) profileHeap() {
	file, err := os.Create(o.profile + ".heap")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/edge:", err)
		return
	}
	defer file.Close()
	if err := pprof.Lookup("heap").WriteTo(file, 0); err != nil {
		fmt.Fprintln(os.Stderr, "bench/edge:", err)
	}
}

// serveBroker is an embedded broker in memory, with one company and
// one short link in its directory.
func serveBroker(ctx context.Context) error {
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		return err
	}
	defer broker.Stop()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker.Addr()}})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.EnsureTopics(ctx, kafka.TopicPlan{Partitions: 8, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}); err != nil {
		return err
	}
	hasher, err := benchHasher()
	if err != nil {
		return err
	}
	value, err := json.Marshal(wire.Company{
		V: 1, Rev: 1, CompanyID: company, Environment: "live", Country: "BR", Timezone: "America/Sao_Paulo",
		Limits: wire.Limits{EventsPerSecond: 1e9, Burst: 1e9}, KeyCheck: hasher.Check(company),
	})
	if err != nil {
		return err
	}
	link, err := json.Marshal(wire.Link{V: 1, Rev: 1, CompanyID: company, LinkID: "link_1",
		URL: "https://shop.example.com/p/sweater", Influencer: "Ana"})
	if err != nil {
		return err
	}
	for key, value := range map[string][]byte{wire.CompanyKeyPrefix + company: value, wire.LinkKeyPrefix + linkCode: link} {
		if err := kafka.NewProducer(client).Produce(ctx, wire.TopicDirectory, kafka.Record{Key: []byte(key), Value: value}); err != nil {
			return err
		}
	}
	fmt.Println(broker.Addr())
	<-ctx.Done()
	return nil
}

func benchHasher() (*identity.Hasher, error) {
	return identity.NewHasher(bytes.Repeat([]byte{7}, identity.MinSecret))
}

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

func (o options) serveEdge(ctx context.Context) (err error) {
	memory.Tune(memory.Edge, os.LookupEnv, os.DirFS("/"))
	hasher, err := benchHasher()
	if err != nil {
		return err
	}
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{o.broker}, ClientID: "edge"})
	if err != nil {
		return err
	}
	defer client.Close()
	deps := edge.Deps{Producer: kafka.NewProducer(client), Directory: client, Hasher: hasher}
	switch o.serve {
	case roleLossy:
		deps.Producer = kafka.NewLossyProducer(client)
	case roleSpool:
		dir, err := os.MkdirTemp("", "tributary-bench-edge-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if deps.Spool, err = spool.Open(spool.Config{Dir: dir}); err != nil { //nolint:contextcheck // it waits for nothing
			return err
		}
		defer func() { err = errors.Join(err, deps.Spool.Close()) }()
	}
	server, err := edge.New(edge.Config{Linger: linger, NetworkPerSecond: 1e9, NetworkBurst: 1e9, MaxBodies: 1 << 30}, deps)
	if err != nil {
		return err
	}
	listener, err := listen()
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return server.Serve(ctx, listener)
}

// serveFranz is the least that stores events: one record for each, under the same
// key as the edge's.
func serveFranz(ctx context.Context, broker string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(wire.TopicEvents), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(linger), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	return serveHTTP(ctx, func(request *fasthttp.RequestCtx) {
		body := request.PostBody()
		if string(request.Request.Header.ContentEncoding()) == "gzip" {
			inflated, err := request.Request.BodyGunzip()
			if err != nil {
				request.SetStatusCode(fasthttp.StatusBadRequest)
				return
			}
			body = inflated
		}
		events, err := split(body)
		if err != nil {
			request.SetStatusCode(fasthttp.StatusBadRequest)
			return
		}
		if err := produceEach(ctx, client, events); err != nil {
			request.SetStatusCode(fasthttp.StatusServiceUnavailable)
			return
		}
		answerLikeEdge(request, len(events))
	})
}

// answerLikeEdge answers with as many bytes as the edge does, so that to send them
// costs the same.
func answerLikeEdge(request *fasthttp.RequestCtx, events int) {
	request.SetContentType("application/json")
	request.Response.Header.Set("Vary", "Origin")
	request.Response.Header.Set("X-Request-Id", idMark)
	request.Response.AppendBodyString(`{"results":[`)
	for i := range events {
		if i > 0 {
			request.Response.AppendBodyString(",")
		}
		request.Response.AppendBodyString(`{"eventId":"` + idMark + `","status":"ok"}`)
	}
	request.Response.AppendBodyString(`],"durability":"kafka","request_id":"` + idMark + `"}`)
}

// split copies the events out of a body, which its server uses again.
func split(body []byte) ([]json.RawMessage, error) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var events []json.RawMessage
		return events, json.Unmarshal(body, &events)
	}
	if !json.Valid(body) {
		return nil, errors.New("not JSON")
	}
	return []json.RawMessage{append(json.RawMessage(nil), body...)}, nil
}

func produceEach(ctx context.Context, client *kgo.Client, events []json.RawMessage) error {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed error
	wait.Add(len(events))
	for _, event := range events {
		client.Produce(ctx, &kgo.Record{Key: key, Value: event}, func(_ *kgo.Record, err error) {
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
			wait.Done()
		})
	}
	wait.Wait()
	return failed
}

func serveHTTP(ctx context.Context, handler fasthttp.RequestHandler) error {
	listener, err := listen()
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &fasthttp.Server{
		Handler: handler, NoDefaultServerHeader: true, CloseOnShutdown: true,
		ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: time.Minute, // the edge's
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopped <- server.Shutdown()
	}()
	if err := server.Serve(listener); err != nil {
		return err
	}
	return <-stopped
}
