package seglog

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// memFS is a file system in memory that can lose power: what was not synced is
// then gone, or half there. fail, where set, may refuse or cut short an
// operation: it is given the operation's name and file.
type memFS struct {
	mu     sync.Mutex
	files  map[string]*memFile // by path, as programs see them
	synced map[string]*memFile // directory entries that a crash leaves
	locked map[string]bool
	fail   func(op, name string) error
	syncs  int
}

type memFile struct {
	fs      *memFS
	name    string
	bytes   []byte // as programs see them
	durable []byte // as of the last sync
}

func newMemFS() *memFS {
	return &memFS{files: map[string]*memFile{}, synced: map[string]*memFile{}, locked: map[string]bool{}}
}

// crash is the file system after a loss of power: of what was written since a
// file's last sync some bytes, from the front, may be there.
func (m *memFS) crash(r *rand.Rand) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := newMemFS()
	for name, f := range m.synced {
		kept := slices.Clone(f.durable)
		if more := len(f.bytes) - len(kept); more > 0 && r != nil {
			kept = append(kept, f.bytes[len(kept):len(kept)+r.IntN(more+1)]...)
		}
		file := &memFile{fs: after, name: name, bytes: kept, durable: slices.Clone(kept)}
		after.files[name], after.synced[name] = file, file
	}
	return after
}

func (m *memFS) refuse(op, name string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(op, filepath.Base(name))
}

func (m *memFS) MkdirAll(string) error { return nil }

func (m *memFS) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.files {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

func (m *memFS) Create(name string) (File, error) {
	if err := m.refuse("create", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] != nil {
		return nil, fs.ErrExist
	}
	m.files[name] = &memFile{fs: m, name: name}
	return m.files[name], nil
}

func (m *memFS) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return m.files[name], nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return fs.ErrNotExist
	}
	delete(m.files, name)
	return nil
}

func (m *memFS) SyncDir(dir string) error {
	if err := m.refuse("syncdir", dir); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = map[string]*memFile{}
	for name, f := range m.files {
		m.synced[name] = f
	}
	return nil
}

func (m *memFS) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[name] {
		return nil, ErrLocked
	}
	m.locked[name] = true
	return unlock{m, name}, nil
}

type unlock struct {
	fs   *memFS
	name string
}

func (u unlock) Close() error {
	u.fs.mu.Lock()
	defer u.fs.mu.Unlock()
	delete(u.fs.locked, u.name)
	return nil
}

// errShort makes a write stop in its middle.
var errShort = errors.New("no space left on device")

func (f *memFile) WriteAt(b []byte, at int64) (int, error) {
	err := f.fs.refuse("write", f.name)
	if err != nil && !errors.Is(err, errShort) {
		return 0, err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if errors.Is(err, errShort) {
		b = b[:len(b)/2]
	}
	if need := int(at) + len(b); need > len(f.bytes) {
		f.bytes = append(f.bytes, make([]byte, need-len(f.bytes))...)
	}
	return copy(f.bytes[at:], b), err
}

func (f *memFile) ReadAt(b []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if len(b) > 0 && at >= int64(len(f.bytes)) {
		return 0, io.EOF
	}
	n := copy(b, f.bytes[min(at, int64(len(f.bytes))):])
	if n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (f *memFile) Sync() error {
	if err := f.fs.refuse("sync", f.name); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.syncs++
	f.durable = slices.Clone(f.bytes)
	return nil
}

func (f *memFile) Truncate(size int64) error {
	if err := f.fs.refuse("truncate", f.name); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.bytes = f.bytes[:size]
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.bytes)), nil
}

func (f *memFile) Close() error { return nil }

// open opens a log in dir "q".
func open(t testing.TB, files FS, options Options) (*Log, Recovered) {
	t.Helper()
	options.FS = files
	l, recovered, err := Open("q", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, recovered
}
