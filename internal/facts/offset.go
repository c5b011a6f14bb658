package facts

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/tributary-io/tributary/internal/wire"
)

// Errors of a store.
var (
	// ErrFenced means that another owner has taken the partition over, or has moved its
	// offset. Nothing was written.
	ErrFenced = errors.New("the partition has another owner")
	// ErrOtherCluster means that the stored offset belongs to another Kafka cluster.
	ErrOtherCluster = errors.New("the stored offset belongs to another Kafka cluster")
	// ErrData means that the store can never hold one of the values.
	ErrData = errors.New("a value cannot be stored")
)

// Move moves a partition's offset. It is written only where the offset is From, and where
// nobody has taken the partition over since the mover did.
type Move struct {
	Topic     string
	Partition int
	Epoch     int64  // the mover's, see Taken
	From, To  int64  // the next record to apply, before and after
	LogID     string // the topic's id; empty: not known
	Last      []byte // see LastRecord, of the record before To; nil: none was applied, and what is stored stays
}

// Taken is a partition of a topic that an owner has taken over.
type Taken struct {
	Next  int64  // the first record not yet applied
	Epoch int64  // how often the partition was taken over: moves of earlier epochs are fenced
	LogID string // the topic's id when the offset was moved last; empty: not known
	Last  []byte // see LastRecord, of the record that was applied last; nil: not known
}

// StoredOffset is the stored offset of one partition.
type StoredOffset struct {
	Topic     string `db:"topic"`
	Partition int    `db:"partition"`
	ClusterID string `db:"cluster_id"`
	Next      int64  `db:"next"`   // the first record not yet applied
	Epoch     int64  `db:"epoch"`  // see Taken
	LogID     string `db:"log_id"` // the topic's id; empty: not known
	Last      []byte `db:"last"`   // see LastRecord; nil: not known
}

// LogReplaced is the LogID of an offset that was seen past its log's end while nothing told
// which log it belongs to.
const LogReplaced = "replaced"

// LogReset is the place at which a partition is to be read anew.
type LogReset struct {
	Topic     string
	Partition int
	ClusterID string
	LogID     string // of the log as it is now
	First     int64  // its first record
}

// LastRecord identifies the record that was applied last: its offset (8 bytes) and 16 bytes of
// the SHA-256 of its time in milliseconds, key and value.
func LastRecord(r wire.Fetched) []byte {
	h := sha256.New()
	var number [8]byte
	for _, n := range []int64{r.Time.UnixMilli(), int64(len(r.Key))} {
		h.Write(binary.BigEndian.AppendUint64(number[:0], uint64(n)))
	}
	h.Write(r.Key)
	h.Write(r.Value)
	return append(binary.BigEndian.AppendUint64(nil, uint64(r.Offset)), h.Sum(nil)[:16]...)
}

// LastIsBefore reports whether last is of the record before an offset, as LastRecord made it. A
// processor that knew no such digests may have moved the offset since.
func LastIsBefore(last []byte, next int64) bool {
	return len(last) == 24 && int64(binary.BigEndian.Uint64(last)) == next-1
}

// SameRecord reports whether last was made of the record.
func SameRecord(last []byte, r wire.Fetched) bool { return bytes.Equal(last, LastRecord(r)) }
