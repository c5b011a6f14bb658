package live_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
)

// watch is a page that stays open: it opens another socket with its cursor whenever one
// is closed, as live.js does.
type watch struct {
	mu     sync.Mutex
	conn   *websocket.Conn
	cursor string
	newest bool   // the order that came last has been seen
	orders string // how many there are on that day, as the page says
	opened int
	err    error // why no other socket could be opened
}

// run reads until stop is closed.
func (w *watch) run(s *stage, person, last string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		conn, _, err := s.dial(func(q url.Values, _ http.Header) { q.Set("cursor", w.cursor); q.Set("person", person) })
		w.mu.Lock()
		w.conn, w.err = conn, err
		w.opened++
		w.mu.Unlock()
		if err != nil {
			return
		}
		for {
			var u update
			if conn.ReadJSON(&u) != nil {
				break
			}
			w.mu.Lock()
			w.cursor = u.Cursor
			for _, o := range u.Orders {
				w.newest = w.newest || o.ID == last
			}
			w.orders = strings.ReplaceAll(u.Tiles[0].Lines[0], ",", "")
			w.mu.Unlock()
		}
		conn.Close()
	}
}

func (w *watch) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		w.conn.Close()
	}
}

func (w *watch) has(orders string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest && w.orders == orders || w.err != nil
}

// load opens viewers, of which one reads nothing and a tenth lose their connections on
// the way, stores orders in rounds of so many, and waits until each of the others shows
// the newest order and how many there are. It returns the heap that the viewers and their queues hold, in bytes.
func (s *stage) load(viewers, rounds, round int, pause time.Duration) int64 {
	s.t.Helper()
	before := heap()
	stop := make(chan struct{})
	var running sync.WaitGroup
	list := make([]*watch, viewers)
	first := s.orders
	last := fmt.Sprint("o-", first+rounds*round)
	for i := range list {
		w := &watch{}
		list[i] = w
		running.Go(func() { w.run(s, fmt.Sprint("person-", i), last, stop) })
	}
	defer func() {
		close(stop)
		for _, w := range list {
			w.drop()
		}
		s.server.CloseClientConnections()
		running.Wait()
	}()
	// The slow one never reads: its socket's buffers and its queue fill up.
	slow := s.open(commerce.Cursor{})
	for n := range rounds {
		ids := make([]string, round)
		for i := range ids {
			s.orders++
			ids[i] = fmt.Sprint("o-", s.orders)
			s.put(ids[i], s.orders, int64(100+i))
		}
		s.hint(ids...)
		for i := n % 10; i < viewers; i += 10 * rounds {
			list[i].drop()
		}
		time.Sleep(pause) // orders come over time; nothing is awaited here
	}
	orders := fmt.Sprint(s.orders)
	for i, w := range list {
		await.Until(s.t, await.Long, func() bool { return w.has(orders) }, func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return fmt.Sprintf("viewer %d has %s of %s orders, the newest %t, after %d sockets, %v", i, w.orders, orders, w.newest, w.opened, w.err)
		})
		if w.err != nil {
			s.t.Fatalf("viewer %d: %v", i, w.err)
		}
	}
	held := heap() - before
	_ = slow.Close()
	return held
}

// heap is what is in use after a collection, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// viewerBytes bounds what one open page may hold in this process, which is both ends:
// buffers of both sockets, and a queue of 16 messages of a few kilobytes.
const viewerBytes = 256 << 10

func TestManyViewersSeeEveryOrderAndASlowOneHoldsNobodyUp(t *testing.T) {
	s := newStage(t, live.Config{Interval: time.Millisecond, Poll: 100 * time.Millisecond})
	const viewers = 200
	if held := s.load(viewers, 10, 20, 0); held > (viewers+1)*viewerBytes {
		t.Errorf("%d viewers hold %d KB", viewers, held>>10)
	}
}

// The full size: 200 viewers and 500 orders a second for two seconds, again and again.
// Reported are the CPU time of an order for all viewers, the test's ends of the sockets
// included and PostgreSQL not, and what a viewer holds. There is no other baseline than
// one viewer: the second benchmark.
func BenchmarkViewers(b *testing.B) {
	for _, viewers := range []int{200, 1} {
		b.Run(fmt.Sprint(viewers), func(b *testing.B) {
			s := newStage(b, live.Config{})
			var held int64
			cpu := cpuTime(b)
			for b.Loop() {
				held = max(held, s.load(viewers, 10, 100, 200*time.Millisecond))
			}
			if held > int64(viewers+1)*viewerBytes {
				b.Errorf("%d viewers hold %d KB", viewers, held>>10)
			}
			b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(b.N)/1000, "cpu-us/order")
			b.ReportMetric(float64(held)/float64(viewers)/1024, "KB/viewer")
		})
	}
}

// cpuTime is what this process has used.
func cpuTime(t testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
