package main

import (
	"context"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/wire"
)

// fault is one thing that goes wrong for a while.
type fault struct {
	name string
	mean time.Duration // how long
	// begin does it, and returns what ends it.
	begin func(w *world, r *dice) (end func())
}

func (w *world) faults(ctx context.Context, r *dice) {
	kinds := faultKinds()
	var running sync.WaitGroup
	for background.Sleep(ctx, r.about(25*time.Second)) {
		kind := kinds[r.intn(len(kinds))]
		span := min(r.about(kind.mean)+50*time.Millisecond, 2*time.Minute)
		w.trace("fault: %s for %v", kind.name, span)
		w.mu.Lock()
		w.report.Faults++
		w.mu.Unlock()
		end := kind.begin(w, r)
		for _, s := range w.senders { // what happens under no load shows little
			running.Go(func() { s.burst(ctx, span) })
		}
		running.Go(func() {
			background.Sleep(ctx, span)
			end()
			w.trace("end of %s", kind.name)
		})
		if r.chance(0.6) { // else the next comes with it
			background.Sleep(ctx, span)
		}
	}
	running.Wait()
	w.heal()
}

// burst tracks some events within a fault's time.
func (s *sender) burst(ctx context.Context, span time.Duration) {
	for range 1 + s.random.intn(6) {
		if !background.Sleep(ctx, s.random.about(min(span, 5*time.Second)/8)) {
			return
		}
		id := ""
		if s.random.chance(0.25) {
			id = s.w.twin(s)
		}
		s.track(id, s.random.intn(300))
	}
}

// heal ends what no fault ended.
func (w *world) heal() {
	w.cluster.set(func(f *clusterFaults) { *f = clusterFaults{} })
	w.network.set(func(f *networkFaults) { *f = networkFaults{} })
	for _, m := range w.machines {
		m.disk.set(func(f *diskFaults) { *f = diskFaults{} })
		m.disk.mu.Lock()
		m.disk.killAt = 0
		m.disk.mu.Unlock()
		m.start(context.Background())
	}
	w.store.mu.Lock()
	w.store.away, w.store.slow, w.store.lost = false, 0, 0
	w.store.mu.Unlock()
}

func (d *disk) set(change func(*diskFaults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.faults)
}

func clusterFault(name string, mean time.Duration, change func(*clusterFaults, *dice)) fault {
	return fault{name, mean, func(w *world, r *dice) func() {
		w.cluster.set(func(f *clusterFaults) { change(f, r) })
		return func() { w.cluster.set(func(f *clusterFaults) { *f = clusterFaults{maxRecord: f.maxRecord} }) }
	}}
}

func networkFault(name string, mean time.Duration, change func(*networkFaults, *dice)) fault {
	return fault{name, mean, func(w *world, r *dice) func() {
		w.network.set(func(f *networkFaults) { change(f, r) })
		return func() { w.network.set(func(f *networkFaults) { *f = networkFaults{} }) }
	}}
}

func diskFault(name string, mean time.Duration, change func(*diskFaults, *dice)) fault {
	return fault{name, mean, func(w *world, r *dice) func() {
		m := w.machines[r.intn(len(w.machines))]
		d := m.disk
		m.noteBroken()
		away := r.chance(0.7) // without Kafka away no disk is used
		if away {
			w.cluster.set(func(f *clusterFaults) { f.refuses = true })
		}
		d.set(func(f *diskFaults) { change(f, r) })
		return func() {
			d.set(func(f *diskFaults) { *f = diskFaults{} })
			m.noteBroken()
			if away {
				w.cluster.set(func(f *clusterFaults) { f.refuses = false })
			}
		}
	}}
}

func storeFault(name string, mean time.Duration, change func(*store)) fault {
	return fault{name, mean, func(w *world, _ *dice) func() {
		w.store.mu.Lock()
		change(w.store)
		w.store.mu.Unlock()
		return func() {
			w.store.mu.Lock()
			w.store.away, w.store.slow, w.store.lost = false, 0, 0
			w.store.mu.Unlock()
		}
	}}
}

