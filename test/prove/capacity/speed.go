package capacity

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// A machine is not always as fast: where others use its second thread and its caches, the same work takes more CPU time. So while a load
// runs, a piece of work that is always the same is done every speedEvery, about a hundredth of one processor, and its CPU time is taken.
const speedEvery = 2 * time.Second

// meter does the pieces of work. Start it with startMeter.
type meter struct {
	stop  context.CancelFunc
	ended chan struct{}
	took  []float64 // CPU seconds of each piece
}

func startMeter(ctx context.Context) *meter {
	ctx, cancel := context.WithCancel(ctx)
	m := &meter{stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		runtime.LockOSThread() // whose CPU time is taken
		defer runtime.UnlockOSThread()
		w := newWork()
		for w.do(); background.Sleep(ctx, speedEvery); {
			before := threadCPU()
			w.do()
			m.took = append(m.took, threadCPU()-before)
		}
	}()
	return m
}

// end stops the meter and returns the median CPU time of a piece of work, in seconds; NaN where there was none.
func (m *meter) end() float64 {
	m.stop()
	<-m.ended
	if len(m.took) == 0 {
		return math.NaN()
	}
	slices.Sort(m.took)
	return m.took[len(m.took)/2]
}

// threadCPU is the CPU time of this thread so far, in seconds.
func threadCPU() float64 {
	const ofThisThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(ofThisThread, &usage); err != nil {
		return math.NaN()
	}
	return (time.Duration(usage.Utime.Nano()) + time.Duration(usage.Stime.Nano())).Seconds()
}

// work is what one piece of work works on: a JSON text to scan, numbers to sort, and a way through memory that no cache holds.
type work struct {
	text    []byte
	numbers []uint32
	way     []uint32
}

func newWork() *work {
	events := strings.Repeat(`{"event":"PAGE_VIEW","url":"https://loja.example.com/p/1"},`, 5000)
	w := &work{text: []byte("[" + strings.TrimSuffix(events, ",") + "]"),
		numbers: make([]uint32, 50_000), way: make([]uint32, 4<<20)}
	for i := range w.way { // a full cycle: a step of odd length through a power of two
		w.way[i] = uint32((i + 2_654_435_761) % len(w.way))
	}
	return w
}

// do takes some ten milliseconds. Nothing in it allocates.
func (w *work) do() (seen uint32) {
	if !json.Valid(w.text) {
		panic("capacity: the text is JSON")
	}
	next := uint32(1)
	for i := range w.numbers {
		next = next*1664525 + 1013904223 // Numerical Recipes, 2nd edition, 7.1
		w.numbers[i] = next
	}
	slices.Sort(w.numbers)
	for range 100_000 {
		seen = w.way[seen]
	}
	return seen + w.numbers[0]
}
