package sdk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SDK_TEST_QUEUE_DIR"); dir != "" {
		trackForEver(dir, os.Getenv("SDK_TEST_ENDPOINT"))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// trackForEver prints the id of each event that Track has taken, until it is killed.
func trackForEver(dir, endpoint string) {
	c, err := New(Config{CompanyID: "loja", Endpoint: endpoint, QueueDir: dir, FlushInterval: time.Millisecond, BatchEvents: 5,
		MaxWait: time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	var tracking sync.WaitGroup
	for range 4 {
		tracking.Go(func() {
			for {
				id := newID(time.Now())
				if err := c.TrackEvent(context.Background(), Event{ID: id, Name: PageView}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				if _, err := os.Stdout.WriteString(id + "\n"); err != nil {
					return
				}
			}
		})
	}
	tracking.Wait()
}

// killed runs trackForEver until it has printed n ids, kills it, and returns all that
// it has printed.
func killed(t *testing.T, dir, endpoint string, n int) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SDK_TEST_QUEUE_DIR="+dir, "SDK_TEST_ENDPOINT="+endpoint)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if ids = append(ids, lines.Text()); len(ids) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(ids) < n {
		t.Fatalf("the process tracked %d events and ended with %v: %s", len(ids), err, stderr.String())
	}
	return ids
}

func TestAKilledProcessLosesNoEventThatTrackHasTaken(t *testing.T) {
	acknowledged := map[string]int{}
	var mu sync.Mutex
	e := newEdge(t, func(n int, r request, w http.ResponseWriter) {
		if n%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mu.Lock()
		for _, event := range r.Events {
			acknowledged[event.EventID]++
		}
		mu.Unlock()
		accept(r, w, ok)
	})
	dir := t.TempDir()
	var taken []string
	for range 3 {
		taken = append(taken, killed(t, dir, e.URL+"/prefix", 200)...)
	}
	mu.Lock()
	before := len(acknowledged)
	mu.Unlock()
	c, results := client(t, e, func(cfg *Config) { cfg.QueueDir = dir })
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost, copies := 0, 0
	for _, id := range taken {
		if acknowledged[id] == 0 {
			lost++
		}
	}
	for _, n := range acknowledged {
		copies += n - 1
	}
	t.Logf("%d events taken, %d sent before the kills, %d results after them, %d copies", len(taken), before, len(results()), copies)
	if lost > 0 {
		t.Errorf("%d of %d events were lost", lost, len(taken))
	}
	// Each kill repeats the batches that were answered and not noted: two at most.
	if copies > 3*2*5 {
		t.Errorf("%d copies", copies)
	}
}

func TestWhatIsLeftAtCloseIsSentByTheNextClient(t *testing.T) {
	var up atomic.Bool
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		accept(r, w, ok)
	})
	dir := filepath.Join(t.TempDir(), "made", "by", "New")
	onDisk := func(cfg *Config) { cfg.QueueDir, cfg.MaxAttempts = dir, 2 }
	c, results := client(t, e, onDisk)
	track(t, c, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "5 events stay") {
		t.Errorf("Close: %v", err)
	}
	if len(results()) != 0 {
		t.Errorf("results of events that stay: %+v", results())
	}
	if err := c.Track(t.Context(), PageView, nil, Identity{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Track after Close: %v", err)
	}
	up.Store(true)
	other, none := client(t, e, func(cfg *Config) { onDisk(cfg); cfg.CompanyID = "another" })
	flush(t, other)
	c, results = client(t, e, onDisk)
	flush(t, c)
	if got := statuses(results()); got != "ok ok ok ok ok" || len(none()) != 0 {
		t.Errorf("results: %s; of the other company: %+v", got, none())
	}
	noGoroutineIsLeft(t, c, other)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".seg") {
			t.Errorf("left on disk: %s %v", path, err)
		}
		return nil
	})
}

func noGoroutineIsLeft(t *testing.T, clients ...*Client) {
	t.Helper()
	for _, c := range clients {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// A goroutine's last act tells Close; it may be some instructions from its end.
	buf := make([]byte, 1<<20)
	for late := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "sdk.(*Client).run") && !strings.Contains(stacks, "internal/seglog") {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("a goroutine is left after Close:\n%s", stacks)
		}
	}
}

func TestAQueueDirHasOneClient(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	dir := t.TempDir()
	c, _ := client(t, e, func(cfg *Config) { cfg.QueueDir = dir })
	second := Config{CompanyID: "loja", Endpoint: e.URL, QueueDir: dir}
	if _, err := New(second); !errors.Is(err, ErrQueueDirInUse) {
		t.Errorf("the second client: %v", err)
	}
	noGoroutineIsLeft(t, c)
	next, err := New(second)
	if err != nil {
		t.Fatal(err)
	}
	noGoroutineIsLeft(t, next)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second.QueueDir = file
	if _, err := New(second); err == nil {
		t.Error("a file was taken as a directory")
	}
}

