package spool

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	at := time.UnixMilli(1_790_000_000_123)
	records := []wire.Record{{Key: []byte("co"), Value: []byte("v")}, {Key: []byte{}, Value: nil}, {Key: []byte("k"), Value: []byte{}}}
	when, got, err := decode(encode(at, true, records))
	same := func(a, b wire.Record) bool {
		return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	}
	if err != nil || !when.Equal(at) || !slices.EqualFunc(got, records, same) {
		t.Errorf("%v %q, %v", when, got, err)
	}
}

func TestLanesNameTheirPartitions(t *testing.T) {
	for _, p := range []produce.Partition{{Topic: wire.TopicEvents, Number: 63}, {Topic: wire.TopicRejected, Number: 0}} {
		lane, err := laneOf(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := partitionOf(lane); err != nil || got != p {
			t.Errorf("%+v is %+v, %v", p, got, err)
		}
	}
	for _, p := range []produce.Partition{{Topic: wire.TopicCommerce}, {Topic: wire.TopicEvents, Number: 1 << partitionBits},
		{Topic: wire.TopicEvents, Number: -1}} {
		if lane, err := laneOf(p); err == nil {
			t.Errorf("%+v has the lane %d", p, lane)
		}
	}
	for _, topic := range []uint32{uint32(len(topics())), 9} {
		if p, err := partitionOf(topic << partitionBits); err == nil {
			t.Errorf("an unknown topic is %+v", p)
		}
	}
}

// FuzzDecode holds that no payload panics, and that what is read is written alike.
func FuzzDecode(f *testing.F) {
	f.Add(encode(time.UnixMilli(5), false, []wire.Record{{Key: []byte("co"), Value: []byte("v")}, {Key: []byte("k")}}))
	f.Add([]byte{version, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{version, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'k', 3, 'v'})
	f.Fuzz(func(t *testing.T, payload []byte) {
		at, records, err := decode(payload)
		if err != nil {
			return
		}
		when, again, err := decode(encode(at, true, records))
		if err != nil || !when.Equal(at) || len(again) != len(records) {
			t.Fatalf("%d records, then %d, %v", len(records), len(again), err)
		}
		for i, r := range records {
			if !bytes.Equal(r.Key, again[i].Key) || !bytes.Equal(r.Value, again[i].Value) {
				t.Fatalf("record %d: %q, then %q", i, r, again[i])
			}
		}
	})
}
