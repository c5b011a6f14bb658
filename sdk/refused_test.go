package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
			refuse(w, 403, "") // a firewall's answer, not the edge's
			return
		}
		accept(r, w, ok)
	})
	c, results := client(t, e, nil)
	track(t, c, 2)
	var refused *Refused
	if failed := flushFailing(t, c); failed.Events != 2 || !errors.As(failed, &refused) || refused.Code != "status_403" {
		t.Errorf("Flush: %v", failed)
	}
	track(t, c, 1)
	flush(t, c) // no error: what failed was told
	if got := statuses(results()); got != "rejected rejected ok" || len(e.seen()) != 2 {
		t.Errorf("results %s, %d requests", got, len(e.seen()))
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