// killFault kills an edge, at once or at one of its next disk operations, and
// starts it again after the fault's time.
func killFault(name string, mean time.Duration, away bool, kill func(w *world, m *machine, r *dice)) fault {
	return fault{name, mean, func(w *world, r *dice) func() {
		m := w.machines[r.intn(len(w.machines))]
		if away {
			w.cluster.set(func(f *clusterFaults) { f.refuses = true })
		}
		kill(w, m, r)
		back := r.chance(0.5)
		return func() {
			if away && back {
				w.cluster.set(func(f *clusterFaults) { f.refuses = false })
			}
			m.start(context.Background())
			if away && !back {
				time.Sleep(r.about(5 * time.Second))
				w.cluster.set(func(f *clusterFaults) { f.refuses = false })
			}
		}
	}}
}

func faultKinds() []fault {
	return []fault{
		clusterFault("Kafka refuses connections", 15*time.Second, func(f *clusterFaults, _ *dice) { f.refuses = true }),
		clusterFault("Kafka is silent", 8*time.Second, func(f *clusterFaults, r *dice) {
			f.silent, f.lostAcks = true, []float64{0, 0.5, 1}[r.intn(3)]
		}),
		clusterFault("Kafka is slow", 15*time.Second, func(f *clusterFaults, r *dice) {
			f.slow = r.between(50*time.Millisecond, 1500*time.Millisecond)
		}),
		clusterFault("Kafka's answers are lost", 8*time.Second, func(f *clusterFaults, _ *dice) { f.lostAcks = 0.5 }),
		clusterFault("Kafka fails now and then", 10*time.Second, func(f *clusterFaults, _ *dice) { f.temporary = 0.5 }),
		clusterFault("Kafka permits no writing", 8*time.Second, func(f *clusterFaults, _ *dice) { f.denied = true }),
		clusterFault("a partition has no leader", 20*time.Second, func(f *clusterFaults, r *dice) { f.leaderless[r.intn(partitions)] = true }),
		{"a partition is away longer", 20 * time.Second, func(w *world, r *dice) func() {
			w.cluster.set(func(f *clusterFaults) { f.refuses, f.leaderless[r.intn(partitions)] = true, true })
			time.Sleep(r.about(5 * time.Second))
			w.cluster.set(func(f *clusterFaults) { f.refuses = false })
			return func() { w.cluster.set(func(f *clusterFaults) { f.leaderless = [partitions]bool{} }) }
		}},
		{"Kafka takes only small records", 20 * time.Second, func(w *world, r *dice) func() {
			w.cluster.set(func(f *clusterFaults) { f.refuses = true })
			for _, s := range w.senders {
				s.track("", 2_000+r.intn(20_000))
			}
			time.Sleep(r.about(4 * time.Second))
			w.cluster.set(func(f *clusterFaults) { f.refuses, f.maxRecord = false, 1_500 })
			return func() { w.cluster.set(func(f *clusterFaults) { f.maxRecord = 0 }) }
		}},
		{"a disk fails, and then power is lost", 10 * time.Second, func(w *world, r *dice) func() {
			m := w.machines[r.intn(len(w.machines))]
			w.cluster.set(func(f *clusterFaults) { f.refuses = true })
			m.noteBroken()
			m.disk.set(func(f *diskFaults) { f.syncs = 0.5 })
			return func() {
				m.disk.set(func(f *diskFaults) { *f = diskFaults{} })
				m.noteBroken()
				time.Sleep(r.about(3 * time.Second))
				w.count(&w.report.PowerLost)
				m.kill(true)
				m.start(context.Background())
				w.cluster.set(func(f *clusterFaults) { f.refuses = false })
			}
		}},
		{"leaders change", 5 * time.Second, func(w *world, r *dice) func() {
			w.cluster.set(func(f *clusterFaults) { f.slow = 200 * time.Millisecond })
			for range 1 + r.intn(3) {
				time.Sleep(r.about(time.Second))
				w.cluster.changeLeader(wire.TopicEvents, r.intn(partitions))
				w.count(&w.report.Leaders)
			}
			return func() { w.cluster.set(func(f *clusterFaults) { f.slow = 0 }) }
		}},
		networkFault("the network refuses connections", 8*time.Second, func(f *networkFaults, _ *dice) { f.refused = true }),
		networkFault("requests are cut", 8*time.Second, func(f *networkFaults, _ *dice) { f.requests = 0.5 }),
		networkFault("answers are lost", 8*time.Second, func(f *networkFaults, _ *dice) { f.answers = 0.5 }),
		networkFault("the network is slow", 10*time.Second, func(f *networkFaults, r *dice) {
			f.slow = r.between(100*time.Millisecond, 4*time.Second)
		}),
		diskFault("a disk is full", 8*time.Second, func(f *diskFaults, _ *dice) { f.full = true }),
		diskFault("syncs fail", 8*time.Second, func(f *diskFaults, r *dice) { f.syncs = []float64{0.3, 1}[r.intn(2)] }),
		diskFault("writes fail", 8*time.Second, func(f *diskFaults, r *dice) { f.writes = []float64{0.3, 1}[r.intn(2)] }),
		diskFault("a disk is slow", 10*time.Second, func(f *diskFaults, r *dice) {
			f.slowSync = r.between(20*time.Millisecond, 700*time.Millisecond)
		}),
		diskFault("a disk hangs", 4*time.Second, func(f *diskFaults, r *dice) { f.hang = r.between(100*time.Millisecond, 2*time.Second) }),
		killFault("an edge is killed", 5*time.Second, false, func(w *world, m *machine, _ *dice) { w.count(&w.report.Kills); m.kill(false) }),
		killFault("an edge is killed while Kafka is away", 8*time.Second, true, func(w *world, m *machine, r *dice) {
			time.Sleep(r.about(4 * time.Second))
			w.count(&w.report.Kills)
			m.kill(r.chance(0.5))
		}),
		killFault("power is lost", 5*time.Second, false, func(w *world, m *machine, _ *dice) { w.count(&w.report.PowerLost); m.kill(true) }),
		killFault("power is lost at a disk operation", 12*time.Second, true, func(w *world, m *machine, r *dice) {
			w.count(&w.report.PowerLost)
			m.disk.mu.Lock()
			m.disk.killAt = 1 + r.intn(60)
			m.disk.mu.Unlock()
		}),
		{"an edge is restarted", 3 * time.Second, func(w *world, r *dice) func() {
			m := w.machines[r.intn(len(w.machines))]
			m.terminate()
			return func() { m.start(context.Background()) }
		}},
		{"a sender crashes", time.Second, func(w *world, r *dice) func() {
			s := w.senders[r.intn(len(w.senders))]
			s.restart()
			return func() {}
		}},
		{"a processor is killed", 5 * time.Second, func(w *world, r *dice) func() {
			i := r.intn(len(w.processors))
			w.processor(i).end(true)
			return func() { w.replaceProcessor(i) }
		}},
		storeFault("the store is away", 8*time.Second, func(s *store) { s.away = true }),
		storeFault("the store is slow", 8*time.Second, func(s *store) { s.slow = 2 * time.Second }),
		storeFault("the store's answers are lost", 5*time.Second, func(s *store) { s.lost = 0.5 }),
	}
}

func (w *world) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// restart ends a sender's process without a flush and starts another.
func (s *sender) restart() {
	s.mu.Lock()
	left := len(s.pending)
	s.mu.Unlock()
	s.w.mu.Lock()
	s.w.report.Crashed += left
	s.w.mu.Unlock()
	s.w.trace("sender %d crashes with %d", s.number, left)
	s.die()
	s.start()
}
