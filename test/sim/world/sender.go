package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/sdk"
)

// sender is a merchant's backend that uses the SDK, one process after another.
type sender struct {
	w       *world
	random  *dice
	number  int
	company string
	to      *machine

	mu      sync.Mutex
	client  *sdk.Client
	crash   context.CancelFunc // ends the process without a flush
	pending map[string]bool    // tracked in this process and without a result
	newest  string
	seq     int
}

func (s *sender) start() {
	transport := &http.Transport{
		DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return s.w.network.dial(ctx, s.to) },
		MaxIdleConnsPerHost:   1,
		IdleConnTimeout:       20 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second,
	}
	alive, crash := context.WithCancel(context.Background())
	client, err := sdk.New(sdk.Config{
		CompanyID: s.company, Endpoint: "http://edge.example.com", QueueSize: 60, BatchEvents: 20, FlushInterval: 100 * time.Millisecond,
		OnResult:   func(r sdk.Result) { s.result(alive, r) },
		Logger:     slog.New(slog.DiscardHandler),
		HTTPClient: &http.Client{Transport: mortal{transport, alive, s}},
	})
	if err != nil {
		panic(err) // no setting is wrong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client, s.pending = client, map[string]bool{}
	s.crash = func() { crash(); transport.CloseIdleConnections() }
}

// mortal sends no request of a process that has crashed.
type mortal struct {
	*http.Transport
	alive context.Context //nolint:containedctx // the life of a process
	of    *sender
}

// closing is a body that ends its request's context when it is closed.
type closing struct {
	io.ReadCloser
	end func()
}

func (c closing) Close() error {
	defer c.end()
	return c.ReadCloser.Close()
}

func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	m.of.w.noteSent(m.of, text)
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(m.alive, cancel)
	response, err := m.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	response.Body = closing{response.Body, func() { stop(); cancel() }}
	return response, nil
}

// track gives the SDK an event; with an id of its own, or a twin's.
func (s *sender) track(id string, size int) {
	if id == "" {
		id = s.newID()
	}
	s.mu.Lock()
	client := s.client
	if client == nil || s.pending[id] {
		s.mu.Unlock()
		return
	}
	s.pending[id], s.newest = true, id
	s.seq++
	seq := s.seq
	s.mu.Unlock()
	s.w.noteTracked(s, id)
	err := client.TrackEvent(context.Background(), sdk.Event{
		ID: id, Name: sdk.PageView, Payload: fmt.Sprintf(`{"sender":%d,"n":%d,"fill":%q}`, s.number, seq, strings.Repeat("x", size)),
	})
	if err != nil {
		s.mu.Lock()
		delete(s.pending, id)
		s.mu.Unlock()
		if !errors.Is(err, sdk.ErrQueueFull) {
			s.w.violate("sender %d: the SDK does not take a valid event: %v", s.number, err)
		}
		s.w.count(&s.w.report.QueueFull)
	}
}

// result is what the SDK says of an event.
func (s *sender) result(alive context.Context, r sdk.Result) {
	if alive.Err() != nil {
		return
	}
	s.mu.Lock()
	known := s.pending[r.EventID]
	delete(s.pending, r.EventID)
	s.mu.Unlock()
	if !known {
		s.w.violate("sender %d: a second result for %s: %s", s.number, r.EventID, r.Status)
		return
	}
	s.w.noteResult(s, r)
}

// die ends the process as SIGKILL does, and waits until nothing of it is left.
func (s *sender) die() {
	s.mu.Lock()
	client, crash := s.client, s.crash
	s.client = nil
	s.mu.Unlock()
	crash()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = client.Close(ended) // what it has left is lost with the process
}

// newID is a UUIDv7 (RFC 9562) of the virtual time.
func (s *sender) newID() string {
	var b [16]byte
	copy(b[6:], s.random.bytes(10))
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
	copy(b[:6], ms[2:])
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
