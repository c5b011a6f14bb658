package importer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// edge is a server that keeps what it was sent and answers as the real one does.
type edge struct {
	*httptest.Server
	mu      sync.Mutex
	events  []string
	batches []int
	// before may answer in the server's place; it is called with the requests' number, from 1.
	before   func(n int, w http.ResponseWriter) bool
	requests int
}

func newEdge(t *testing.T) *edge {
	e := &edge{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *edge) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	if e.before != nil && e.before(e.requests, w) {
		return
	}
	if r.URL.Path != "/v1/events" || r.URL.Query().Get("companyId") != "c_1" || r.Header.Get("Authorization") != "Bearer k" {
		http.Error(w, "not as an import should be sent: "+r.URL.String(), http.StatusBadRequest)
		return
	}
	var events []json.RawMessage
	if err := json.Unmarshal(body, &events); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.batches = append(e.batches, len(events))
	type result struct {
		Status  string `json:"status"`
		Code    string `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	var answer struct {
		Results []result `json:"results"`
	}
	for _, event := range events {
		switch {
		case strings.Contains(string(event), "bad"):
			answer.Results = append(answer.Results, result{"rejected", "invalid_event", "bad one"})
		case slices.Contains(e.events, string(event)):
			answer.Results = append(answer.Results, result{Status: "duplicate"})
		default:
			e.events = append(e.events, string(event))
			answer.Results = append(answer.Results, result{Status: "ok"})
		}
	}
	json.NewEncoder(w).Encode(answer)
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		text = b.String()
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func eventLines(n int) (text string, lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"eventId":"%d","event":"PAGE_VIEW"}`, i))
	}
	return strings.Join(lines, "\n") + "\n", lines
}

var quick = Backoff{First: time.Millisecond, Most: 2 * time.Millisecond, GiveUp: 5 * time.Second}

func TestEventsArriveInBatchesAndTheProgressIsRemoved(t *testing.T) {
	f := func(name string) {
		t.Helper()
		text, lines := eventLines(1203)
		e := newEdge(t)
		path := writeFile(t, name, "\xef\xbb\xbf"+text+"\n\n") // byte-order mark, blank lines
		s, err := Events(t.Context(), Config{File: path}, e.URL+"/", "c_1", "k")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		slices.Sort(e.events)
		if !slices.Equal(e.events, lines) {
			t.Errorf("%s: the edge has %d events, not the file's %d", name, len(e.events), len(lines))
		}
		if len(e.batches) != 3 || slices.Max(e.batches) != 500 {
			t.Errorf("%s: batches of %v, want 500, 500 and 203", name, e.batches)
		}
		if s.Accepted != 1203 || s.Rejected != 0 || s.Lines != 1203 || s.RejectedFile != "" {
			t.Errorf("%s: summary %+v", name, s)
		}
		if left, _ := filepath.Glob(path + ".*"); len(left) != 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
	f("events.jsonl")
	f("events.jsonl.gz")
}

func TestBatchesStayBelowTheEdgesBytes(t *testing.T) {
	e := newEdge(t)
	long := fmt.Sprintf(`{"eventId":"1","x":%q}`, strings.Repeat("x", 400_000))
	_, err := Events(t.Context(),
		Config{File: "-", Stdin: strings.NewReader(long + "\n" + long + "\n" + long), StateDir: t.TempDir()}, e.URL, "c_1", "k")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(e.batches)
	if !slices.Equal(e.batches, []int{1, 2}) {
		t.Errorf("batches of %v events, want 2 and 1 (900 KB at most)", e.batches)
	}
}

func TestRejectedLinesAreKeptWithTheirReasons(t *testing.T) {
	e := newEdge(t)
	path := writeFile(t, "events.jsonl",
		`{"eventId":"1"}`+"\nnot json\n"+`{"eventId":"bad"}`+"\n"+strings.Repeat("y", maxLine+1)+"\n"+`{"eventId":"2"}`+"\n")
	s, err := Events(t.Context(), Config{File: path}, e.URL, "c_1", "k")
	if err != nil {
		t.Fatal(err)
	}
	if s.Accepted != 2 || s.Rejected != 3 || s.RejectedFile != path+".rejected.jsonl" {
		t.Errorf("summary %+v, want 2 accepted and 3 rejected", s)
	}
	text, err := os.ReadFile(s.RejectedFile)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for l := range strings.Lines(string(text)) {
		var r rejection
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s", r.Line, r.Reasons[0].Code))
	}
	if want := []string{"2 invalid_json", "3 invalid_event", "4 payload_too_large"}; !slices.Equal(got, want) {
		t.Errorf("rejections %v, want %v", got, want)
	}
}

func TestBusyServiceIsTriedAgain(t *testing.T) {
	f := func(name string, answer func(w http.ResponseWriter)) {
		t.Helper()
		e := newEdge(t)
		e.before = func(n int, w http.ResponseWriter) bool {
			if n <= 3 {
				answer(w)
				return true
			}
			return false
		}
		text, _ := eventLines(10)
		s, err := Events(t.Context(), Config{File: writeFile(t, "e.jsonl", text), Backoff: quick}, e.URL, "c_1", "k")
		if err != nil || s.Accepted != 10 || s.Retries != 3 {
			t.Errorf("%s: %+v, %v; want 10 accepted after 3 retries", name, s, err)
		}
	}
	f("429", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) })
	f("503", func(w http.ResponseWriter) { w.WriteHeader(503) })
	f("connection cut", func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
}

