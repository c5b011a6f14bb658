package edgefault

import (
	"testing"
	"time"
)

func TestSilenceIsMeasuredUntilTheLoadEnds(t *testing.T) {
	seconds := func(list ...float64) (times []time.Duration) {
		for _, s := range list {
			times = append(times, time.Duration(s*float64(time.Second)))
		}
		return times
	}
	f := func(acks map[string][]time.Duration, lasted float64, wantSeconds int, wantLongest float64) {
		t.Helper()
		l := &Load{acks: acks, lasted: time.Duration(lasted * float64(time.Second))}
		silent, longest := l.silence()
		if silent != wantSeconds || longest != time.Duration(wantLongest*float64(time.Second)) {
			t.Errorf("%d s and %v, want %d s and %v s", silent, longest, wantSeconds, wantLongest)
		}
	}
	f(map[string][]time.Duration{"a": seconds(0.5, 1.5, 2.5)}, 3, 0, 1)
	f(map[string][]time.Duration{"a": seconds(0.5, 5.5), "b": seconds(2.5, 2)}, 6, 3, 5)
	f(map[string][]time.Duration{"a": seconds(0.5)}, 4, 3, 3.5)
	f(map[string][]time.Duration{"a": seconds(0.5, 1, 60)}, 2, 0, 1) // what is answered after the end does not count
}
