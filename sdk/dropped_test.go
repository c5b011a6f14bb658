package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// counting is an edge that keeps the bodies that it got. answer may write another answer
// than that all is well, and says so.
type counting struct {
	mu     sync.Mutex
	bodies []sentBatch
	answer func(n int, b sentBatch, w http.ResponseWriter) bool
}

type sentBatch struct {
	Events []struct {
		EventID string `json:"eventId"`
		Seq     int64  `json:"seq"`
	} `json:"events"`
	Dropped map[string]int `json:"dropped"`
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var b sentBatch
	if err := json.Unmarshal(text, &b); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, b)
	if c.answer != nil && c.answer(len(c.bodies), b, w) {
		return
	}
	type result struct {
		EventID string `json:"eventId"`
		Status  string `json:"status"`
	}
	var a struct {
		Results []result `json:"results"`
	}
	for _, e := range b.Events {
		a.Results = append(a.Results, result{e.EventID, "ok"})
	}
	_ = json.NewEncoder(w).Encode(a)
}

func (c *counting) client(t *testing.T, change func(*Config)) *Client {
	t.Helper()
	edge := httptest.NewServer(c)
	t.Cleanup(edge.Close)
	cfg := Config{Endpoint: edge.URL, CompanyID: "c", FlushInterval: 1 << 40, MaxWait: 1, MaxAttempts: 2, QueueSize: 3}
	if change != nil {
		change(&cfg)
	}
	client, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

func (c *counting) told() (list []map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.bodies {
		list = append(list, b.Dropped)
	}
	return list
}

// TestAFullQueueIsTold with the next batch, the same at each attempt, and once.
func TestAFullQueueIsTold(t *testing.T) {
	t.Parallel()
	edge := &counting{answer: func(n int, _ sentBatch, w http.ResponseWriter) bool {
		if n == 1 {
			http.Error(w, "{}", http.StatusServiceUnavailable)
		}
		return n == 1
	}}
	c := edge.client(t, nil)
	track := func(want error) {
		t.Helper()
		if err := c.Track(t.Context(), PageView, nil, Identity{}); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	for range 3 {
		track(nil)
	}
	track(ErrQueueFull)
	track(ErrQueueFull)
	flush := func() {
		t.Helper()
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	track(nil)
	flush()
	got, want := edge.told(), []map[string]int{{"queue_full": 2}, {"queue_full": 2}, nil}
	if !slices.EqualFunc(got, want, func(a, b map[string]int) bool { return len(a) == len(b) && a["queue_full"] == b["queue_full"] }) {
		t.Errorf("told %v, want %v", got, want)
	}
	if last := edge.bodies[2].Events[0].Seq; last != 6 { // 4 and 5 were used
		t.Errorf("the event after has the number %d", last)
	}
}

// TestWhatIsGivenUpAndRefusedIsTold, with the batches after it.
func TestWhatIsGivenUpAndRefusedIsTold(t *testing.T) {
	t.Parallel()
	status := []int{503, 503, 200, 400, 200, 200}
	edge := &counting{answer: func(n int, _ sentBatch, w http.ResponseWriter) bool {
		if status[n-1] != 200 {
			http.Error(w, map[int]string{503: `{"error":{"code":"unavailable"}}`, 400: `{"error":{"code":"invalid_json"}}`}[status[n-1]],
				status[n-1])
		}
		return status[n-1] != 200
	}}
	c := edge.client(t, nil)
	f := func(failed bool) {
		t.Helper()
		if err := c.Track(t.Context(), PageView, nil, Identity{}); err != nil {
			t.Fatal(err)
		}
		var f *Failed
		if err := c.Flush(t.Context()); errors.As(err, &f) != failed {
			t.Fatal(err)
		}
	}
	f(true) // given up after two attempts
	f(false)
	f(true) // refused
	f(false)
	f(false)
	got := edge.told()
	if len(got) != 6 || len(got[0])+len(got[1])+len(got[3])+len(got[5]) != 0 || got[2]["given_up"] != 1 || len(got[2]) != 1 ||
		got[4]["refused"] != 1 || len(got[4]) != 1 {
		t.Errorf("told %v", got)
	}
}
