package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecordSet appends records as the field "records" of a produce request:
// its size and one batch of format 2, without compression (Kafka protocol,
// "Record Batch"). Each record has the header v=1, and one of a trace has its traceparent.
func appendRecordSet(dst []byte, records []Record, at time.Time) []byte {
	const (
		size, length, crc, checked = 0, 12, 21, 25 // where these fields begin
		none                       = 0xff          // of -1, which stands for no producer id
	)
	dst = slices.Grow(dst, setSize(records))
	begin := len(dst)
	now := uint64(at.UnixMilli())
	dst = append(dst, 0, 0, 0, 0)             // size
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0) // base offset
	dst = append(dst, 0, 0, 0, 0)             // length
	dst = append(dst, none, none, none, none) // leader epoch
	dst = append(dst, 2, 0, 0, 0, 0)          // magic, CRC
	dst = append(dst, 0, 0)                   // attributes
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(records)-1))
	dst = binary.BigEndian.AppendUint64(dst, now)
	dst = binary.BigEndian.AppendUint64(dst, now)
	dst = append(dst, none, none, none, none, none, none, none, none) // producer id
	dst = append(dst, none, none, none, none, none, none)             // producer epoch, base sequence
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(records)))
	for i := range records {
		dst = appendRecord(dst, i, records[i])
	}
	set := dst[begin:]
	binary.BigEndian.PutUint32(set[size:], uint32(len(set)-4))
	binary.BigEndian.PutUint32(set[length:], uint32(len(set)-length-4))
	binary.BigEndian.PutUint32(set[crc:], crc32.Checksum(set[checked:], castagnoli))
	return dst
}

// setSize is at least the size of a record set, in bytes.
func setSize(records []Record) int {
	const batch, record = 65, 32 // at most, of what stands around the records and around a key and a value
	size := batch
	for _, r := range records {
		size += record + len(r.Key) + len(r.Value)
		if r.Trace.IsRecorded() {
			size += len(traceHeader) + wire.TraceHeaderSize
		}
	}
	return size
}

// headers are one header: v=1, in the form of a record.
const headers = "\x02\x02v\x021"

// Two headers, v=1 and traceparent, up to the value of the second. Lengths are zigzag varints: 55 bytes of value are 0x6e.
const (
	traceHeader    = "\x16" + wire.TraceHeader + "\x6e"
	headersOfTrace = "\x04\x02v\x021" + traceHeader
)

func appendRecord(dst []byte, offset int, r Record) []byte {
	traced := r.Trace.IsRecorded()
	length := 2 + varintSize(offset) + bytesSize(r.Key) + bytesSize(r.Value)
	if traced {
		length += len(headersOfTrace) + wire.TraceHeaderSize
	} else {
		length += len(headers)
	}
	dst = binary.AppendVarint(dst, int64(length))
	dst = append(dst, 0, 0) // attributes, and the time after the batch's
	dst = binary.AppendVarint(dst, int64(offset))
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	if traced {
		return r.Trace.AppendHeader(append(dst, headersOfTrace...))
	}
	return append(dst, headers...)
}

// appendBytes appends a length, -1 for nil, and the bytes.
func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func bytesSize(b []byte) int {
	if b == nil {
		return varintSize(-1)
	}
	return varintSize(len(b)) + len(b)
}

// varintSize is the length of n as a zigzag varint.
func varintSize(n int) int {
	var buffer [binary.MaxVarintLen64]byte
	return binary.PutVarint(buffer[:], int64(n))
}
