package seglog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// A segment is a file "<first sequence number, 16 hex digits>.seg":
//
//	8 bytes  "TRBSEG01"
//	records, each:
//	  4 bytes  CRC-32C (Castagnoli) of all that follows in the record
//	  4 bytes  length of the payload
//	  4 bytes  lane
//	  8 bytes  sequence number, one more than the record before
//	  payload
//
// Numbers are little-endian. A record of laneMarks says that a lane is done up
// to a sequence number: its payload is the lane (4 bytes) and the number (8).
const (
	magic        = "TRBSEG01"
	recordHeader = 20
	markBytes    = 12
	laneMarks    = 1<<32 - 1
)

// MaxLane is the greatest lane of a record.
const MaxLane = laneMarks - 1

// MaxRecord is the most bytes that a record's payload may have.
const MaxRecord = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTorn: the bytes are no record, as at the end of a file whose last write
// was cut off.
var errTorn = errors.New("seglog: no whole record")

// appendRecord writes a record behind buffer.
func appendRecord(buffer []byte, lane uint32, seq uint64, payload []byte) []byte {
	start := len(buffer)
	buffer = binary.LittleEndian.AppendUint32(buffer, 0)
	buffer = binary.LittleEndian.AppendUint32(buffer, uint32(len(payload)))
	buffer = binary.LittleEndian.AppendUint32(buffer, lane)
	buffer = binary.LittleEndian.AppendUint64(buffer, seq)
	buffer = append(buffer, payload...)
	binary.LittleEndian.PutUint32(buffer[start:], crc32.Checksum(buffer[start+4:], castagnoli))
	return buffer
}

// readHeader reads a record's header; its CRC is not checked yet.
func readHeader(header []byte) (sum, length, lane uint32, seq uint64) {
	return binary.LittleEndian.Uint32(header), binary.LittleEndian.Uint32(header[4:]),
		binary.LittleEndian.Uint32(header[8:]), binary.LittleEndian.Uint64(header[12:])
}

func mark(lane uint32, seq uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, lane), seq)
}

func readMark(payload []byte) (lane uint32, seq uint64, ok bool) {
	if len(payload) != markBytes {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(payload), binary.LittleEndian.Uint64(payload[4:]), true
}

func segmentName(first uint64) string { return fmt.Sprintf("%016x.seg", first) }

// segmentFirst is the first sequence number of a segment's name; false for
// names of other files.
func segmentFirst(name string) (uint64, bool) {
	digits, found := strings.CutSuffix(name, ".seg")
	if !found || len(digits) != 16 {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 16, 64)
	return first, err == nil && segmentName(first) == name
}
