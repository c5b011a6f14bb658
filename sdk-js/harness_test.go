package sdkjs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
)

// got is one event as the edge received it.
type got struct {
	core.Event
	raw  bool
	text string // as it was sent
}

// edge is an edge on loopback: it serves a build's files and takes events
// with the core, as the real one does.
type edge struct {
	*httptest.Server
	mu     sync.Mutex
	status int    // of every answer
	key    string // that a request must bring; empty: none

	foreign []int // what something before the edge answers to the next requests with events
	most    int   // bytes of a request that it lets through; 0: any

	archived bool // the company is
	known    map[string]bool
	changed  chan struct{}
	so       seen
}

// seen is what an edge saw.
type seen struct {
	paths    map[string]int // all requests, by path
	requests int            // with events
	types    []string       // content types of the requests
	events   []got          // each id once, as in the real edge
	refused  []got          // those of requests that were not answered 200
	cookies  []string       // of each request: "+" where it brought some, else "-"
	origins  []string       // of each request

	asked     int            // requests that ask which events are known
	forgotten int            // requests that end the server's cookie
	again     int            // events that came again
	dropped   []core.Dropped // what senders say that they gave up, of requests that were answered 200
}

func newEdge(t *testing.T, dist string) *edge {
	e := &edge{status: http.StatusOK, known: map[string]bool{}, changed: make(chan struct{}), so: seen{paths: map[string]int{}}}
	mux := http.NewServeMux()
	files := http.StripPrefix("/t/sdk/v1/", http.FileServer(http.Dir(dist)))
	mux.HandleFunc("GET /t/sdk/v1/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST /t/v1/events", e.before(e.take))
	mux.HandleFunc("GET /t/v1/events", func(w http.ResponseWriter, r *http.Request) { // a redirect has made it one
		allowPage(w, r)
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = io.WriteString(w, `{"error":{"code":"method_not_allowed","message":"this route takes POST"},"request_id":"r"}`)
	})
	mux.HandleFunc("POST /t/v1/known", e.tell)
	mux.HandleFunc("POST /t/v1/forget", e.forget)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.so.paths[strings.TrimPrefix(r.URL.Path, "/t")]++
		e.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// archive makes the edge refuse all events: their company is archived.
func (e *edge) archive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.archived, e.status = true, http.StatusForbidden
}

// needs makes the edge refuse requests that do not bring the key.
func (e *edge) needs(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.key = key
}

// before is a proxy or a firewall before the edge: it has answers of its own.
func (e *edge) before(take http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		status := 0
		if len(e.foreign) > 0 {
			status, e.foreign = e.foreign[0], e.foreign[1:]
		} else if e.most > 0 && r.ContentLength > int64(e.most) {
			status = http.StatusRequestEntityTooLarge
		}
		if status != 0 {
			e.so.requests++
			close(e.changed)
			e.changed = make(chan struct{})
		}
		e.mu.Unlock()
		if status == 0 {
			take(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // a page that is closed sends less
		allowPage(w, r)
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><h1>waf</h1></html>")
	}
}

// answersOnce makes something before the edge give these answers, one each.
func (e *edge) answersOnce(statuses ...int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.foreign = statuses
}

// takesAtMost makes something before the edge refuse larger requests.
func (e *edge) takesAtMost(bytes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.most = bytes
}

func (e *edge) take(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the page was closed
	}
	batch, v := core.ParseBatch(string(body), "", core.Options{})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.so.requests++
	e.so.types = append(e.so.types, r.Header.Get("Content-Type"))
	e.so.cookies = append(e.so.cookies, map[bool]string{true: "+", false: "-"}[r.Header.Get("Cookie") != ""])
	e.so.origins = append(e.so.origins, r.Header.Get("Origin"))
	if e.key != "" && r.Header.Get("Authorization") != "Bearer "+e.key {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":"unauthorized","message":"another key"}}`)
		return
	}
	var results []string
	for _, item := range batch.Items {
		g := got{Event: item.Event, raw: item.Raw, text: item.Text}
		status := "ok"
		switch {
		case item.Err != nil:
			status = "rejected"
		case e.known[item.Event.ID]:
			status = "duplicate"
		}
		result := fmt.Sprintf(`{"eventId":%q,"status":%q`, item.Event.ID, status)
		if item.Err != nil {
			result += fmt.Sprintf(`,"code":%q,"message":%q`, item.Err.Code, item.Err.Message)
		}
		results = append(results, result+"}")
		switch {
		case status == "duplicate":
			e.so.again++
		case e.status == http.StatusOK:
			e.known[g.ID] = true
			e.so.events = append(e.so.events, g)
		default:
			e.so.refused = append(e.so.refused, g)
		}
	}
	if e.status == http.StatusOK && batch.Dropped != (core.Dropped{}) {
		e.so.dropped = append(e.so.dropped, batch.Dropped)
	}
	close(e.changed)
	e.changed = make(chan struct{})
	if v != nil || batch.CompanyID != "loja" {
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch e.status { // as the real one answers
	case http.StatusUnauthorized:
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, `{"error":{"code":"unknown_company","message":"no such company"}}`)
		return
	case http.StatusForbidden: // without credentials
		if e.archived {
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			w.WriteHeader(e.status)
			_, _ = io.WriteString(w, `{"error":{"code":"company_archived","message":"it takes no events"}}`)
			return
		}
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, `{"error":{"code":"origin_not_allowed","message":"allow it"}}`)
		return
	}
	w.Header().Set("Access-Control-Allow-Credentials", "true")
	w.WriteHeader(e.status)
	_, _ = fmt.Fprintf(w, `{"results":[%s],"durability":"kafka"}`, strings.Join(results, ","))
}

