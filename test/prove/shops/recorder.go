package shops

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// recorder stands before connect and keeps notices, so that they can be sent once more.
type recorder struct {
	server *httptest.Server
	mu     sync.Mutex
	kept   map[string][]notice // by the platform
}

// notice is a request that came.
type notice struct {
	uri    string
	header http.Header
	body   []byte
}

// Bounds of what is kept.
const (
	keptNotices = 100 // of one platform
	maxNotice   = 4 << 20
)

// newRecorder leads what comes to connect's address.
func newRecorder(to string) *recorder {
	r := &recorder{kept: map[string][]notice{}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(io.LimitReader(q.Body, maxNotice))
		if err != nil {
			return // the sender went
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		r.keep(notice{q.RequestURI, q.Header.Clone(), body})
		proxy.ServeHTTP(w, q)
	}))
	return r
}

func (r *recorder) keep(n notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	platform, _, _ := strings.Cut(strings.TrimPrefix(n.uri, "/connect/"), "/")
	if len(r.kept[platform]) < keptNotices {
		r.kept[platform] = append(r.kept[platform], n)
	}
}

// replay sends the kept notices of a platform once more, and returns how many.
func (r *recorder) replay(ctx context.Context, platform string) (int, error) {
	r.mu.Lock()
	list := r.kept[platform]
	r.mu.Unlock()
	for _, n := range list {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.server.URL+n.uri, bytes.NewReader(n.body))
		if err != nil {
			return 0, err
		}
		request.Header = n.header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, fmt.Errorf("a notice once more: %w", err)
		}
		_ = response.Body.Close()
	}
	return len(list), nil
}
