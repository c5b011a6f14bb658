package shop

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Faults are rates between 0 and 1 of what may go wrong, drawn from Seed.
type Faults struct {
	Seed uint64

	// Of notices:
	Lost     float64 // never sent
	Doubled  float64 // sent twice
	Reversed float64 // sent after the next notice
	Forged   float64 // a forged copy is sent as well

	// Of requests:
	TooMany     float64 // 429 although within the limit
	ServerError float64 // 500, 502, 503 or 504, before anything is done
	Timeout     float64 // done, and not answered: after Hang the connection is cut
	Torn        float64 // done, and cut in the middle of the body
	Expired     float64 // all tokens end before the request, where they end by time

	// EditBetweenPages is how often an order changes after a page of a listing was read.
	EditBetweenPages float64
	// Hang is how long a request hangs; 2 s when 0.
	Hang time.Duration
	// ClockSkew is how far the shop's clock is ahead, from the start: SetFaults does not change it.
	ClockSkew time.Duration
}

// Storm is a bad week: a tenth of the notices is lost, and everything else happens too.
func Storm(seed uint64) Faults {
	return Faults{
		Seed: seed, Lost: 0.10, Doubled: 0.10, Reversed: 0.10, Forged: 0.05,
		TooMany: 0.02, ServerError: 0.02, Timeout: 0.005, Torn: 0.01, Expired: 0.005,
		EditBetweenPages: 0.2, Hang: 200 * time.Millisecond, ClockSkew: 90 * time.Second,
	}
}

// dice draws repeatable chances; safe for several goroutines.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newDice(seed uint64) *dice {
	return &dice{rng: rand.New(rand.NewPCG(seed, 0x66616b6573))}
}

func (d *dice) chance(rate float64) bool {
	if rate <= 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Float64() < rate
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// SetFaults changes the faults from now on; the zero Faults ends them all.
func (s *Shop) SetFaults(faults Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
	s.dice = newDice(faults.Seed)
}

func (s *Shop) luck() (Faults, *dice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults, s.dice
}

// met counts a fault.
func (s *Shop) met(name string) {
	s.stat(func(stats *Stats) { stats.Faults[name]++ })
}

// serveAPI counts and limits a request, and lets it meet the faults.
func (s *Shop) serveAPI(w http.ResponseWriter, r *http.Request) {
	s.count(r.Method, r.URL.Path)
	if cost := s.platform.Cost(r); cost > 0 {
		level, wait, taken := s.Take(cost)
		s.platform.LimitHeaders(w.Header(), level)
		if !taken {
			s.platform.TooMany(w, r, wait)
			return
		}
	}
	faults, dice := s.luck()
	switch {
	case dice.chance(faults.TooMany):
		s.met("too many")
		s.platform.TooMany(w, r, time.Second)
		return
	case dice.chance(faults.ServerError):
		s.met("server error")
		s.platform.Failed(w, r, []int{500, 502, 503, 504}[dice.n(4)])
		return
	case dice.chance(faults.Expired):
		if s.platform.Expire(s) {
			s.met("expired")
		}
	}
	answer := &kept{header: w.Header(), status: http.StatusOK}
	s.api.ServeHTTP(answer, r)
	if answer.status == http.StatusUnauthorized || answer.status == http.StatusForbidden {
		s.stat(func(stats *Stats) { stats.Unauthorized++ })
	}
	body := answer.body.Bytes()
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	switch {
	case dice.chance(faults.Timeout):
		s.met("timeout")
		s.hang(r.Context(), faults.Hang)
		panic(http.ErrAbortHandler)
	case len(body) > 1 && dice.chance(faults.Torn):
		s.met("torn")
		w.WriteHeader(answer.status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(body)
}

// hang waits until the client goes, the shop closes or the time is over.
func (s *Shop) hang(ctx context.Context, most time.Duration) {
	if most == 0 {
		most = 2 * time.Second
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// PageRead tells that a page of a listing of orders was read and that another follows: a fault may change an order now.
func (s *Shop) PageRead() {
	faults, dice := s.luck()
	if !dice.chance(faults.EditBetweenPages) {
		return
	}
	s.mu.Lock()
	if len(s.order) == 0 {
		s.mu.Unlock()
		return
	}
	id := s.order[dice.n(len(s.order))]
	s.mu.Unlock()
	s.met("edited between pages")
	_ = s.Touch(id, "checked "+strconv.Itoa(dice.n(1000)))
}

// kept keeps an answer until it is known how it ends.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(status int)      { k.status = status }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }
