package spool

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/seglog"
	"github.com/tributary-io/tributary/internal/wire"
)

// Config says where and how much. Dir is needed; the zero value of each other
// field is its default.
type Config struct {
	Dir      string
	MaxBytes int64     // of this edge's records; those that dead edges left come on top: 1 GiB
	FS       seglog.FS // the operating system's
	Log      *slog.Logger
	Now      func() time.Time
}

// MinBytes is the least Config.MaxBytes: a few large requests.
const MinBytes = 1 << 20

// Bounds of the search for a directory.
const (
	maxEdges  = 64 // that share a directory
	maxBroken = 3  // directories that cannot be opened, before that is an error
)

// Spool is open for one edge; safe for concurrent use. Close it when done.
type Spool struct {
	config     Config
	own        *seglog.Log // logs[0]
	logs       []*seglog.Log
	quarantine *seglog.Log // this edge's records that Kafka refuses for good; nil: it could not be opened
	cut        int64       // bytes that were torn, in all logs

	spooled, sent, failures atomic.Int64
	lastFailure             atomic.Int64 // Unix nanoseconds; 0: none

	flusher *flusher

	mu     sync.Mutex
	closed map[int]bool // logs of others that are drained
}

// Open takes a free directory below Config.Dir, with the records that a dead
// edge left in it, and all other free ones that hold records.
func Open(config Config) (*Spool, error) {
	if config.MaxBytes == 0 {
		config.MaxBytes = 1 << 30
	}
	if config.MaxBytes < MinBytes {
		return nil, fmt.Errorf("spool: %d bytes are too few, give %d or more", config.MaxBytes, MinBytes)
	}
	if config.FS == nil {
		config.FS = seglog.OS{}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	s := &Spool{config: config, closed: map[int]bool{}, flusher: startFlusher(config.Log)}
	err := config.FS.MkdirAll(config.Dir)
	if err == nil {
		err = config.FS.SyncDir(filepath.Dir(filepath.Clean(config.Dir)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spool: make %s: %w", config.Dir, err), s.Close())
	}
	own, err := s.openOwn()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.openQuarantine(own)
	if err := s.adopt(own); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openOwn opens the first directory that no other edge has.
func (s *Spool) openOwn() (number int, err error) {
	var broken []error
	for number := 1; number <= maxEdges; number++ {
		switch err := s.open(strconv.Itoa(number)); {
		case err == nil:
			s.own = s.logs[0]
			return number, nil
		case !errors.Is(err, seglog.ErrLocked):
			s.config.Log.Error("a spool's directory is left out", "error", err)
			if broken = append(broken, err); len(broken) == maxBroken {
				return 0, fmt.Errorf("spool: %w", errors.Join(broken...))
			}
		}
	}
	return 0, fmt.Errorf("spool: %s is in use by %d edges: %w", s.config.Dir, maxEdges, errors.Join(broken...))
}

// adopt opens what dead edges left in other directories.
func (s *Spool) adopt(own int) error {
	names, err := s.config.FS.ReadDir(s.config.Dir)
	if err != nil {
		return fmt.Errorf("spool: read %s: %w", s.config.Dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		number, err := strconv.Atoi(name)
		if err != nil || number == own || number < 1 || number > maxEdges || strconv.Itoa(number) != name {
			continue
		}
		switch err := s.open(name); {
		case err == nil:
			s.adoptQuarantine(name)
		case !errors.Is(err, seglog.ErrLocked):
			s.config.Log.Error("a spool's directory is left out", "error", err)
		}
	}
	for i := range s.logs {
		if i > 0 && len(s.logs[i].Lanes()) == 0 {
			s.closeDrained(i)
		}
	}
	return nil
}

// open opens one directory's log.
func (s *Spool) open(name string) error {
	l, recovered, err := seglog.Open(filepath.Join(s.config.Dir, name), seglog.Options{
		MaxBytes: s.config.MaxBytes, SegmentBytes: min(16<<20, s.config.MaxBytes/8), FS: s.config.FS, Owner: ownerOf,
	})
	if err != nil {
		return err
	}
	s.logs = append(s.logs, l)
	s.cut += recovered.CutBytes
	if recovered != (seglog.Recovered{}) {
		s.config.Log.Warn("the spool holds records of an edge that ended", "directory", name, "requests", recovered.Records, "cut_bytes",
			recovered.CutBytes, "missing", recovered.Missing)
	}
	return nil
}

// Close ends the spool; what it holds is there when it is opened again. Call it
// after Batcher.Close.
func (s *Spool) Close() error {
	s.flusher.stop()
	var failures []error
	if s.quarantine != nil {
		failures = append(failures, s.quarantine.Close())
	}
	for _, l := range s.logs {
		failures = append(failures, l.Close())
	}
	return errors.Join(failures...)
}

// Partitions are those of which the spool holds records.
func (s *Spool) Partitions() []produce.Partition {
	var list []produce.Partition
	for _, l := range s.logs {
		for _, lane := range l.Lanes() {
			p, err := partitionOf(lane)
			if err != nil {
				s.config.Log.Error("the spool holds records that this version cannot send", "error", err)
				continue
			}
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// Holds tells whether the spool holds records of the partition.
func (s *Spool) Holds(p produce.Partition) bool {
	lane, err := laneOf(p)
	return err == nil && slices.ContainsFunc(s.logs, func(l *seglog.Log) bool { return l.Len(lane) > 0 })
}

// Keep is produce.Spool's: the records go into this edge's own log.
func (s *Spool) Keep(p produce.Partition, records []wire.Record, keyed bool, settled func(at produce.Position, err error)) error {
	lane, err := laneOf(p)
	if err == nil {
		err = s.own.Enqueue(seglog.Record{Lane: lane, Payload: encode(s.config.Now(), keyed, records)}, func(seq uint64, err error) {
			s.note(err, len(records))
			settled(produce.Position{Seq: seq}, err)
		})
	}
	if err != nil {
		s.note(err, 0)
	}
	return err
}

func (s *Spool) note(err error, records int) {
	if err != nil {
		s.failures.Add(1)
		if errors.Is(err, seglog.ErrShare) {
			return // there is room for others
		}
		s.lastFailure.Store(s.config.Now().UnixNano())
	} else {
		s.lastFailure.Store(0)
		s.spooled.Add(int64(records))
	}
}

// Next is produce.Spool's: what dead edges left comes first.
func (s *Spool) Next(p produce.Partition, maxBytes int64) (produce.Kept, error) {
	lane, err := laneOf(p)
	if err != nil {
		return produce.Kept{}, err
	}
	for i := len(s.logs) - 1; i >= 0; i-- {
		if s.logs[i].Len(lane) == 0 {
			continue
		}
		entries, err := s.logs[i].Next(lane, maxEntries, maxBytes)
		if err != nil {
			return produce.Kept{}, err
		}
		var kept produce.Kept
		for _, e := range entries {
			_, records, err := decode(e.Payload)
			if err != nil {
				return produce.Kept{}, fmt.Errorf("spool: record %d of partition %d of %s: %w", e.Seq, p.Number, p.Topic, err)
			}
			kept.Records = append(kept.Records, records...)
			kept.Last = produce.Position{Log: i, Seq: e.Seq}
		}
		kept.All = i == 0 && len(entries) == s.own.Len(lane)
		return kept, nil
	}
	return produce.Kept{}, nil
}

// maxEntries is the most requests that one Next reads.
const maxEntries = 4096

// Sent is produce.Spool's. That it is so is durable within flushPause.
func (s *Spool) Sent(p produce.Partition, last produce.Position, records int) error {
	lane, err := laneOf(p)
	if err != nil {
		return err
	}
	s.sent.Add(int64(records))
	l := s.logs[last.Log]
	err = l.Done(lane, last.Seq)
	if last.Log > 0 && len(l.Lanes()) == 0 {
		s.closeDrained(last.Log)
		return err
	}
	s.flusher.owe(l)
	return err
}

// closeDrained gives a dead edge's directory free once it is empty.
func (s *Spool) closeDrained(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed[i] {
		return
	}
	s.closed[i] = true
	if err := s.logs[i].Close(); err != nil {
		s.config.Log.Error("a drained spool cannot be closed", "error", err)
	}
}
