package visits

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/sdk/core"
)

// collector takes events as the edge does, and counts. It serves the SDK and the shop too.
type collector struct {
	server *httptest.Server
	away   atomic.Bool // there is no network to the edge

	mu      sync.Mutex
	arrived map[string]int // how often each event came, by id
	visits  map[int]bool
	found   int // events that a page asked about and that were known
}

func newCollector(dist string) *collector {
	c := &collector{arrived: map[string]int{}, visits: map[int]bool{}}
	mux := http.NewServeMux()
	mux.Handle("GET /sdk/v1/", http.StripPrefix("/sdk/v1/", http.FileServer(http.Dir(dist))))
	mux.HandleFunc("POST /v1/events", c.reached(c.take))
	mux.HandleFunc("POST /v1/known", c.reached(c.known))
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) { page(w, "") })
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		// A page that is left at once has sent nothing before that.
		linger := map[bool]string{true: "3600000", false: "0"}[r.URL.Path == "/"]
		page(w, strings.Replace(sdkjs.Snippet(c.server.URL, "loja"), "data-company",
			`data-page-views="false" data-linger="`+linger+`" data-company`, 1))
	})
	c.server = httptest.NewServer(mux)
	return c
}

// reached hangs up while there is no network.
func (c *collector) reached(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c.away.Load() {
			panic(http.ErrAbortHandler)
		}
		handle(w, r)
	}
}

func page(w http.ResponseWriter, head string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><title>Loja</title><link rel="icon" href="data:,">%s`, head)
}

func (c *collector) close() { c.server.Close() }

// shop returns the shop's URL, and that of a page of another site.
func (c *collector) shop() (shop, elsewhere string) {
	return c.server.URL, strings.Replace(c.server.URL, "127.0.0.1", "localhost", 1) + "/elsewhere"
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return // the page was closed
	}
	batch, v := core.ParseBatch(string(body), "", core.Options{})
	if v != nil {
		http.Error(w, v.Message, http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	type result struct {
		EventID string `json:"eventId"`
		Status  string `json:"status"`
	}
	results := []result{}
	for _, item := range batch.Items {
		status := "ok"
		if item.Err != nil {
			status = "rejected"
		} else if c.arrived[item.Event.ID]++; c.arrived[item.Event.ID] > 1 {
			status = "duplicate"
		}
		if text, found := strings.CutPrefix(item.Event.Name, "VISIT_"); found {
			if n, err := strconv.Atoi(text); err == nil {
				c.visits[n] = true
			}
		}
		results = append(results, result{item.Event.ID, status})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results, "durability": "kafka"})
}

func (c *collector) known(w http.ResponseWriter, r *http.Request) {
	var asked struct{ EventIDs []string }
	if json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&asked) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := []string{}
	for _, id := range asked.EventIDs {
		if c.arrived[id] > 0 {
			known = append(known, id)
			c.found++
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"known": known})
}

// count tells how many of n visits' events are missing, how often each event came, and how
// many were found known.
func (c *collector) count(n int) (lost int, copies float64, found int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		if !c.visits[i] {
			lost++
		}
	}
	total := 0
	for _, times := range c.arrived {
		total += times
	}
	return lost, float64(total) / float64(max(1, len(c.arrived))), c.found
}
