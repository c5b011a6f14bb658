package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tributary-io/tributary/internal/seglog"
)

// ErrQueueDirInUse is New's error if another client, of this process or another,
// has Config.QueueDir for the same company.
var ErrQueueDirInUse = errors.New("sdk: Config.QueueDir is in use")

// A record of the disk queue is a version byte, the event's id (a UUID's 36
// characters) and its canonical JSON.
const (
	recordVersion = 1
	recordHead    = 1 + 36
)

// diskQueue is a queue in the files of a directory.
type diskQueue struct {
	log       *seglog.Log
	maxEvents int
	signal    func() // an entry can be read

	mu      sync.Mutex
	pending int      // begun, and not on disk yet
	bytes   int      // of the entries of this client that are left
	old     int      // entries left of the clients before; their bytes are not counted
	dropped uint64   // by this client
	peeked  []uint64 // sequence numbers of what peek returned last
	sizes   []int    // … and their bytes
}

// openDiskQueue opens the queue of the company's events below cfg.QueueDir, so that
// a client never sends what was tracked for another company.
func openDiskQueue(cfg *Config, signal func()) (*diskQueue, error) {
	if err := makeDir(cfg.QueueDir); err != nil {
		return nil, fmt.Errorf("sdk: Config.QueueDir: %w", err)
	}
	company := sha256.Sum256([]byte(cfg.CompanyID))
	options := seglog.Options{MaxBytes: int64(cfg.QueueBytes), SegmentBytes: int64(min(cfg.QueueBytes/8, 16<<20))}
	log, recovered, err := seglog.Open(filepath.Join(cfg.QueueDir, hex.EncodeToString(company[:8])), options)
	if errors.Is(err, seglog.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", ErrQueueDirInUse, err)
	}
	if err != nil {
		return nil, fmt.Errorf("sdk: Config.QueueDir: %w", err)
	}
	return &diskQueue{log: log, maxEvents: cfg.QueueSize, signal: signal, old: recovered.Records}, nil
}

// makeDir makes a directory durably.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o700), seglog.OS{}.SyncDir(filepath.Dir(dir)))
}

func (q *diskQueue) push(e entry) (stored func(context.Context) error, err error) {
	record := make([]byte, 0, recordHead+len(e.text))
	record = append(append(append(record, recordVersion), e.id...), e.text...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.log.Len(0)+q.pending >= q.maxEvents {
		return nil, ErrQueueFull
	}
	done := make(chan error, 1)
	err = q.log.Enqueue(seglog.Record{Payload: record}, func(_ uint64, err error) {
		q.mu.Lock()
		q.pending--
		if err == nil {
			q.bytes += len(e.text)
		}
		q.mu.Unlock()
		done <- err
		q.signal()
	})
	switch {
	case errors.Is(err, seglog.ErrFull):
		return nil, ErrQueueFull
	case errors.Is(err, seglog.ErrClosed):
		return nil, ErrClosed
	case err != nil:
		return nil, err
	}
	q.pending++
	return func(ctx context.Context) error {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

func (q *diskQueue) peek(events, bytes int) ([]entry, error) {
	records, err := q.log.Next(0, events, int64(bytes))
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(records))
	q.mu.Lock()
	defer q.mu.Unlock()
	q.peeked, q.sizes = q.peeked[:0], q.sizes[:0]
	for i, r := range records {
		if len(r.Payload) <= recordHead || r.Payload[0] != recordVersion {
			return nil, fmt.Errorf("record %d is another version's", r.Seq)
		}
		entries[i] = entry{id: string(r.Payload[1:recordHead]), text: r.Payload[recordHead:]}
		q.peeked, q.sizes = append(q.peeked, r.Seq), append(q.sizes, len(entries[i].text))
	}
	return entries, nil
}

// drop makes durable that the entries are done, so that a crash sends few again.
func (q *diskQueue) drop(n int) error {
	if n == 0 {
		return nil
	}
	q.mu.Lock()
	err := q.log.Done(0, q.peeked[n-1])
	q.dropped += uint64(n)
	for _, size := range q.sizes[:n] {
		if q.old > 0 {
			q.old--
		} else {
			q.bytes -= size
		}
	}
	q.mu.Unlock()
	return errors.Join(err, q.log.Flush(context.Background())) // no longer than the disk takes
}

func (q *diskQueue) counts() (pushed, dropped uint64, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped + uint64(q.log.Len(0)), q.dropped, q.bytes
}

func (*diskQueue) durable() bool { return true }

func (q *diskQueue) close() error { return q.log.Close() }
