// Package balance stands before services of one kind, as a load balancer does.
package balance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// Balancer leads each request to the next service that was ready when it was asked last. It tries nothing again.
// What clients are refused is counted here, before they try again.
type Balancer struct {
	URL      string       // http://host:port, without a path
	Answered atomic.Int64 // by 2xx
	Refused  atomic.Int64 // requests that no service answered
	Failed   atomic.Int64 // answers of services with another status than 2xx

	server *http.Server
	addrs  []string
	stop   context.CancelFunc
	wait   sync.WaitGroup

	mu    sync.Mutex
	ready []bool // by addrs
	next  int
	first string // what First returns
}

const (
	lookEvery   = 250 * time.Millisecond
	mostSilent  = 2 // times in a row that a service may give no answer until nothing is led to it
	headerLasts = 10 * time.Second
)

var errNone = errors.New("none is ready")

// New listens on an address before services, which are host:port each. Call Close when done.
func New(ctx context.Context, addr string, services ...string) (*Balancer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("balance: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	b := &Balancer{URL: "http://" + listener.Addr().String(), addrs: services, stop: stop, ready: make([]bool, len(services))}
	for n := range services {
		b.wait.Go(func() { b.look(ctx, n) })
	}
	b.server = &http.Server{ReadHeaderTimeout: headerLasts, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: b.choose()})
			r.Out.Host = r.In.Host // what shops sign
		},
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode/100 == 2 {
				b.Answered.Add(1)
			} else {
				b.Failed.Add(1)
				b.note(r.Request.URL.Host + " " + r.Status)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.URL.Host == "" {
				err = errNone
			}
			if r.Context().Err() == nil { // else the client went away
				b.Refused.Add(1)
				b.note(err.Error())
			}
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		},
	}}
	b.wait.Go(func() {
		if err := b.server.Serve(listener); err != nil && ctx.Err() == nil {
			b.Refused.Add(1)
			b.note(err.Error())
		}
	})
	return b, nil
}

// look asks a service again and again whether it is ready.
func (b *Balancer) look(ctx context.Context, n int) {
	for silent := 0; ; {
		is, answered := Ready(ctx, b.addrs[n])
		if silent++; answered {
			silent = 0
		}
		if answered || silent >= mostSilent {
			b.mu.Lock()
			b.ready[n] = is
			b.mu.Unlock()
		}
		if !background.Sleep(ctx, lookEvery) {
			return
		}
	}
}

// choose is the address of the next ready service; "": none is.
func (b *Balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.addrs {
		b.next = (b.next + 1) % len(b.addrs)
		if b.ready[b.next] {
			return b.addrs[b.next]
		}
	}
	return ""
}

// Has says whether requests are led to a service.
func (b *Balancer) Has(addr string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, is := range b.ready {
		if b.addrs[n] == addr {
			return is
		}
	}
	return false
}

// First is why the first request was refused or failed; "": none was.
func (b *Balancer) First() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first
}

func (b *Balancer) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == "" {
		b.first = what
	}
}

// Close ends it, and waits for what it began.
func (b *Balancer) Close() {
	b.stop()
	_ = b.server.Close()
	b.wait.Wait()
}

// Ready asks a service's /readyz: whether it is ready, and whether it answered.
func Ready(ctx context.Context, addr string) (ready, answered bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return false, false
	}
	response, err := asker.Do(request)
	if err != nil {
		return false, false
	}
	return response.StatusCode == http.StatusOK, response.Body.Close() == nil
}

var asker = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
