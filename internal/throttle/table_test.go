package throttle

import (
	"testing"
	"time"
	"unsafe"
)

func TestABucketFillsAndOwes(t *testing.T) {
	b := NewTable(10, 100, false)
	now := time.Unix(1_700_000_000, 0)
	f := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("a new one is full", b.Take(7, now, 100), true)
	f("then it is empty", b.Take(7, now, 1), false)
	f("another's is full", b.Take(9, now, 100), true)
	f("after 0.1 s", b.Take(7, now.Add(100*time.Millisecond), 1), true)
	f("a clock that went back fills nothing", b.Take(7, now.Add(-time.Hour), 1), false)
	later := now.Add(time.Hour)
	f("it is never more than full", b.Take(7, later, 101), false)
	b.Charge(7, later, 120)
	f("it owes 20", b.Wait(7, later), 2100*time.Millisecond)
	f("which flow in again", b.Wait(7, later.Add(2100*time.Millisecond)), time.Duration(0))
	b.Charge(7, later, 1e9)
	f("it owes a whole bucket at most", b.Wait(7, later), 10100*time.Millisecond)
}

// A stranger with a million networks must not get a million full buckets, nor
// memory for them.
func TestManyKeysGetNoMoreThanAllPlacesHold(t *testing.T) {
	const places = tableShards * tableSets * tableWays
	now := time.Unix(1_700_000_000, 0)
	taken := func(b *Table) (n int) {
		for i := range uint64(50 * places) {
			if b.Take(i*0x9E3779B97F4A7C15, now, 1) { // spread as hashes are
				n++
			}
		}
		return n
	}
	if n := taken(NewTable(1, 5, false)); n > 5*places {
		t.Errorf("%d tokens of %d places with 5 each", n, places)
	}
	if n := taken(NewTable(1, 5, true)); n != 50*places {
		t.Errorf("%d of %d new keys found a fresh bucket", n, 50*places)
	}
	if size := unsafe.Sizeof(Table{}); size > 512<<10 {
		t.Errorf("a table has %d bytes", size)
	}
	b := NewTable(1, 5, false)
	key := uint64(0)
	if n := testing.AllocsPerRun(100, func() {
		key += 0x9E3779B97F4A7C15
		b.Take(key, now, 1)
		b.Charge(key, now, 1)
		b.Wait(key, now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// While a key's bucket is in use, others that come and go do not make it full again.
func TestABucketInUseIsNotForgotten(t *testing.T) {
	b := NewTable(1, 5, false)
	now := time.Unix(1_700_000_000, 0)
	b.Charge(42, now, 10)
	for i := range uint64(tableShards * tableSets) {
		b.Take(i*0x9E3779B97F4A7C15, now, 1)
	}
	if b.Wait(42, now) == 0 {
		t.Error("it owes nothing any more")
	}
}