// tell says which events it knows.
func (e *edge) tell(w http.ResponseWriter, r *http.Request) {
	allowPage(w, r)
	var asked struct {
		CompanyID string   `json:"companyId"`
		EventIDs  []string `json:"eventIds"`
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.so.asked++
	if e.status != http.StatusOK {
		w.WriteHeader(e.status)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.CompanyID != "loja" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	known := []string{}
	for _, id := range asked.EventIDs {
		if e.known[id] {
			known = append(known, id)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"known": known})
}

// forget counts the requests that end the server's cookie.
func (e *edge) forget(w http.ResponseWriter, r *http.Request) {
	allowPage(w, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.so.forgotten++
	close(e.changed)
	e.changed = make(chan struct{})
	w.WriteHeader(http.StatusNoContent)
}

func allowPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	w.Header().Set("Access-Control-Allow-Credentials", "true")
}

func (e *edge) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// wait returns when done returns true. It is called again after each request.
func (e *edge) wait(t *testing.T, what string, done func(seen) bool) {
	t.Helper()
	late := time.After(await.Long)
	for {
		e.mu.Lock()
		ok, changed := done(e.so), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			e.mu.Lock()
			defer e.mu.Unlock()
			t.Fatalf("%s: not within %v; %d requests, events %s", what, await.Long, e.so.requests, names(e.so.events))
		}
	}
}

// life bounds all that a test does with one page, and patience one question to it.
const (
	life     = 10 * await.Long
	patience = 5 * time.Second
)

// until asks a page until it says yes. A page that is on its way, to another or to its own scripts, answers with an error or not
// at all, and is asked again.
func until(t *testing.T, page *rod.Page, question string) {
	t.Helper()
	var wrong error
	await.Until(t, await.Long, func() bool {
		asked := page.Timeout(patience)
		defer asked.CancelTimeout()
		answer, err := asked.Eval(question)
		wrong = err
		return err == nil && answer.Value.Bool()
	}, func() string { return fmt.Sprintf("the page says no to %s; %v", question, wrong) })
}

func names(events []got) string {
	var s []string
	for _, event := range events {
		s = append(s, event.Name)
	}
	return strings.Join(s, " ")
}

// seen returns a copy of what the edge saw so far.
func (e *edge) seen() seen {
	e.mu.Lock()
	defer e.mu.Unlock()
	so := e.so
	so.paths = maps.Clone(so.paths)
	so.types, so.events, so.refused, so.origins = slices.Clone(so.types), slices.Clone(so.events), slices.Clone(so.refused),
		slices.Clone(so.origins)
	return so
}

// named returns the first event of a name, or nil.
func (s seen) named(name string) *got {
	for i := range s.events {
		if s.events[i].Name == name {
			return &s.events[i]
		}
	}
	return nil
}

// copies counts the events of a name.
func (s seen) copies(name string) (n int) {
	for _, event := range s.events {
		if event.Name == name {
			n++
		}
	}
	return n
}

// shop serves pages: each path is a page with a script in its head.
func shop(t *testing.T, pages map[string]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		script, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>Loja %s</title><link rel="icon" href="data:,">%s`, r.URL.Path, script)
	}))
	t.Cleanup(s.Close)
	return s
}

func (e *edge) tag(attributes string) string {
	return fmt.Sprintf(`<script async src="%s/t/sdk/v1/tributary.js" %s></script>`, e.URL, attributes)
}

// stub is the snippet's own, without the script's tag.
func stub() string {
	before, _, _ := strings.Cut(sdkjs.Snippet("", ""), "<script async")
	return before
}

// stubbed is a page with the stub, the script, and what the shop does at once.
func (e *edge) stubbed(script string) string {
	return stub() + e.tag("") + "<script>" + script + "</script>"
}
