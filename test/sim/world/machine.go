package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
)

const (
	spoolDir   = "/var/spool/edge"
	spoolBytes = spool.MinBytes
)

// machine is where an edge runs, one life after another, on one disk.
type machine struct {
	w      *world
	random *dice
	disk   *disk
	number int

	mu   sync.Mutex
	life *life // nil while none runs
	ends sync.WaitGroup

	// For what holds that a record is not sent again after a crash (repeat.go).
	acked  map[string]ack
	killed time.Time
	broken time.Time // when a fault of the disk began or ended last
}

// life is one process of an edge.
type life struct {
	number   int
	process  *process
	listener *listener
	spool    *spool.Spool
	stop     context.CancelFunc
	ended    chan struct{} // closed when nothing of it is left
}

func hasher() *identity.Hasher {
	h, err := identity.NewHasher(bytes.Repeat([]byte{7}, identity.MinSecret))
	if err != nil {
		panic(err) // the secret is long enough
	}
	return h
}

func (m *machine) listening() *listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life == nil {
		return nil
	}
	return m.life.listener
}

func (m *machine) current() *life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.life
}

// start runs an edge, as a supervisor does: again and again until it starts.
func (m *machine) start(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.startOnce()
		if err == nil {
			return
		}
		m.w.trace("edge %d does not start: %v", m.number, err)
		background.Sleep(ctx, time.Second)
	}
}

func (m *machine) startOnce() error {
	by := newProcess()
	l := &life{process: by, listener: newListener(), ended: make(chan struct{})}
	m.mu.Lock()
	if m.life != nil {
		m.mu.Unlock()
		return nil
	}
	m.life = l // from here on it may be killed
	m.mu.Unlock()
	files := mount{m.disk, by}
	m.disk.mu.Lock()
	m.disk.kill = func() { m.kill(true) }
	m.disk.mu.Unlock()
	m.w.mu.Lock()
	m.w.lives++
	l.number = m.w.lives
	m.w.mu.Unlock()
	opened, err := spool.Open(spool.Config{Dir: spoolDir, MaxBytes: spoolBytes, FS: files, Log: m.w.logger(m.number)})
	if err != nil {
		by.die()
		m.disk.unlock(by)
		m.forget(l)
		close(l.ended)
		return fmt.Errorf("open the spool: %w", err)
	}
	client := edgeClient{m.w.cluster, by, m}
	server, err := edge.New(edge.Config{
		RememberedIDs: 500, DirectoryFresh: time.Minute, ProduceTimeout: 3 * time.Second, SnapshotFile: m.w.snapshot(m.number),
		MaxQueuedBytes: queuedBytes, MaxPartitionBytes: queuedBytes / 2, MaxBatchBytes: 64 << 10,
	}, edge.Deps{Producer: client, Directory: client, Hasher: m.w.hasher, Spool: opened, Logger: m.w.logger(m.number)})
	if err != nil {
		panic(err) // no setting is wrong
	}
	ctx, stop := context.WithCancel(context.Background())
	m.mu.Lock()
	l.spool, l.stop = opened, stop
	m.mu.Unlock()
	m.ends.Go(func() {
		defer close(l.ended)
		served := server.Serve(ctx, l.listener)
		closed := opened.Close()
		if !by.isDead() { // it ended as it should
			if served != nil {
				m.w.trace("edge %d ends: %v", l.number, served)
			}
			if closed != nil {
				m.w.trace("spool of %d ends: %v", l.number, closed)
			}
			by.die()
		}
		m.disk.unlock(by)
	})
	if by.isDead() { // killed while it started
		stop()
		l.listener.cut()
	}
	m.w.trace("edge %d starts life %d", m.number, l.number)
	return nil
}

// queuedBytes bounds what an edge keeps for Kafka in memory.
const queuedBytes = 256 << 10

func (m *machine) forget(l *life) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life == l {
		m.life = nil
	}
}

// kill ends the process at once. With the power gone, the disk keeps what was
// synced alone.
func (m *machine) kill(power bool) {
	m.mu.Lock()
	l := m.life
	m.life = nil
	m.mu.Unlock()
	if l != nil {
		l.process.die()
		m.noteKilled()
		m.w.trace("edge %d is killed, power lost: %v", m.number, power)
		l.listener.cut()
		if l.stop != nil {
			l.stop()
		}
		m.disk.unlock(l.process)
	}
	if power {
		m.disk.losePower()
	}
}

// terminate stops the process as SIGTERM does, and returns once it has ended.
func (m *machine) terminate() {
	m.mu.Lock()
	l := m.life
	m.life = nil
	m.mu.Unlock()
	if l == nil || l.stop == nil {
		if l != nil {
			m.kill(false)
		}
		return
	}
	m.w.trace("edge %d is stopped", m.number)
	l.stop()
	<-l.ended
}
