package main

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/internal/seglog"
)

// disk is the disk of one machine. It holds what programs wrote, and which of
// that a loss of power leaves: what was synced, and of the rest an arbitrary
// part. It fails and lies as told by its faults.
type disk struct {
	w      *world
	random *dice

	mu      sync.Mutex
	files   map[string]*diskFile // by path, as programs see them
	durable map[string]*diskFile // names that a loss of power leaves
	locks   map[string]*process
	used    int64
	faults  diskFaults
	killAt  int    // the operation, counted from now, at which power is lost; 0: none
	kill    func() // loses the power
}

// diskFaults are what the disk does wrong. Shares are of 1.
type diskFaults struct {
	full     bool
	syncs    float64 // share of syncs that fail
	writes   float64 // share of writes, creations and removals that fail
	hang     time.Duration
	slowSync time.Duration
}

// diskFile is a file. dirty are the parts that were written since the last sync.
type diskFile struct {
	name  string
	bytes []byte // as programs see them
	disk  []byte // as they are on the disk
	dirty []extent
}

type extent struct{ from, to int }

var errDead = errors.New("world: the process is dead")

func newDisk(w *world, random *dice) *disk {
	return &disk{w: w, random: random, files: map[string]*diskFile{}, durable: map[string]*diskFile{}, locks: map[string]*process{}}
}

// process is one life of an edge. Nothing that it does after its death has an
// effect.
type process struct {
	mu   sync.Mutex
	dead bool
	died chan struct{}
}

func newProcess() *process { return &process{died: make(chan struct{})} }

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead {
		p.dead = true
		close(p.died)
	}
}

// unlock frees the locks of a process.
func (d *disk) unlock(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, owner := range d.locks {
		if owner == p {
			delete(d.locks, name)
		}
	}
}

// losePower leaves what was synced, and of what was not an arbitrary part: the
// front of a write, with or without zeros or rubbish behind it; a name that was
// made or removed since the directory's last sync, or not.
func (d *disk) losePower() {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := map[string]*diskFile{}
	for _, name := range sortedNames(d.durable, d.files) {
		was, is := d.durable[name], d.files[name]
		switch {
		case was == is:
			names[name] = was
		case d.random.chance(0.5):
			if was != nil {
				names[name] = was
			}
		case is != nil:
			names[name] = is
		}
	}
	d.files, d.durable, d.used = map[string]*diskFile{}, map[string]*diskFile{}, 0
	for _, name := range sortedNames(names) {
		f := names[name]
		f.tear(d.random)
		f.name, f.bytes, f.dirty = name, slices.Clone(f.disk), nil
		d.files[name], d.durable[name] = f, f
		d.used += int64(len(f.bytes))
		d.w.noteDurable(f.disk)
	}
	d.locks = map[string]*process{}
}

// tear writes a part of what is dirty to the disk.
func (f *diskFile) tear(random *dice) {
	for _, e := range f.dirty {
		e.to = min(e.to, len(f.bytes))
		if e.to <= e.from {
			continue
		}
		kept := e.to // all of it, though nobody was told
		if !random.chance(0.3) {
			kept = e.from + random.intn(e.to-e.from)
		}
		f.disk = place(f.disk, e.from, f.bytes[e.from:kept])
		switch rest := e.to - kept; random.intn(4) {
		case 0:
			f.disk = place(f.disk, kept, make([]byte, rest))
		case 1:
			f.disk = place(f.disk, kept, random.bytes(rest))
		}
		if kept < e.to {
			return // what was written later is not there either
		}
	}
}

// place writes bytes at an offset, and zeros before them where nothing is.
func place(to []byte, at int, b []byte) []byte {
	if need := at + len(b); need > len(to) {
		to = append(to, make([]byte, need-len(to))...)
	}
	copy(to[at:], b)
	return to
}

