package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/seglog"
	"github.com/tributary-io/tributary/internal/wire"
)

// topics are those that can be spooled. A lane holds a topic's index in its
// upper 8 bits: append only.
func topics() []string { return []string{wire.TopicEvents, wire.TopicRejected} }

const partitionBits = 24

func laneOf(p produce.Partition) (uint32, error) {
	topic := slices.Index(topics(), p.Topic)
	if topic < 0 || p.Number < 0 || p.Number >= 1<<partitionBits {
		return 0, fmt.Errorf("spool: partition %d of %s cannot be spooled", p.Number, p.Topic)
	}
	return uint32(topic)<<partitionBits | uint32(p.Number), nil
}

func partitionOf(lane uint32) (produce.Partition, error) {
	topic := int(lane >> partitionBits)
	if topic >= len(topics()) {
		return produce.Partition{}, fmt.Errorf("spool: no topic has the lane %d", lane)
	}
	return produce.Partition{Topic: topics()[topic], Number: int(lane & (1<<partitionBits - 1))}, nil
}

// A payload of the log is the records of one Keep:
//
//	1 byte   version, 1
//	6 bytes  when they were spooled, Unix milliseconds, little-endian
//	1 byte   1: they came with an API key; else 0
//	1 byte   0
//	records, each: length of the key, key, 1 + length of the value, value
//
// Lengths are unsigned varints; 0 stands for a value that is nil.
const (
	version     = 1
	payloadHead = 9

	timeBits = 48
	keyedBit = 1 << timeBits
)

// errBroken is not seen unless another version wrote the payload: the log
// checks that the bytes are those that were written.
var errBroken = errors.New("a payload of another version")

func encode(at time.Time, keyed bool, records []wire.Record) []byte {
	size := payloadHead
	for _, r := range records {
		size += len(r.Key) + len(r.Value) + 2*binary.MaxVarintLen32
	}
	payload := append(make([]byte, 0, size), version)
	head := uint64(at.UnixMilli()) & (keyedBit - 1)
	if keyed {
		head |= keyedBit
	}
	payload = binary.LittleEndian.AppendUint64(payload, head)
	for _, r := range records {
		payload = append(binary.AppendUvarint(payload, uint64(len(r.Key))), r.Key...)
		if r.Value == nil {
			payload = append(payload, 0)
			continue
		}
		payload = append(binary.AppendUvarint(payload, uint64(len(r.Value))+1), r.Value...)
	}
	return payload
}

// decode reads a payload; keys and values are parts of it.
func decode(payload []byte) (at time.Time, records []wire.Record, err error) {
	if len(payload) < payloadHead || payload[0] != version {
		return time.Time{}, nil, errBroken
	}
	at = time.UnixMilli(int64(binary.LittleEndian.Uint64(payload[1:]) & (keyedBit - 1)))
	for rest := payload[payloadHead:]; len(rest) > 0; {
		var r wire.Record
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return at, nil, errBroken
		}
		r.Key, rest = rest[n:n+int(length):n+int(length)], rest[n+int(length):]
		length, n = binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n)+1 {
			return at, nil, errBroken
		}
		rest = rest[n:]
		if length > 0 {
			r.Value, rest = rest[:length-1:length-1], rest[length-1:]
		}
		records = append(records, r)
	}
	return at, records, nil
}

// ownerOf is whose share a payload takes: the key of its records, which is their company's
// id, apart for what came with an API key and without.
func ownerOf(payload []byte) seglog.Owner {
	if len(payload) < payloadHead {
		return seglog.Owner{}
	}
	rest := payload[payloadHead:]
	length, n := binary.Uvarint(rest)
	if n <= 0 || length > uint64(len(rest)-n) {
		return seglog.Owner{}
	}
	return seglog.Owner{Name: string(rest[n : n+int(length)]), Reserved: binary.LittleEndian.Uint64(payload[1:])&keyedBit != 0}
}
