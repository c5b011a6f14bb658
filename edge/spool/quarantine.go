package spool

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/seglog"
	"github.com/tributary-io/tributary/internal/wire"
)

// What Kafka refuses for good, as records that are larger than a topic's
// max.message.bytes has become, lies in a log of its own below its edge's
// directory: in the edge's log it would keep all newer files. The next start
// puts it behind the edge's other records, to be sent once more.

const (
	quarantineDir   = "refused"
	quarantineShare = 8 // it has MaxBytes divided by this, beside MaxBytes
)

func (s *Spool) quarantineLog(name string) (*seglog.Log, error) {
	bound := s.config.MaxBytes / quarantineShare
	l, recovered, err := seglog.Open(filepath.Join(s.config.Dir, name, quarantineDir), seglog.Options{
		MaxBytes: bound, SegmentBytes: min(1<<20, bound/quarantineShare), FS: s.config.FS,
	})
	s.cut += recovered.CutBytes
	return l, err
}

// errNoQuarantine: the log of what is refused could not be opened at the start.
var errNoQuarantine = errors.New("spool: there is no place for what Kafka refuses for good")

// openQuarantine opens the log of what is refused, and takes what an earlier run left
// in it. Without it the edge still spools: a refused record then holds its
// partition.
func (s *Spool) openQuarantine(number int) {
	l, err := s.quarantineLog(strconv.Itoa(number))
	if err != nil {
		s.config.Log.Error("what Kafka refuses for good cannot be quarantined", "error", err)
		return
	}
	s.quarantine = l
	s.takeQuarantine(l)
}

// adoptQuarantine takes what a dead edge left.
func (s *Spool) adoptQuarantine(name string) {
	names, err := s.config.FS.ReadDir(filepath.Join(s.config.Dir, name))
	if err == nil && !slices.Contains(names, quarantineDir) {
		return
	}
	var l *seglog.Log
	if err == nil {
		l, err = s.quarantineLog(name)
	}
	if err != nil {
		s.config.Log.Error("a spool's directory of refused records is left out", "error", err)
		return
	}
	s.takeQuarantine(l)
	if err := l.Close(); err != nil {
		s.config.Log.Error("a spool's directory of refused records cannot be closed", "error", err)
	}
}

// takeQuarantine puts a log's records behind this edge's own. What does not fit, or
// what a failing disk does not take, stays where it is until the next start.
func (s *Spool) takeQuarantine(from *seglog.Log) {
	taken := 0
	for _, lane := range from.Lanes() {
		for from.Len(lane) > 0 {
			n, err := s.takePart(from, lane)
			taken += n
			if err != nil {
				s.config.Log.Error("records that Kafka refused stay quarantined", "error", err)
				return
			}
		}
	}
	if taken > 0 {
		s.config.Log.Warn("records that Kafka refused are tried again", "records", taken)
	}
}

// takePart takes a lane's oldest records. They are forgotten where they were
// once they are durable in this edge's log.
func (s *Spool) takePart(from *seglog.Log, lane uint32) (taken int, err error) {
	entries, err := from.Next(lane, maxEntries, MinBytes)
	if err != nil {
		return 0, err
	}
	settled := make(chan error, len(entries))
	for _, e := range entries {
		if err = s.own.Enqueue(seglog.Record{Lane: lane, Payload: e.Payload}, func(_ uint64, err error) { settled <- err }); err != nil {
			break
		}
		taken++
	}
	for i := range taken {
		if failure := <-settled; failure != nil { // those behind it may be there, and come twice
			return i, failure
		}
	}
	if taken > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		// Without the flush, a crash would bring them once more.
		if failure := errors.Join(from.Done(lane, entries[taken-1].Seq), from.Flush(ctx)); failure != nil {
			return taken, failure
		}
	}
	return taken, err
}

// Quarantine is produce.Spool's.
func (s *Spool) Quarantine(p produce.Partition, records []wire.Record) error {
	lane, err := laneOf(p)
	if err != nil {
		return err
	}
	if s.quarantine == nil {
		return errNoQuarantine
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	return s.quarantine.Append(ctx, seglog.Record{Lane: lane, Payload: encode(s.config.Now(), false, records)})
}

// refused is how many entries are quarantined, one for each record, and their bytes.
func (s *Spool) refused() (n int, bytes int64) {
	if s.quarantine == nil {
		return 0, 0
	}
	for _, lane := range s.quarantine.Lanes() {
		n += s.quarantine.Len(lane)
	}
	return n, s.quarantine.Bytes()
}
