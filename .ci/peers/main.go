// Command peers measures the Go SDK beside posthog-go and Segment's analytics-go: what an event costs the
// program, what waits in memory while the endpoint is away, and what a SIGKILL
// loses. The endpoint is another process on this machine. It prints a table.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/posthog/posthog-go"
	analytics "gopkg.in/segmentio/analytics-go.v3"

	"github.com/tributary-io/tributary/sdk"
)

// sender is a library under test: call hands it one event, end flushes and closes.
type sender struct {
	call func(n int) error
	end  func()
}

type quiet struct{}

func (quiet) Logf(string, ...any)   {}
func (quiet) Errorf(string, ...any) {}

var libraries = []struct {
	name string
	open func(endpoint, dir string) (sender, error)
}{
	{"sdk", func(endpoint, _ string) (sender, error) { return openSDK(endpoint, "") }},
	{"sdk, QueueDir", openSDK},
	{"posthog-go", openPostHog},
	{"analytics-go", openSegment},
}

func openSDK(endpoint, dir string) (sender, error) {
	c, err := sdk.New(sdk.Config{CompanyID: "co_bench", Endpoint: endpoint, QueueDir: dir, WaitWhenFull: false,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return sender{}, err
	}
	call := func(n int) error {
		return c.Track(context.Background(), "NOTE", payload(n), sdk.Identity{CustomerID: "c-42"})
	}
	return sender{call, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	}}, nil
}

func openPostHog(endpoint, _ string) (sender, error) {
	c, err := posthog.NewWithConfig("phc_bench", posthog.Config{Endpoint: endpoint, Logger: quiet{}})
	if err != nil {
		return sender{}, err
	}
	call := func(n int) error {
		return c.Enqueue(posthog.Capture{DistinctId: "c-42", Event: "NOTE", Properties: payload(n)})
	}
	return sender{call, func() { _ = c.Close() }}, nil
}

func openSegment(endpoint, _ string) (sender, error) {
	c, err := analytics.NewWithConfig("bench", analytics.Config{Endpoint: endpoint, Logger: quiet{}})
	if err != nil {
		return sender{}, err
	}
	call := func(n int) error {
		return c.Enqueue(analytics.Track{UserId: "c-42", Event: "NOTE", Properties: payload(n)})
	}
	return sender{call, func() { _ = c.Close() }}, nil
}

// payload is a checkout's size: about 500 bytes.
func payload(n int) map[string]any {
	return map[string]any{"n": n, "mark": fmt.Sprintf("mark-%d-", n), "text": strings.Repeat("x", 440)}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 {
		child(os.Args[1:])
		return
	}
	fmt.Println("| | CPU an event | allocations an event | heap with the endpoint away, of 5,000 events | lost of 1,000 by SIGKILL |")
	fmt.Println("|---|---|---|---|---|")
	for i, l := range libraries {
		server, endpoint := start("serve")
		cost := run("cost", fmt.Sprint(i), endpoint)
		stop(server)
		away := run("away", fmt.Sprint(i), "http://"+closedPort())
		fmt.Printf("| %s | %s | %s | %s |\n", l.name, cost, away, crash(i))
	}
}

// child does one measurement in a process of its own.
func child(args []string) {
	if args[0] == "serve" {
		serve()
		return
	}
	var i int
	_, err := fmt.Sscan(args[1], &i)
	must(err)
	dir := ""
	if len(args) > 3 {
		dir = args[3]
	} else {
		dir, err = os.MkdirTemp("", "peers")
		must(err)
		defer func() { _ = os.RemoveAll(dir) }()
	}
	s, err := libraries[i].open(args[2], dir)
	must(err)
	switch args[0] {
	case "cost":
		cost(s)
	case "away":
		away(s)
	case "crash": // hands over 1,000 events, says so and waits for its end
		calls(s, 1000)
		fmt.Println("done")
		select {}
	case "again":
		s.end()
	}
}

// calls hands over events 0 to n-1 from 16 goroutines, as a server's requests do,
// and returns how many were taken.
func calls(s sender, n int) int {
	var group sync.WaitGroup
	taken := make([]int, 16)
	for g := range taken {
		group.Go(func() {
			for i := g; i < n; i += len(taken) {
				if s.call(i) == nil {
					taken[g]++
				}
			}
		})
	}
	group.Wait()
	sum := 0
	for _, k := range taken {
		sum += k
	}
	return sum
}

// cost prints CPU time and allocations of 9,000 events, from the call to the answer;
// 9,000 fit the queues' defaults.
func cost(s sender) {
	const events = 9000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	taken := calls(s, events)
	s.end()
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	if taken != events {
		log.Fatalf("%d of %d events were taken", taken, events)
	}
	fmt.Printf("%.1f µs | %d", float64(cpu.Microseconds())/events, (after.Mallocs-before.Mallocs)/events)
}

// away prints the heap that 5,000 events keep while nothing answers, when the calls
// have returned or after 10 s.
func away(s sender) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	taken := make(chan int, 1)
	go func() { taken <- calls(s, 5000) }()
	text := ""
	select {
	case n := <-taken:
		text = fmt.Sprintf(", %d taken", n)
	case <-time.After(10 * time.Second):
		text = ", calls still blocked after 10 s"
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Printf("%.1f MB%s", float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6, text)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crash kills a process as soon as its calls have returned, starts it again, and
// counts the events that never came.
func crash(i int) string {
	server, endpoint := start("serve")
	defer stop(server)
	dir, err := os.MkdirTemp("", "peers")
	must(err)
	defer func() { _ = os.RemoveAll(dir) }()
	tracking, said := start("crash", fmt.Sprint(i), endpoint, dir)
	if said != "done" {
		log.Fatalf("the process said %q", said)
	}
	stop(tracking) // by SIGKILL
	run("again", fmt.Sprint(i), endpoint, dir)
	response, err := http.Get(endpoint + "/count")
	must(err)
	defer response.Body.Close() //nolint:errcheck // read below
	text, err := io.ReadAll(response.Body)
	must(err)
	var came int
	_, err = fmt.Sscan(string(text), &came)
	must(err)
	return fmt.Sprint(1000 - came)
}

// serve answers both kinds of requests, and counts the different marks in them.
func serve() {
	var mu sync.Mutex
	marks := map[string]bool{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Println("http://" + listener.Addr().String())
	must(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/count" {
			mu.Lock()
			defer mu.Unlock()
			_, _ = fmt.Fprint(w, len(marks))
			return
		}
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		for _, part := range strings.Split(string(text), `"mark-`)[1:] {
			mark, _, _ := strings.Cut(part, "-")
			marks[mark] = true
		}
		mu.Unlock()
		var request struct {
			Events []struct{ EventID string } `json:"events"`
		}
		_ = json.Unmarshal(text, &request)
		results := []map[string]string{}
		for _, e := range request.Events {
			results = append(results, map[string]string{"eventId": e.EventID, "status": "ok"})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results, "status": 1})
	})))
}

// start starts a child and returns its first line.
func start(args ...string) (*exec.Cmd, string) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(err)
	return cmd, strings.TrimSpace(line)
}

func stop(cmd *exec.Cmd) {
	must(cmd.Process.Kill())
	_ = cmd.Wait()
}

func run(args ...string) string {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err)
	return string(out)
}

// closedPort is an address where nobody listens.
func closedPort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close() //nolint:errcheck // nothing was written
	return listener.Addr().String()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
