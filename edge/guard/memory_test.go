package guard

import "testing"

// Whoever takes all they may leaves room for others, and what is given back is forgotten.
func TestNobodyTakesTheMemoryOfAll(t *testing.T) {
	m := NewMemory(800, 100)
	f := func(principal uint64, n int, want bool) {
		t.Helper()
		if taken := m.Take(principal, n); taken != want {
			t.Errorf("%d takes %d: %t", principal, n, taken)
		}
	}
	f(1, 60, true)
	f(1, 40, true)
	f(1, 1, false)
	for other := range uint64(7) {
		f(2+other, 100, true)
	}
	f(9, 1, false) // 800 are taken
	m.Give(1, 100)
	f(9, 1, true)
	m.Give(9, 1)
	for other := range uint64(7) {
		m.Give(2+other, 100)
	}
	if m.Held() != 0 || len(m.principals) != 0 {
		t.Errorf("%d are held, by %v", m.Held(), m.principals)
	}
}