func TestWaitIsJitteredBoundedAndObeysRetryAfter(t *testing.T) {
	b := Backoff{First: 100 * time.Millisecond, Most: time.Second}
	f := func(n int, retryAfter, least, most time.Duration) {
		t.Helper()
		for range 200 {
			if got := b.wait(n, retryAfter); got < least || got > most {
				t.Fatalf("wait(%d, %s) = %s, want %s to %s", n, retryAfter, got, least, most)
			}
		}
	}
	f(0, 0, 0, 100*time.Millisecond)
	f(2, 0, 0, 400*time.Millisecond)
	f(50, 0, 0, time.Second)
	f(0, 2*time.Second, 2*time.Second, 2100*time.Millisecond)
	f(0, time.Hour, 4*time.Second, 4100*time.Millisecond)
}

func TestRefusalOfEverythingStopsAtOnce(t *testing.T) {
	e := newEdge(t)
	e.before = func(_ int, w http.ResponseWriter) bool {
		w.WriteHeader(401)
		io.WriteString(w, `{"error":{"code":"unknown_company","message":"no such company"}}`)
		return true
	}
	text, _ := eventLines(2000)
	path := writeFile(t, "e.jsonl", text)
	_, err := Events(t.Context(), Config{File: path}, e.URL, "c_1", "k")
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "unknown_company") {
		t.Errorf("error %v, want the edge's refusal", err)
	}
	if _, err := os.Stat(path + ".rejected.jsonl"); err == nil {
		t.Error("lines were called rejected though nothing was judged")
	}
}

func TestBatchRefusedWholeIsHalvedToTheLineAtFault(t *testing.T) {
	e := newEdge(t)
	poison := `{"eventId":"poison"}`
	e.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("poison")) {
			w.WriteHeader(413)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		e.serve(w, r)
	})
	text, _ := eventLines(20)
	s, err := Events(t.Context(), Config{File: writeFile(t, "e.jsonl", text+poison+"\n"+text)}, e.URL, "c_1", "k")
	if err != nil || s.Accepted != 40 || s.Rejected != 1 {
		t.Errorf("%+v, %v; want 40 accepted and the one rejected", s, err)
	}
}

