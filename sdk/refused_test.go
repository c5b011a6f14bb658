package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":"why"}}`, code)
}

func TestAClientThatIsRefusedForGoodSendsNothingMore(t *testing.T) {
	f := func(status int, code string, want error) {
		t.Helper()
		e := newEdge(t, func(_ int, _ request, w http.ResponseWriter) { refuse(w, status, code) })
		c, results := client(t, e, func(cfg *Config) { cfg.BatchEvents = 2 })
		track(t, c, 1)
		failed := flushFailing(t, c)
		var refused *Refused
		if failed.Events != 1 || !errors.As(failed, &refused) || refused.Status != status || refused.Code != code || refused.Message != "why" {
			t.Errorf("Flush: %+v", failed)
		}
		if err := c.Track(t.Context(), PageView, nil, Identity{}); !errors.Is(err, want) || !errors.As(err, &refused) {
			t.Errorf("Track: %v", err)
		}
		if err := c.Flush(t.Context()); !errors.Is(err, want) {
			t.Errorf("the second Flush: %v", err)
		}
		if err := c.Close(t.Context()); !errors.Is(err, want) {
			t.Errorf("Close: %v", err)
		}
		if n := len(e.seen()); n != 1 || statuses(results()) != "rejected" || !errors.Is(results()[0].Err, want) {
			t.Errorf("%s: %d requests, results %+v", code, n, results())
		}
	}
	f(401, "unknown_company", ErrUnknownCompany)
	f(401, "unauthorized", ErrUnauthorized)
	f(403, "insufficient_scope", ErrUnauthorized)
}

// One refusal is enough for all that waits.
func TestWhatWaitsIsRefusedWithTheFirst(t *testing.T) {
	release := make(chan struct{})
	e := newEdge(t, func(_ int, _ request, w http.ResponseWriter) { <-release; refuse(w, 401, "unknown_company") })
	c, results := client(t, e, func(cfg *Config) { cfg.BatchEvents, cfg.QueueSize, cfg.WaitWhenFull = 2, 9, true })
	track(t, c, 9)
	waiting := make(chan error)
	go func() { waiting <- c.Track(context.Background(), PageView, nil, Identity{}) }()
	close(release)
	if err := <-waiting; err != nil && !errors.Is(err, ErrUnknownCompany) {
		t.Errorf("Track that waited for room: %v", err)
	}
	if err := c.Close(t.Context()); !errors.Is(err, ErrUnknownCompany) {
		t.Errorf("Close: %v", err)
	}
	if n := len(e.seen()); n != 1 || len(results()) < 9 || strings.Contains(statuses(results()), "given_up") {
		t.Errorf("%d requests, results %s", n, statuses(results()))
	}
}

func TestARefusedBatchDoesNotEndTheClient(t *testing.T) {
	e := newEdge(t, func(n int, r request, w http.ResponseWriter) {
		if n == 1 {
			refuse(w, 400, "invalid_json")
			return
		}
		accept(r, w, ok)
	})
	c, results := client(t, e, nil)
	track(t, c, 2)
	var refused *Refused
	if failed := flushFailing(t, c); failed.Events != 2 || !errors.As(failed, &refused) || refused.Code != "invalid_json" {
		t.Errorf("Flush: %v", failed)
	}
	track(t, c, 1)
	flush(t, c) // no error: what failed was told
	if got := statuses(results()); got != "rejected rejected ok" || len(e.seen()) != 2 {
		t.Errorf("results %s, %d requests", got, len(e.seen()))
	}
}

// What is not the edge, or not in its form, has refused nothing: in memory and on disk.
func TestAForeignAnswerLosesNothing(t *testing.T) {
	f := func(status int, body string, onDisk bool) {
		t.Helper()
		e := newEdge(t, func(n int, r request, w http.ResponseWriter) {
			if n == 1 {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
				return
			}
			accept(r, w, ok)
		})
		c, results := client(t, e, func(cfg *Config) {
			if onDisk {
				cfg.QueueDir = t.TempDir()
			}
		})
		track(t, c, 1)
		flush(t, c)
		track(t, c, 1)
		flush(t, c)
		if got := statuses(results()); got != "ok ok" || len(e.seen()) != 3 {
			t.Errorf("%d %s: results %s, %d requests", status, body, got, len(e.seen()))
		}
	}
	for _, onDisk := range []bool{false, true} {
		for _, status := range []int{200, 202, 301, 400, 401, 403, 404, 405, 410, 413, 415, 451} {
			f(status, "<html>waf</html>", onDisk)
		}
		f(403, `{"error":{"code":"blocked","message":"why"}}`, onDisk)
		f(405, `{"error":{"code":"method_not_allowed","message":"this route takes POST"}}`, onDisk)
	}
}

