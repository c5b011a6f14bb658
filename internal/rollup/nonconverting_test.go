package rollup

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Random journeys are stored and read back, and their steps are those of each path by itself.
func TestStepsOfNonConvertingPathsAreReadBackExactly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		var s Steps
		want := Steps{}
		add := func(before, channel string) {
			if want[before] == nil {
				want[before] = map[string]int64{}
			}
			want[before][channel]++
		}
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
					add(before, channel)
				}
				before = channel
			}
			add(before, "")
		}
		stored, err := json.Marshal(s)
		again := Steps{}
		if err != nil || json.Unmarshal(stored, &again) != nil || len(want) > 0 && !reflect.DeepEqual(again, want) {
			t.Fatalf("%s, %v, want %v", stored, err, want)
		}
	}
}

// What is too much for a day is left out as a whole: no journey is half there.
func TestADayHasABoundedNumberOfSteps(t *testing.T) {
	t.Parallel()
	var s Steps
	added := 0
	for i := range MaxSteps {
		if s.Add([]string{fmt.Sprint("a", i), fmt.Sprint("b", i)}) { // three steps
			added++
		}
	}
	if added != MaxSteps/3 {
		t.Errorf("%d journeys of three new steps are added", added)
	}
	if !s.Add([]string{"a0", "b0"}) {
		t.Error("a journey of known steps is left out")
	}
	var starts, ends int64
	for before, channels := range s {
		for channel, n := range channels {
			if before == "" {
				starts += n
			}
			if channel == "" {
				ends += n
			}
		}
	}
	if want := int64(added + 1); starts != want || ends != want {
		t.Errorf("%d begin and %d end, want %d", starts, ends, want)
	}
}