func TestStoppedImportCarriesOnWhereItWas(t *testing.T) {
	_, lines := eventLines(5000)
	lines[10] = `{"eventId":"bad 10"}`
	lines[4990] = `{"eventId":"bad 4990"}`
	text := strings.Join(lines, "\n")
	path := writeFile(t, "e.jsonl", text)
	e := newEdge(t)
	ctx, cancel := context.WithCancel(t.Context())
	e.before = func(n int, _ http.ResponseWriter) bool {
		if n == 5 {
			cancel() // as a kill would, in the middle of a request
		}
		return false
	}
	config := Config{File: path, Concurrency: 2, SaveEvery: time.Nanosecond}
	first, err := Events(ctx, config, e.URL, "c_1", "k")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the cancellation", err)
	}
	if first.Lines == 0 || first.Lines >= 5000 {
		t.Fatalf("the first run did %d lines, want some", first.Lines)
	}
	// What was written after the last save of a killed run must not count twice.
	f, err := os.OpenFile(path+".rejected.jsonl", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, `{"line":4991,"rea`)
	f.Close()

	e.mu.Lock() // the edge may still be at a request that we left
	e.before = nil
	sent := len(e.batches)
	e.mu.Unlock()
	second, err := Events(t.Context(), config, e.URL, "c_1", "k")
	if err != nil {
		t.Fatal(err)
	}
	if second.Resumed != first.Lines || second.Lines != 5000 || second.Accepted != 4998 || second.Rejected != 2 {
		t.Errorf("second run %+v after %+v", second, first)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.events) != 4998 {
		t.Errorf("the edge has %d events, want 4998", len(e.events))
	}
	again := 0
	for _, n := range e.batches[sent:] {
		again += n
	}
	if again > 5000-int(first.Lines) {
		t.Errorf("the second run sent %d lines, though only %d were left", again, 5000-first.Lines)
	}
	rejected, err := os.ReadFile(path + ".rejected.jsonl")
	if err != nil || bytes.Count(rejected, []byte("\n")) != 2 {
		t.Errorf("rejections: %v\n%s", err, rejected)
	}
}

