package throttle

import (
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestTokensComeBackWithTime(t *testing.T) {
	t.Parallel()
	b := New(time.Second, 2)
	f := func(after time.Duration, want Attempt) {
		t.Helper()
		if got := b.Take("ana", noon.Add(after)); got != want {
			t.Errorf("after %v: %+v, want %+v", after, got, want)
		}
	}
	f(0, Attempt{OK: true})
	f(0, Attempt{OK: true})
	f(0, Attempt{Wait: time.Second, First: true})
	f(250*time.Millisecond, Attempt{Wait: 750 * time.Millisecond})
	f(0, Attempt{Wait: 750 * time.Millisecond}) // a clock that goes back gives nothing
	f(time.Second, Attempt{OK: true})
	f(time.Hour, Attempt{OK: true})
	f(time.Hour, Attempt{OK: true})
	f(time.Hour, Attempt{Wait: time.Second, First: true})
	b.Give("ana")
	b.Give("nobody")
	f(time.Hour, Attempt{OK: true})
	b.Forget("ana")
	b.Forget("nobody")
	f(time.Hour, Attempt{OK: true})
}

func TestLeftIsWhatABucketHas(t *testing.T) {
	t.Parallel()
	b := New(time.Second, 2)
	f := func(after time.Duration, want float64) {
		t.Helper()
		if got := b.Left("ana", noon.Add(after)); got != want {
			t.Errorf("after %v: %v tokens, want %v", after, got, want)
		}
	}
	f(0, 2)
	b.Take("ana", noon)
	b.Take("eva", noon)
	f(0, 1)
	f(250*time.Millisecond, 1.25)
	f(time.Hour, 2)
}

// Whom a table has no place for is not refused for what others did.
func TestANameBeyondTheTableHasAFullBucket(t *testing.T) {
	t.Parallel()
	b := New(time.Minute, 1)
	for i := range 2 * tableShards * tableSets * tableWays {
		if name := fmt.Sprint("person", i); !b.Take(name, noon).OK {
			t.Fatalf("%s is refused", name)
		}
	}
}

func TestGuessesArePaidAndKnownSecretsAreNot(t *testing.T) {
	t.Parallel()
	g := NewGuesses()
	for range 10 * allBurst {
		if !g.Begin("1.1.1.0/24", noon).OK {
			t.Fatal("a network that shows known secrets has to wait")
		}
		g.Known("1.1.1.0/24")
	}
	allowed := func(network func(i int) string, tries int) (n int) {
		for i := range tries {
			if g.Begin(network(i), noon).OK {
				n++
			}
		}
		return n
	}
	if n := allowed(func(int) string { return "1.1.1.0/24" }, 1000); n != networkBurst {
		t.Errorf("one network guessed %d times, want %d", n, networkBurst)
	}
	if !g.Begin("2.2.2.0/24", noon).OK {
		t.Error("another network has to wait for that one")
	}
	if n := allowed(func(i int) string { return fmt.Sprint("network", i) }, 5*allBurst); n != allBurst-networkBurst-1 {
		t.Errorf("many networks guessed %d times", n)
	}
	if got := g.Begin("3.3.3.0/24", noon); got.OK || got.Wait <= 0 {
		t.Errorf("beyond all: %+v", got)
	}
}

func TestNetworksOfAddresses(t *testing.T) {
	t.Parallel()
	f := func(address, want string) {
		t.Helper()
		if got := Network(address); got != want {
			t.Errorf("Network(%q) = %q, want %q", address, got, want)
		}
	}
	f("203.0.113.77", "203.0.113.0/24")
	f("::ffff:203.0.113.77", "203.0.113.0/24")
	f("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48")
	f("fe80::1%eth0", "fe80::/48")
	f("", "unknown")
	f("a name", "unknown")
}

// What is told to wait for is there then, also where a second is no multiple of it.
func TestAfterTheWaitThereIsAToken(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{time.Minute, 6 * time.Second, 7 * time.Second, 100 * time.Millisecond, 5 * time.Millisecond} {
		b := New(every, 1)
		b.Take("ana", noon)
		got := b.Take("ana", noon)
		if got.OK || got.Wait != every || !b.Take("ana", noon.Add(got.Wait)).OK {
			t.Errorf("every %v: %+v, and then none is there", every, got)
		}
	}
}
