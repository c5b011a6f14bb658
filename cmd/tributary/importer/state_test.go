package importer

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStateDirectoryIsThereBeforeAnythingIsSent(t *testing.T) {
	e := newEdge(t)
	dir := filepath.Join(t.TempDir(), "not", "yet")
	path := writeFile(t, "e.jsonl", `{"eventId":"1"}`+"\n"+`{"eventId":"bad"}`)
	s, err := Events(t.Context(), Config{File: path, StateDir: dir}, e.URL, "c_1", "k")
	if err != nil || s.RejectedFile != filepath.Join(dir, "e.jsonl.rejected.jsonl") {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := os.Stat(s.RejectedFile); err != nil {
		t.Error(err)
	}

	sent := e.requests
	_, err = Events(t.Context(), Config{File: path, StateDir: filepath.Join(path, "below a file")}, e.URL, "c_1", "k")
	if err == nil || !strings.Contains(err.Error(), "state directory") || e.requests != sent {
		t.Errorf("%v after %d requests; want it to fail before the first", err, e.requests-sent)
	}
}

// What an earlier run left is worth keeping until this one has judged a line.
func TestRunThatJudgedNothingLeavesNoTrace(t *testing.T) {
	f := func(name, text string, answer func(w http.ResponseWriter)) {
		t.Helper()
		e := newEdge(t)
		e.before = func(_ int, w http.ResponseWriter) bool { answer(w); return true }
		path := writeFile(t, "e.jsonl", text)
		if err := os.WriteFile(path+".rejected.jsonl", []byte("an earlier run's\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := quick
		b.GiveUp = 10 * time.Millisecond
		if _, err := Events(t.Context(), Config{File: path, Backoff: b}, e.URL, "c_1", "k"); err == nil {
			t.Fatalf("%s: no error", name)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) != 2 {
			t.Errorf("%s: left behind %v", name, left)
		}
		if kept, _ := os.ReadFile(path + ".rejected.jsonl"); string(kept) != "an earlier run's\n" {
			t.Errorf("%s: the earlier run's rejections are gone", name)
		}
	}
	f("401", `{"eventId":"1"}`, func(w http.ResponseWriter) { w.WriteHeader(401) })
	f("503", `{"eventId":"1"}`, func(w http.ResponseWriter) { w.WriteHeader(503) })
	f("broken gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03broken", func(http.ResponseWriter) {})
}

func TestEachStandardInputHasItsOwnRejections(t *testing.T) {
	e := newEdge(t)
	dir := t.TempDir()
	files := map[string]bool{}
	for range 3 {
		s, err := Events(t.Context(), Config{File: "-", Stdin: strings.NewReader(`{"eventId":"bad"}`), StateDir: dir}, e.URL, "c_1", "k")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(s.RejectedFile); err != nil || strings.Count(string(text), "\n") != 1 {
			t.Errorf("%s: %v\n%s", s.RejectedFile, err, text)
		}
		if !strings.HasPrefix(filepath.Base(s.RejectedFile), "stdin-2") {
			t.Errorf("%s does not say when it was", s.RejectedFile)
		}
		files[s.RejectedFile] = true
	}
	if len(files) != 3 {
		t.Errorf("three imports left %v", files)
	}
}

func TestGivesUpAtTheLimitAndSaysSo(t *testing.T) {
	e := newEdge(t)
	e.before = func(_ int, w http.ResponseWriter) bool {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(503)
		return true
	}
	b := quick
	b.GiveUp = 50 * time.Millisecond
	started := time.Now()
	_, err := Events(t.Context(), Config{File: writeFile(t, "e.jsonl", `{"eventId":"1"}`), Backoff: b}, e.URL, "c_1", "k")
	if err == nil || !strings.Contains(err.Error(), "nothing was taken for 50ms") || time.Since(started) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(started))
	}
	if got := (Backoff{GiveUp: 3 * time.Second}).gaveUpAfter(3900 * time.Millisecond); got != 3*time.Second {
		t.Errorf("3s are told as %s", got)
	}
	if got := (Backoff{GiveUp: 3 * time.Second}).gaveUpAfter(time.Minute); got != time.Minute { // an attempt hung
		t.Errorf("a minute is told as %s", got)
	}
}

func TestWrongAddressIsHintedAt(t *testing.T) {
	e := newEdge(t)
	e.before = func(_ int, w http.ResponseWriter) bool {
		w.WriteHeader(404)
		io.WriteString(w, "404 page not found")
		return true
	}
	_, err := Orders(t.Context(), Config{File: writeFile(t, "o.jsonl", `{"orderId":"1"}`)}, e.URL, "key")
	if err == nil || !strings.Contains(err.Error(), "404 http_404") || !strings.Contains(err.Error(), "does --admin end in /admin/v1?") {
		t.Errorf("orders: %v", err)
	}
	_, err = Events(t.Context(), Config{File: writeFile(t, "e.jsonl", `{"eventId":"1"}`)}, e.URL+"/v1/events", "c_1", "k")
	if err == nil || !strings.Contains(err.Error(), "--edge") {
		t.Errorf("events: %v", err)
	}
}

func TestKindsOfWarningsAreBounded(t *testing.T) {
	var s state
	for i := range 3 * maxWarned {
		s.warn([]Reason{{Code: "c", Field: fmt.Sprint("f", i)}})
	}
	if len(s.Warnings) != maxWarned+1 || s.Warnings[otherWarnings] != 2*maxWarned {
		t.Errorf("%d kinds, %d others", len(s.Warnings), s.Warnings[otherWarnings])
	}
	if lines := (Summary{Warnings: s.Warnings}).warned(); len(lines) != maxWarnedShown+1 {
		t.Errorf("%d lines", len(lines))
	}
}