func TestChangedFileStartsAnew(t *testing.T) {
	path := writeFile(t, "e.jsonl", `{"eventId":"1"}`+"\n")
	if err := os.WriteFile(path+".progress", []byte(`{"v":1,"identity":"another","target":"x","lines":1,"accepted":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEdge(t)
	s, err := Events(t.Context(), Config{File: path}, e.URL, "c_1", "k")
	if err != nil || s.Resumed != 0 || len(e.events) != 1 {
		t.Errorf("%+v, %v; want the line sent", s, err)
	}
}

// orderAnswer is what an admin API answers for a line, beside its number.
type orderAnswer struct {
	Status   int      `json:"status"`
	Warnings []Reason `json:"warnings,omitempty"`
	Error    any      `json:"error,omitempty"`
}

// newAdmin is a server that answers each line of POST /orders as f says; the zero answer is 200. before may answer a request in
// its place.
func newAdmin(t *testing.T, before func(w http.ResponseWriter) bool, f func(line string) orderAnswer) *httptest.Server {
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if before != nil && before(w) {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/admin/v1/orders" || r.Header.Get("Authorization") != "Bearer key" ||
			r.Header.Get("Content-Type") != "application/x-ndjson" {
			w.WriteHeader(401)
			return
		}
		results := []orderAnswer{}
		for line := range strings.Lines(string(body)) {
			answer := f(strings.TrimSuffix(line, "\n"))
			if answer.Status == 0 {
				answer.Status = 200
			}
			results = append(results, answer)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "data": map[string]any{"results": results}})
	}))
	t.Cleanup(server.Close)
	return server
}

func TestVersionsOfAnOrderAreSentInTheirOrder(t *testing.T) {
	var got []string
	turn := 0
	server := newAdmin(t, func(w http.ResponseWriter) bool { // a retry must not let the next version overtake
		if turn++; turn%2 == 1 {
			w.WriteHeader(503)
		}
		return turn%2 == 1
	}, func(line string) orderAnswer {
		got = append(got, line)
		if strings.Contains(line, "refused") {
			return orderAnswer{Status: 400, Error: map[string]any{"code": "validation_error", "message": "no",
				"details": []Reason{{Code: "required", Message: "is missing", Field: "totalPrice"}}}}
		}
		return orderAnswer{}
	})
	var want []string
	for i := range 1200 {
		want = append(want, fmt.Sprintf(`{"orderId":"o%d","version":%d}`, i%10, i/10))
	}
	file := slices.Insert(slices.Clone(want), 600, `{"orderId":"refused"}`, `{"orderId":`)
	path := writeFile(t, "orders.jsonl", strings.Join(file, "\n"))
	s, err := Orders(t.Context(), Config{File: path, Backoff: quick}, server.URL+"/admin/v1", "key")
	if err != nil || s.Accepted != 1200 || s.Rejected != 2 || s.Retries == 0 {
		t.Fatalf("%+v, %v; want 1200 accepted, 2 rejected", s, err)
	}
	if want = slices.Insert(want, 600, `{"orderId":"refused"}`); !slices.Equal(got, want) {
		t.Errorf("%d lines arrived in another order, want %d", len(got), len(want))
	}
	rejected, err := os.ReadFile(path + ".rejected.jsonl")
	if err != nil || !strings.Contains(string(rejected),
		`"line":601,"reasons":[{"code":"required","message":"is missing","field":"totalPrice"}]`) ||
		!strings.Contains(string(rejected), `"line":602,"reasons":[{"code":"invalid_json"`) {
		t.Errorf("rejections: %v\n%s", err, rejected)
	}
}

// An answer that has no result for each line tells of none that it was taken.
func TestAnAnswerThatDoesNotTellOfEachOrderEndsTheImport(t *testing.T) {
	for _, text := range []string{`{}`, `{"data":{"results":[{"status":200}]}}`, `no JSON`} {
		server := newAdmin(t, func(w http.ResponseWriter) bool { _, _ = io.WriteString(w, text); return true }, nil)
		s, err := Orders(t.Context(), Config{File: writeFile(t, "o.jsonl", "{}\n{}\n"), Backoff: quick}, server.URL+"/admin/v1", "key")
		if err == nil || s.Accepted != 0 {
			t.Errorf("%s: %+v, %v; want an error", text, s, err)
		}
	}
}

func TestGivesUpWhenNothingIsTaken(t *testing.T) {
	e := newEdge(t)
	e.before = func(_ int, w http.ResponseWriter) bool { w.WriteHeader(503); return true }
	b := quick
	b.GiveUp = 20 * time.Millisecond
	s, err := Events(t.Context(), Config{File: writeFile(t, "e.jsonl", `{"eventId":"1"}`), Backoff: b}, e.URL, "c_1", "k")
	if err == nil || !strings.Contains(err.Error(), "503") || s.Lines != 0 {
		t.Errorf("%+v, %v; want it to stop and say why", s, err)
	}
}

func TestProgressThatCannotBeKeptEndsTheImport(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	requests := 0
	server := newAdmin(t, func(http.ResponseWriter) bool {
		if requests++; requests == 3 {
			if err := os.Rename(state, state+".gone"); err != nil { // in one step, unlike removing
				t.Error(err)
			}
		}
		return false
	}, func(string) orderAnswer { return orderAnswer{} })
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, `{"orderId":"o%d"}`+"\n", i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := Orders(ctx,
		Config{File: writeFile(t, "orders.jsonl", text.String()), StateDir: state, SaveEvery: 1, Backoff: quick}, server.URL+"/admin/v1", "key")
	if err == nil || !strings.Contains(err.Error(), "save progress") {
		t.Errorf("%v; want it to say that the progress could not be saved", err)
	}
}
