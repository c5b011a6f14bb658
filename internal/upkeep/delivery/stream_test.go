package delivery

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// adds takes numbers that came on day 1, and returns how many are missing.
func adds(s *Stream, seqs ...int64) int64 {
	var c Change
	for _, seq := range seqs {
		s.Add(seq, 1, &c)
	}
	return c.Missing[1]
}

func TestNumbersThatDoNotComeAreMissing(t *testing.T) {
	t.Parallel()
	f := func(want int64, seqs ...int64) {
		t.Helper()
		var s Stream
		if got := adds(&s, seqs...); got != want || s.Missing() != want || s.Whole() != (want == 0) {
			t.Errorf("%v: %d missing (%d, %t), want %d", seqs, got, s.Missing(), s.Whole(), want)
		}
	}
	f(0)
	f(0, 1, 2, 3)
	f(1, 1, 3)
	f(2, 3)       // the first ones were lost
	f(0, 3, 1, 2) // they come later
	f(1, 1, 3, 3, 5, 2)
	f(0, 0, -4)      // no numbers
	f(0, 1, 1, 1, 2) // one number twice
	f(MaxGap, MaxGap+1)
	f(0, MaxGap+2) // not believed
	f(3, 9, 5, 1, 8, 2, 7)
}

func TestAGapIsMissingOnTheDayOnWhichItWasSeen(t *testing.T) {
	t.Parallel()
	var s Stream
	var c Change
	s.Add(1, 10, &c)
	s.Add(4, 10, &c)
	s.Add(6, 11, &c)
	if !reflect.DeepEqual(c.Missing, map[Day]int64{10: 2, 11: 1}) {
		t.Errorf("%v", c.Missing)
	}
	c = Change{}
	s.Add(3, 12, &c)
	s.Add(5, 20, &c)
	s.Add(8, 20, &c)
	if !reflect.DeepEqual(c.Missing, map[Day]int64{10: -1, 11: -1, 20: 1}) || s.Top != 8 || s.Missing() != 2 {
		t.Errorf("%v, top %d, %d missing", c.Missing, s.Top, s.Missing())
	}
}

func TestWhatTheSenderGaveUpIsNotMissing(t *testing.T) {
	t.Parallel()
	var s Stream
	adds(&s, 1, 5, 9) // 2 to 4 and 6 to 8
	f := func(n, explained, left int64) {
		t.Helper()
		var c Change
		if got := s.Explain(n, &c); got != explained || s.Missing() != left || c.Missing[1] != -explained {
			t.Errorf("%d: %d explained, %v, %d left", n, got, c.Missing, s.Missing())
		}
	}
	f(0, 0, 6)
	f(4, 4, 2)
	f(1_000_000, 2, 0)
	f(1, 0, 0)
}

func TestAStreamIsBounded(t *testing.T) {
	t.Parallel()
	var s Stream
	var c Change
	for seq := int64(2); seq <= 2000; seq += 2 {
		s.Add(seq, 1, &c)
	}
	if len(s.Gaps) != maxGaps || c.Missing[1] != 1000 {
		t.Errorf("%d gaps, %v", len(s.Gaps), c.Missing)
	}
	if s.Add(1, 1, &c); c.Missing[1] != 1000 {
		t.Errorf("an old gap was filled: %v", c.Missing)
	}
	s.Add(1<<60, 1, &c)
	s.Add(1<<63-1, 1, &c)
	if !c.Broken || c.Missing[1] != 1000 || s.Top != 1<<63-1 {
		t.Errorf("%+v, top %d", c, s.Top)
	}
}

// TestTheOrderOfNumbersDoesNotMatter: the same numbers in any order, with repeats, stored
// and read between, leave the same missing.
func TestTheOrderOfNumbersDoesNotMatter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		came := map[int64]bool{}
		for range 1 + r.IntN(60) {
			came[1+r.Int64N(100)] = true
		}
		seqs := slices.Collect(maps.Keys(came))
		top := slices.Max(seqs)
		seqs = append(seqs, seqs[:r.IntN(len(seqs))]...)
		r.Shuffle(len(seqs), func(i, j int) { seqs[i], seqs[j] = seqs[j], seqs[i] })
		s := &Stream{}
		var c Change
		for _, seq := range seqs {
			s.Add(seq, Day(r.IntN(3)), &c)
			stored, err := json.Marshal(s.Gaps)
			again := &Stream{Top: s.Top}
			if err != nil || json.Unmarshal(stored, &again.Gaps) != nil || !slices.Equal(again.Gaps, s.Gaps) {
				t.Fatalf("seed %d: %v, %s", seed, err, stored)
			}
			s = again
		}
		var missing int64
		for _, n := range c.Missing {
			missing += n
		}
		if want := top - int64(len(came)); missing != want || s.Missing() != want || s.Top != top {
			t.Errorf("seed %d: %d missing, %d in gaps, want %d", seed, missing, s.Missing(), want)
		}
	}
}

func TestASketchCountsAboutHowManyThings(t *testing.T) {
	t.Parallel()
	var s Sketch
	var sum int64
	for n := 1; n <= 300_000; n++ {
		digest := sha256.Sum256(fmt.Append(nil, n))
		for range 1 + n%2 { // some come again
			sum += s.Add(digest[:])
		}
		if n == 10 || n == 1000 || n == 100_000 || n == 300_000 {
			if diff := float64(sum-int64(n)) / float64(n); diff > 0.05 || diff < -0.05 {
				t.Errorf("%d things are %d", n, sum)
			}
		}
	}
	if len(s) != sketchBits/8 {
		t.Errorf("%d bytes", len(s))
	}
}
