package throttle

import (
	"testing"
	"time"
)

func TestABucketOfItsOwn(t *testing.T) {
	t.Parallel()
	b := NewBucket(10, 100)
	f := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("a new one is full", b.Left(noon), 100.0)
	f("it has no more", b.Take(noon, 101), false)
	f("it gives all", b.Take(noon, 100), true)
	f("then it is empty", b.Take(noon, 1), false)
	f("after 0.1 s", b.Take(noon.Add(100*time.Millisecond), 1), true)
	f("a clock that went back fills nothing", b.Take(noon, 1), false)
	f("what it owes has no bound", b.Charge(noon, 200), 20*time.Second)
	f("each waits for those before", b.Charge(noon, 50), 25*time.Second)
	f("then it owes nothing", b.Left(noon.Add(25*time.Second)), 0.0)
	later := noon.Add(time.Hour)
	f("it is never more than full", b.Left(later), 100.0)
	f("what it has needs no wait", b.Charge(later, 40), time.Duration(0))

	b.Resize(1, 50)
	f("the smaller one is full", b.Left(later), 50.0)
	b.Charge(later, 50)
	b.Resize(20, 1000)
	f("what is used up stays used up", b.Take(later, 1), false)
	f("it fills at the new rate", b.Left(later.Add(time.Second)), 20.0)
}