// A redirect that makes the POST a GET, as nginx redirects to https by default.
func TestARedirectThatChangesTheMethodLosesNothing(t *testing.T) {
	moved := true
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	before := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			moved = false
			refuse(w, 405, "method_not_allowed")
		case moved:
			http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
		default:
			e.Config.Handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(before.Close)
	c, results := client(t, e, func(cfg *Config) { cfg.Endpoint = before.URL + "/prefix" })
	track(t, c, 1)
	flush(t, c)
	if got := statuses(results()); got != "ok" || moved {
		t.Errorf("results %s", got)
	}
}

func TestAWrongEndpointIsSaidWhenAttemptsEnd(t *testing.T) {
	for _, status := range []int{200, 404, 405} {
		e := newEdge(t, func(_ int, _ request, w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>")
		})
		c, results := client(t, e, func(cfg *Config) { cfg.MaxAttempts = 2 })
		track(t, c, 1)
		if failed := flushFailing(t, c); !errors.Is(failed, ErrWrongEndpoint) || statuses(results()) != "given_up" || len(e.seen()) != 2 {
			t.Errorf("%d: Flush: %v, results %+v, %d requests", status, failed, results(), len(e.seen()))
		}
		if err := c.Track(t.Context(), PageView, nil, Identity{}); err != nil {
			t.Errorf("%d: Track after that: %v", status, err)
		}
	}
}

// A proxy that takes less than the edge: the others arrive, and the event that is too large alone has a result.
func TestAnEventThatIsTooLargeAloneTakesNoOtherAlong(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		var told int64
		e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
			for _, event := range r.Events {
				if len(event.Payload) > 1000 {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
					return
				}
			}
			accept(r, w, ok)
		})
		c, results := client(t, e, func(cfg *Config) { cfg.QueueDir = dir })
		if err := c.Track(t.Context(), "BIG", map[string]string{"text": strings.Repeat("x", 2000)}, Identity{}); err != nil {
			t.Fatal(err)
		}
		track(t, c, 10)
		if failed := flushFailing(t, c); failed.Events != 1 {
			t.Errorf("Flush: %v", failed)
		}
		if got := statuses(results()); got != "rejected"+strings.Repeat(" ok", 10) || results()[0].Code != "status_413" {
			t.Errorf("results %s, %+v", got, results()[0])
		}
		if told = c.lost.counts[dropRefused] + c.lost.telling[dropRefused]; told != 1 {
			t.Errorf("%d are told", told)
		}
		track(t, c, 1)
		flush(t, c)
	}
}

func TestEachReasonIsLoggedOnceAndWithoutSecrets(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
		switch r.Events[0].Event {
		case "ONE":
			accept(r, w, func(int) string { return "rejected" })
		case "DOWN":
			w.WriteHeader(http.StatusBadGateway)
		case "FINE":
			accept(r, w, ok)
		default:
			refuse(w, 401, "unauthorized")
		}
	})
	var log bytes.Buffer
	standard := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(standard)
	c, _ := client(t, e, func(cfg *Config) { cfg.Logger, cfg.APIKey, cfg.MaxAttempts = nil, testKey, 1 })
	step := func(name string, lines int, reason string) {
		t.Helper()
		for range 2 {
			_ = c.Track(t.Context(), name, map[string]string{"a": "b"}, Identity{Email: "ana@example.com"})
			_ = c.Flush(t.Context())
		}
		if text := log.String(); strings.Count(text, "\n") != lines || !strings.Contains(text, reason) {
			t.Errorf("after %s: %s", name, text)
		}
	}
	step("FINE", 0, "")
	step("ONE", 1, "c0")
	step("DOWN", 2, "502")
	step("FINE", 2, "")
	step("DOWN", 3, "502") // another outage
	step("KEY", 4, "unauthorized")
	_ = c.Close(t.Context())
	if text := log.String(); strings.Contains(text, testKey) || strings.Contains(text, "ana@") || strings.Count(text, "\n") != 4 {
		t.Error(text)
	}
}

func TestEachKindOfWarningsIsLoggedOnce(t *testing.T) {
	answers := 0
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
		recorder := httptest.NewRecorder()
		accept(r, recorder, ok)
		warnings := `"warnings":[{"field":"identity.email","code":"invalid_value","message":"is no e-mail address"},` +
			fmt.Sprintf(`{"field":"f%d","code":"c","message":"m"},{"field":"long","code":"c","message":%q}]`, answers,
				strings.Repeat("m", maxWarning))
		answers++
		_, _ = io.WriteString(w, strings.Replace(recorder.Body.String(), `"status"`, warnings+`,"status"`, 1))
	})
	var logged bytes.Buffer
	c, results := client(t, e, func(cfg *Config) { cfg.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	for range maxWarned + 5 {
		track(t, c, 1)
		flush(t, c)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := logged.String()
	if strings.Count(text, "identity.email") != 1 || strings.Count(text, "level=WARN") != maxWarned || strings.Contains(text, "long") {
		t.Error(text)
	}
	if n := len(results()); n != maxWarned+5 || strings.Contains(statuses(results()), "rejected") {
		t.Errorf("%d results: %s", n, statuses(results()))
	}
}