func TestADiskQueueIsBoundedByCountAndBytes(t *testing.T) {
	release := make(chan struct{})
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { <-release; accept(r, w, ok) })
	f := func(change func(*Config)) (*Client, int) {
		t.Helper()
		c, _ := client(t, e, func(cfg *Config) { cfg.QueueDir, cfg.BatchEvents = t.TempDir(), 1; change(cfg) })
		for n := 0; ; n++ {
			err := c.Track(t.Context(), "NOTE", map[string]string{"text": strings.Repeat("x", 20<<10)}, Identity{})
			if errors.Is(err, ErrQueueFull) {
				return c, n
			}
			if err != nil || n > 100 {
				t.Fatalf("event %d: %v", n, err)
			}
		}
	}
	_, byCount := f(func(cfg *Config) { cfg.QueueSize = 7 })
	if byCount != 7 {
		t.Errorf("%d events, want 7", byCount)
	}
	c, byBytes := f(func(cfg *Config) { cfg.QueueBytes = 200 << 10 })
	if byBytes < 5 || byBytes > 9 {
		t.Errorf("%d events of 20 KiB in 200 KiB", byBytes)
	}
	close(release)
	flush(t, c)
	track(t, c, 3) // there is space again
	flush(t, c)
}

func TestADiskQueueWaitsForSpace(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, results := client(t, e, func(cfg *Config) {
		cfg.QueueDir, cfg.QueueSize, cfg.QueueBytes, cfg.BatchEvents, cfg.WaitWhenFull = t.TempDir(), 3, 4<<10, 2, true
		cfg.FlushInterval = time.Millisecond
	})
	var tracking sync.WaitGroup
	for range 4 {
		tracking.Go(func() {
			for range 25 {
				if err := c.Track(t.Context(), PageView, nil, Identity{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	tracking.Wait()
	flush(t, c)
	if got := strings.Count(statuses(results()), "ok"); got != 100 || len(results()) != 100 {
		t.Errorf("%d of %d results are ok", got, len(results()))
	}
}

// A wrong setting costs no event: corrected, the next client sends them.
func TestADiskQueueOutlivesARefusal(t *testing.T) {
	var known atomic.Bool
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) {
		if !known.Load() {
			refuse(w, 401, "unknown_company")
			return
		}
		accept(r, w, ok)
	})
	dir := t.TempDir()
	onDisk := func(cfg *Config) { cfg.QueueDir = dir }
	c, results := client(t, e, onDisk)
	track(t, c, 3)
	if err := c.Flush(t.Context()); !errors.Is(err, ErrUnknownCompany) {
		t.Errorf("Flush: %v", err)
	}
	if err := c.Track(t.Context(), PageView, nil, Identity{}); !errors.Is(err, ErrUnknownCompany) {
		t.Errorf("Track: %v", err)
	}
	if err := c.Close(t.Context()); !errors.Is(err, ErrUnknownCompany) || !strings.Contains(err.Error(), "3 events stay") {
		t.Errorf("Close: %v", err)
	}
	if len(e.seen()) != 1 || len(results()) != 0 {
		t.Errorf("%d requests, results %+v", len(e.seen()), results())
	}
	known.Store(true)
	c, results = client(t, e, onDisk)
	flush(t, c)
	if got := statuses(results()); got != "ok ok ok" {
		t.Errorf("results: %s", got)
	}
}

// Each has a result of its own; the events behind one that is not answered stay.
func TestADiskQueueKeepsWhatHasNoResult(t *testing.T) {
	e := newEdge(t, func(n int, r request, w http.ResponseWriter) {
		switch n {
		case 1:
			accept(r, w, func(i int) string { return []string{"ok", "rejected", "try_later", "duplicate"}[i] })
		case 2, 3:
			w.WriteHeader(http.StatusForbidden) // a firewall's: not the edge's word
		case 4, 5:
			w.WriteHeader(http.StatusBadGateway)
		default:
			accept(r, w, ok)
		}
	})
	var log bytes.Buffer
	c, results := client(t, e, func(cfg *Config) {
		cfg.QueueDir, cfg.MaxAttempts, cfg.Logger = t.TempDir(), 2, slog.New(slog.NewTextHandler(&log, nil))
	})
	track(t, c, 4)
	if failed := flushFailing(t, c); failed.Events != 1 {
		t.Errorf("Flush: %v", failed)
	}
	if got := statuses(results()); got != "ok rejected ok duplicate" || len(e.seen()) != 6 {
		t.Errorf("results: %s after %d requests", got, len(e.seen()))
	}
	if text := log.String(); strings.Count(text, "they wait on disk") != 1 || strings.Count(text, "\n") != 2 {
		t.Error(text)
	}
}

func TestADiskQueueRefusesRecordsOfAnotherVersion(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	c, _ := client(t, e, func(cfg *Config) { cfg.QueueDir = t.TempDir() })
	disk := c.queue.(*diskQueue)
	if _, err := disk.push(entry{id: "short"}); err != nil {
		t.Fatal(err)
	}
	err := c.Flush(t.Context())
	for err == nil { // the entry is not on disk yet
		err = c.Flush(t.Context())
	}
	if !strings.Contains(err.Error(), "another version") || len(e.seen()) != 0 {
		t.Errorf("Flush: %v; %d requests", err, len(e.seen()))
	}
}

// A call of Track that began before Close may end after its flush.
func TestCloseSaysWhatCameWhileItRan(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	var c *Client
	late := func(Result) {
		stored, err := c.queue.push(entry{id: newID(time.Now()), text: []byte("{}")})
		if err == nil {
			err = stored(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	}
	c, _ = client(t, e, func(cfg *Config) { cfg.QueueDir, cfg.OnResult = t.TempDir(), late })
	track(t, c, 1)
	if err := c.Close(t.Context()); err == nil || err.Error() != "sdk: 1 events stay in Config.QueueDir" {
		t.Errorf("Close: %v", err)
	}
}
