package spool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/seglog"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// failingFS is the real file system, with errors.
type failingFS struct {
	seglog.OS
	sync, write atomic.Pointer[error]
	failed      atomic.Int32 // syncs
}

func (f *failingFS) Create(name string) (seglog.File, error) {
	file, err := f.OS.Create(name)
	return failingFile{file, f}, err
}

type failingFile struct {
	seglog.File
	fs *failingFS
}

func (f failingFile) Sync() error {
	if err := f.fs.sync.Load(); err != nil {
		f.fs.failed.Add(1)
		return *err
	}
	return f.File.Sync()
}

func (f failingFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.fs.write.Load(); err != nil {
		return 0, *err
	}
	return f.File.WriteAt(b, at)
}

func TestNothingIsAcknowledgedThatTheDiskDoesNotTake(t *testing.T) {
	c := &cluster{answer: down}
	files := &failingFS{}
	var now atomic.Int64 // beside the real clock
	e := start(t, c, spool.Config{Dir: t.TempDir(), FS: files, Now: func() time.Time { return time.Now().Add(time.Duration(now.Load())) }})
	for name, fails := range map[string]*atomic.Pointer[error]{"fsync": &files.sync, "write": &files.write} {
		broken := error(syscall.EIO)
		fails.Store(&broken)
		if _, err := e.send("lost"); !errors.Is(err, produce.ErrSpool) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails: %v", name, err)
		}
		if state := e.spool.State(); state.Room || state.Failures == 0 {
			t.Errorf("%s fails: %+v", name, state)
		}
		now.Add(int64(time.Hour))
		if !e.spool.Room() {
			t.Errorf("%s: a failure an hour ago still counts", name)
		}
		fails.Store(nil)
		e.wantSent("kept-"+name, produce.Spooled)
	}
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	if got := c.values(); !strings.Contains(got, "kept-fsync") || !strings.Contains(got, "kept-write") {
		t.Error(got)
	}
}

// That Kafka has records is written again until the disk takes it, even when
// nothing else is written: hours later, a crash would bring them back.
func TestWhatKafkaHasIsWrittenOnceTheDiskTakesIt(t *testing.T) {
	files, dir := &failingFS{}, t.TempDir()
	s, err := spool.Open(spool.Config{Dir: dir, FS: files})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	sent, other := produce.Partition{Topic: wire.TopicEvents}, produce.Partition{Topic: wire.TopicRejected}
	for _, p := range []produce.Partition{sent, other} {
		kept := make(chan error, 1)
		if err := s.Keep(p, []wire.Record{{Key: []byte("co"), Value: []byte("a")}}, false, func(_ produce.Position, err error) {
			kept <- err
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-kept; err != nil {
			t.Fatal(err)
		}
	}
	broken := error(syscall.EIO)
	files.sync.Store(&broken)
	first, err := s.Next(sent, 1<<20)
	if err == nil {
		err = s.Sent(sent, first.Last, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, await.Long, func() bool { return files.failed.Load() > 0 }, func() string { return "a flush that fails" })
	files.sync.Store(nil)
	await.Until(t, await.Long, func() bool {
		crashed := t.TempDir()
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after, err := spool.Open(spool.Config{Dir: crashed})
		if err != nil {
			t.Fatal(err)
		}
		again, kept := after.Holds(sent), after.Holds(other)
		if err := after.Close(); err != nil || !kept {
			t.Fatal(err, kept)
		}
		return !again
	}, func() string { return "a crash that does not bring back what Kafka has" })
}

func TestAFullSpoolRefusesAndHasRoomAgain(t *testing.T) {
	c := &cluster{answer: down}
	e := start(t, c, spool.Config{Dir: t.TempDir(), MaxBytes: spool.MinBytes})
	value := strings.Repeat("x", 30<<10)
	n := 0
	var err error
	for ; err == nil && n < 100; n++ {
		_, err = e.send(value)
	}
	if !errors.Is(err, produce.ErrSpool) || !errors.Is(err, seglog.ErrShare) || n < 18 || !e.spool.Room() {
		t.Errorf("after %d records: %v", n, err)
	}
	others, small := 0, strings.Repeat("y", 1<<10)
	sendFor := func(company int) error {
		p := e.NewParcel()
		p.Keyed, p.Records = true, append(p.Records, wire.Record{Key: fmt.Appendf(nil, "co%d", company), Value: []byte(small)})
		if err := e.Enqueue(wire.TopicEvents, "co", p, time.Now().Add(await.Long)); err != nil {
			return err
		}
		_, err := p.Wait()
		return err
	}
	for company := 0; e.spool.Room(); company++ { // each takes a part of what is left
		if company == 100 {
			t.Fatalf("a hundred companies do not fill the spool: %+v", e.spool.State())
		}
		for sendFor(company) == nil {
			others++
		}
	}
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	e.wantSent("last", "")
	if got := strings.Count(c.values(), value); got != n-1 {
		t.Errorf("%d records in the log, %d were acknowledged", got, n-1)
	}
	if got := strings.Count(c.values(), small); got != others {
		t.Errorf("%d records of others in the log, %d were acknowledged", got, others)
	}
}

// A full file system, not one that says so.
func TestAFullDiskRefuses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("LEFT OUT: only root may mount the small file system that this test fills")
	}
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("LEFT OUT: no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{answer: down}
	e := start(t, c, spool.Config{Dir: dir})
	acked := 0
	var err error
	for ; err == nil && acked < 100; acked++ {
		_, err = e.send(fmt.Sprintf("v%02d-%s", acked, strings.Repeat("x", 10<<10)))
	}
	acked--
	if !errors.Is(err, produce.ErrSpool) || !errors.Is(err, syscall.ENOSPC) || acked < 10 {
		t.Fatalf("after %d records: %v", acked, err)
	}
	for range 20 { // what is tried again takes no room
		if _, err := e.send(strings.Repeat("y", 10<<10)); !errors.Is(err, produce.ErrSpool) {
			t.Fatal(err)
		}
	}
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	for i := range acked {
		if !strings.Contains(c.values(), fmt.Sprintf("v%02d-", i)) {
			t.Errorf("record %d is lost", i)
		}
	}
}