func sortedNames(maps ...map[string]*diskFile) []string {
	var names []string
	for _, m := range maps {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mount is the disk as one process sees it: a seglog.FS.
type mount struct {
	*disk
	by *process
}

// enter begins an operation: it takes its time, and may fail.
func (m mount) enter(op string, share float64) error {
	m.disk.mu.Lock()
	hang := m.faults.hang
	if op == "sync" || op == "syncdir" {
		hang += m.faults.slowSync + m.random.between(200*time.Microsecond, 8*time.Millisecond)
	}
	kill := m.strike()
	m.disk.mu.Unlock()
	if kill != nil && m.random.chance(0.5) {
		kill() // before it
		kill = nil
	}
	if hang > 0 {
		time.Sleep(hang)
	}
	if kill != nil {
		kill() // in its middle
	}
	if m.by.isDead() {
		return errDead
	}
	if share > 0 && m.random.chance(share) {
		m.w.trace("disk %s fails", op)
		return syscall.EIO
	}
	return nil
}

// strike counts an operation, and returns what loses the power if its turn has
// come. The caller holds the lock.
func (m mount) strike() (kill func()) {
	if m.killAt == 0 {
		return nil
	}
	if m.killAt--; m.killAt == 0 {
		return m.kill
	}
	return nil
}

func (m mount) share() float64 {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	return m.faults.writes
}

func (m mount) MkdirAll(string) error { return m.enter("mkdir", 0) }

func (m mount) ReadDir(dir string) ([]string, error) {
	if err := m.enter("readdir", 0); err != nil {
		return nil, err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	var names []string
	for _, name := range sortedNames(m.files) {
		if rest, err := filepath.Rel(dir, name); err == nil && !slices.Contains([]string{".", ".."}, rest) && !hasPrefix(rest, "../") {
			names = append(names, firstPart(rest))
		}
	}
	return slices.Compact(names), nil
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

func firstPart(path string) string {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path
}

func (m mount) Create(name string) (seglog.File, error) {
	if err := m.enter("create", m.share()); err != nil {
		return nil, err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if m.files[name] != nil {
		return nil, fs.ErrExist
	}
	f := &diskFile{name: name}
	m.files[name] = f
	return openFile{m, f}, nil
}

func (m mount) Open(name string) (seglog.File, error) {
	if err := m.enter("open", 0); err != nil {
		return nil, err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if m.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return openFile{m, m.files[name]}, nil
}

func (m mount) Remove(name string) error {
	if err := m.enter("remove", m.share()); err != nil {
		return err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	f := m.files[name]
	if f == nil {
		return fs.ErrNotExist
	}
	delete(m.files, name)
	m.used -= int64(len(f.bytes))
	return nil
}

func (m mount) SyncDir(dir string) error {
	if err := m.enter("syncdir", m.share()); err != nil {
		return err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	for _, name := range sortedNames(m.files, m.durable) {
		if filepath.Dir(name) != dir {
			continue
		}
		if f := m.files[name]; f != nil {
			m.durable[name] = f
		} else {
			delete(m.durable, name)
		}
	}
	return nil
}

func (m mount) Lock(name string) (io.Closer, error) {
	if err := m.enter("lock", 0); err != nil {
		return nil, err
	}
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	if m.locks[name] != nil {
		return nil, seglog.ErrLocked
	}
	m.locks[name] = m.by
	return lock{m, name}, nil
}

type lock struct {
	m    mount
	name string
}

func (l lock) Close() error {
	l.m.disk.mu.Lock()
	defer l.m.disk.mu.Unlock()
	if l.m.locks[l.name] == l.m.by {
		delete(l.m.locks, l.name)
	}
	return nil
}

// openFile is a file that a process has open.
type openFile struct {
	m mount
	*diskFile
}

func (f openFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.m.enter("write", f.m.share()); err != nil {
		return 0, err
	}
	f.m.disk.mu.Lock()
	defer f.m.disk.mu.Unlock()
	var failure error
	if f.m.faults.full {
		b, failure = b[:f.m.random.intn(len(b)+1)], syscall.ENOSPC
	}
	before := len(f.bytes)
	f.bytes = place(f.bytes, int(at), b)
	f.m.used += int64(len(f.bytes) - before)
	if len(b) > 0 {
		f.dirty = append(f.dirty, extent{int(at), int(at) + len(b)})
	}
	return len(b), failure
}

func (f openFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.m.enter("read", 0); err != nil {
		return 0, err
	}
	f.m.disk.mu.Lock()
	defer f.m.disk.mu.Unlock()
	n := copy(b, f.bytes[min(int(at), len(f.bytes)):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Sync makes what is dirty durable. After a failure the disk has any part of
// it, and a later sync does not write the rest: the system thinks that it did.
func (f openFile) Sync() error {
	f.m.disk.mu.Lock()
	share := f.m.faults.syncs
	f.m.disk.mu.Unlock()
	err := f.m.enter("sync", share)
	f.m.disk.mu.Lock()
	defer f.m.disk.mu.Unlock()
	if errors.Is(err, errDead) {
		return err
	}
	if err != nil {
		if f.m.random.chance(0.5) {
			f.tear(f.m.random)
		}
		f.dirty = nil
		return err
	}
	for _, e := range f.dirty {
		if e.to = min(e.to, len(f.bytes)); e.from < e.to {
			f.disk = place(f.disk, e.from, f.bytes[e.from:e.to])
			f.m.w.noteDurable(f.bytes[e.from:e.to])
		}
	}
	if len(f.disk) > len(f.bytes) { // it was cut
		f.disk = f.disk[:len(f.bytes)]
	}
	f.dirty = nil
	return nil
}

func (f openFile) Truncate(size int64) error {
	if err := f.m.enter("truncate", f.m.share()); err != nil {
		return err
	}
	f.m.disk.mu.Lock()
	defer f.m.disk.mu.Unlock()
	f.m.used -= int64(len(f.bytes)) - size
	f.bytes = f.bytes[:size]
	return nil
}

func (f openFile) Size() (int64, error) {
	if err := f.m.enter("size", 0); err != nil {
		return 0, err
	}
	f.m.disk.mu.Lock()
	defer f.m.disk.mu.Unlock()
	return int64(len(f.bytes)), nil
}

func (f openFile) Close() error { return nil }
