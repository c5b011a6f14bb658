package kafka

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"

	"github.com/tributary-io/tributary/internal/wire"
)

// What we encode is what the library reads.
func TestRecordSetsAreReadByTheLibrary(t *testing.T) {
	at := time.UnixMilli(1_795_000_000_123)
	records := []Record{
		{Key: []byte("co_1"), Value: []byte(`{"a":1}`)},
		{Key: []byte("co_1"), Value: nil},
		{Key: nil, Value: []byte{}},
	}
	for i := range 200 {
		r := Record{Key: []byte("k"), Value: []byte(strings.Repeat("x", i*7))}
		if i%3 == 0 {
			r.Trace = wire.Trace{TraceID: [16]byte{1, 15: byte(i)}, SpanID: [8]byte{2, 7: byte(i)}}
		}
		records = append(records, r)
	}
	for n := 1; n <= len(records); n++ {
		encoded := appendRecordSet([]byte("before"), records[:n], at)
		var set protocol.RecordSet
		if _, err := set.ReadFrom(bytes.NewReader(encoded[len("before"):])); err != nil {
			t.Fatalf("%d records: %v", n, err)
		}
		if set.Version != 2 {
			t.Fatalf("version %d", set.Version)
		}
		for i := range n {
			got, err := set.Records.ReadRecord()
			if err != nil {
				t.Fatalf("record %d of %d: %v", i, n, err)
			}
			f := func(what string, got protocol.Bytes, want []byte) {
				if want == nil != (got == nil) {
					t.Fatalf("%s of record %d is nil: %v", what, i, got == nil)
				}
				if want != nil {
					if text, err := protocol.ReadAll(got); err != nil || !bytes.Equal(text, want) {
						t.Fatalf("%s of record %d is %q, want %q (%v)", what, i, text, want, err)
					}
				}
			}
			f("key", got.Key, records[i].Key)
			f("value", got.Value, records[i].Value)
			if got.Offset != int64(i) || !got.Time.Equal(at) || len(got.Headers) < 1 || got.Headers[0].Key != "v" ||
				string(got.Headers[0].Value) != "1" {
				t.Fatalf("record %d: %+v", i, got)
			}
			if want := records[i].Trace; traceOf(got.Headers) != want || len(got.Headers) != 1 && !want.IsRecorded() {
				t.Fatalf("record %d has the headers %+v, want the trace %x", i, got.Headers, want)
			}
		}
		if _, err := set.Records.ReadRecord(); !errors.Is(err, io.EOF) {
			t.Fatalf("after %d records: %v", n, err)
		}
	}
}
