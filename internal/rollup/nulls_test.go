package rollup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// Random journeys are packed and read back, and their steps are those of each path by itself.
func TestStepsOfNullJourneysAreReadBackExactly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		var s NullSteps
		want := map[NullStep]int64{}
		for range r.IntN(40) {
			var path []string
			for range 1 + r.IntN(5) {
				path = append(path, []string{"Direct", "Ana Prado", "Organic Search", "ação > x"}[r.IntN(4)])
			}
			if !s.Add(path) {
				t.Fatal("so few steps must be added")
			}
			before := ""
			for _, channel := range path {
				if channel != before {
					want[NullStep{before, channel}]++
				}
				before = channel
			}
			want[NullStep{before, ""}]++
		}
		again, err := UnpackNullSteps(s.Pack())
		if err != nil || !maps.Equal(again.counts, want) {
			t.Fatalf("%v, %v, want %v", again.counts, err, want)
		}
	}
}

// What is too much for a day is left out as a whole: no journey is half there.
func TestADayHasABoundedNumberOfSteps(t *testing.T) {
	t.Parallel()
	var s NullSteps
	added := 0
	for i := range MaxNullSteps {
		if s.Add([]string{fmt.Sprint("a", i), fmt.Sprint("b", i)}) { // three steps
			added++
		}
	}
	if added != MaxNullSteps/3 {
		t.Errorf("%d journeys of three new steps are added", added)
	}
	if !s.Add([]string{"a0", "b0"}) {
		t.Error("a journey of known steps is left out")
	}
	var starts, ends int64
	s.Each(func(step NullStep, n int64) {
		if step.Before == "" {
			starts += n
		}
		if step.Channel == "" {
			ends += n
		}
	})
	if want := int64(added + 1); starts != want || ends != want {
		t.Errorf("%d begin and %d end, want %d", starts, ends, want)
	}
}

func TestBrokenStepsAreErrors(t *testing.T) {
	t.Parallel()
	var s NullSteps
	s.Add([]string{"a", "b"})
	packed := s.Pack()
	for n := 1; n < len(packed); n++ {
		if again, err := UnpackNullSteps(packed[:n]); err == nil && len(again.counts) >= len(s.counts) {
			t.Errorf("%d of %d bytes: %v", n, len(packed), again.counts)
		}
	}
	for _, bad := range [][]byte{{2}, {1, 1, 9, 'a'}, {1, 1, 1, 'a', 2, 0, 1},
		{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		if _, err := UnpackNullSteps(bad); err == nil {
			t.Errorf("%v is read", bad)
		}
	}
}
