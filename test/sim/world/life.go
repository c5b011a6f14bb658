package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/wire"
)

// Shape of a world.
const (
	machines   = 2
	sendersOf  = 3 // of each machine; two of them are of one company
	companies  = 2
	storm      = 4 * time.Minute
	quietEvery = time.Hour // a storm, then calm
)

func companyID(n int) string { return []string{"co_0", "co_2"}[n] }

// live lets the world live for a virtual time: storms of faults, each with a
// calm after it in which all must settle.
func (w *world) live(span time.Duration) {
	for n := range companies {
		c := wire.Company{V: 1, Rev: 1, CompanyID: companyID(n), Environment: "live", Country: "BR", Timezone: "America/Sao_Paulo",
			KeyCheck: w.hasher.Check(companyID(n))}
		value, err := json.Marshal(c)
		if err != nil {
			panic(err) // no member of it cannot be
		}
		l := w.cluster.log(wire.TopicDirectory, 0)
		l.records = append(l.records, logged{[]byte(wire.CompanyKeyPrefix + c.CompanyID), value, time.Now()})
		w.cluster.commit(l, len(l.records))
	}
	for n := range machines {
		m := &machine{w: w, random: newDice(w.seed, uint64(10+n)), number: n, acked: map[string]ack{}}
		m.disk = newDisk(w, newDice(w.seed, uint64(20+n)))
		w.machines = append(w.machines, m)
		m.start(context.Background())
	}
	for n := range machines * sendersOf {
		s := &sender{w: w, random: newDice(w.seed, uint64(30+n)), number: n, company: companyID(n / 2 % companies), to: w.machines[n%machines]}
		w.senders = append(w.senders, s)
		s.start()
	}
	w.processors = []*processorLife{w.startProcessor(), w.startProcessor()}

	end := w.began.Add(span)
	for round := 0; time.Now().Before(end) && !w.violated; round++ {
		next := time.Now().Add(quietEvery)
		w.storm(uint64(round), min(storm, time.Until(end)))
		w.calm()
		time.Sleep(time.Until(next)) // nothing happens
	}
	w.end()
}

// storm lets faults and traffic come for a while.
func (w *world) storm(round uint64, span time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { w.faults(ctx, newDice(w.seed, 1000+round)) })
	for _, s := range w.senders {
		running.Go(func() { s.traffic(ctx) })
	}
	running.Go(func() {
		for background.Sleep(ctx, time.Second) {
			w.checkBounds()
		}
	})
	running.Wait()
}

// traffic tracks events in bursts.
func (s *sender) traffic(ctx context.Context) {
	for background.Sleep(ctx, s.random.about(80*time.Second)) {
		for range 1 + s.random.intn(8) {
			id := ""
			if s.random.chance(0.2) {
				id = s.w.twin(s)
			}
			size := s.random.intn(300)
			if s.random.chance(0.03) {
				size = 10_000 + s.random.intn(15_000)
			}
			s.track(id, size)
			if !background.Sleep(ctx, s.random.about(60*time.Millisecond)) {
				return
			}
		}
	}
}

// twin is the id of an event that another sender of the company has just
// tracked; empty: there is none.
func (w *world) twin(s *sender) string {
	for _, other := range w.senders {
		if other != s && other.company == s.company && s.random.chance(0.5) {
			other.mu.Lock()
			id := other.newest
			if !other.pending[id] {
				id = ""
			}
			other.mu.Unlock()
			return id
		}
	}
	return ""
}

// calm ends when all is settled. Before that, traffic flows until each spool has
// been empty once: a drain must end under it.
func (w *world) calm() {
	w.trace("calm")
	began := time.Now()
	// A produce takes longer than events need to come.
	w.cluster.set(func(f *clusterFaults) { f.slow = 150 * time.Millisecond })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, s := range w.senders {
		running.Go(func() {
			for background.Sleep(ctx, 60*time.Millisecond) {
				s.track("", 10)
			}
		})
	}
	for _, m := range w.machines {
		for {
			if l := m.current(); l != nil && l.spool != nil && len(l.spool.Partitions()) == 0 {
				break
			}
			if time.Since(began) > calmAfter {
				w.violate("the spool of machine %d is not drained under steady traffic %v after the last fault", m.number, calmAfter)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	cancel()
	running.Wait()
	w.cluster.set(func(f *clusterFaults) { f.slow = 0 })
	w.awaitSettled(began)
	for _, m := range w.machines { // what Kafka refused is tried again at a start
		if l := m.current(); l != nil && l.spool != nil && l.spool.State().Refused > 0 {
			m.terminate()
			m.start(context.Background())
		}
	}
	w.awaitSettled(began)
	w.check()
}

func (w *world) awaitSettled(began time.Time) {
	for {
		what, ok := w.settled()
		if ok {
			return
		}
		if time.Since(began) > 2*calmAfter {
			w.violate("%s is not empty %v after the last fault", what, 2*calmAfter)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// end stops all and holds that nothing is left running.
func (w *world) end() {
	for _, s := range w.senders {
		s.die()
	}
	for _, m := range w.machines {
		m.terminate()
	}
	for _, m := range w.machines {
		m.ends.Wait()
	}
	for _, p := range w.processors {
		p.end(false)
	}
	w.cluster.pending.Wait()
	time.Sleep(time.Minute) // fasthttp's workers end by themselves
	if left := leftGoroutines(); len(left) > 0 {
		w.violate("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
	w.report.Seed, w.report.Hours = w.seed, time.Since(w.began).Hours()
	w.report.Hash = fmt.Sprintf("%016x", w.hash.Sum64())
}

// leftGoroutines are the stacks of all goroutines but this one and those that
// fasthttp keeps for the whole process: the clock of its Date header, and the
// workers that compress.
func leftGoroutines() (left []string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(strings.TrimSpace(string(stacks)), "\n\n")[1:] {
		if !strings.Contains(stack, "fasthttp.updateServerDate") && !strings.Contains(stack, "fasthttp/stackless.funcWorker") {
			left = append(left, stack)
		}
	}
	return left
}
