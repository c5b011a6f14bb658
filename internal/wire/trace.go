package wire

import "encoding/hex"

// Trace names a span of a trace that is recorded (W3C Trace Context, level 1): the trace's id and the span's. It travels in the header
// TraceHeader of a record, beside the record and never in its value, so no stored fact has it. The zero value means that nothing is
// recorded.
type Trace struct {
	TraceID [16]byte
	SpanID  [8]byte
}

// TraceHeader is the header of a record that has its Trace.
const TraceHeader = "traceparent"

// TraceHeaderSize is the length of that header's value, in bytes.
const TraceHeaderSize = len("00-00000000000000000000000000000000-0000000000000000-01")

// IsRecorded reports whether t names a span.
func (t Trace) IsRecorded() bool { return t.TraceID != [16]byte{} && t.SpanID != [8]byte{} }

// AppendHeader appends the header's value: version 00, both ids and the flag "sampled".
func (t Trace) AppendHeader(dst []byte) []byte {
	dst = append(dst, "00-"...)
	dst = hex.AppendEncode(dst, t.TraceID[:])
	dst = append(dst, '-')
	dst = hex.AppendEncode(dst, t.SpanID[:])
	return append(dst, "-01"...)
}

// ParseTrace reads the header's value as AppendHeader writes it. Anything else, such as another version or a trace that is not sampled,
// is the zero value.
func ParseTrace(value []byte) (t Trace) {
	if len(value) != TraceHeaderSize || string(value[:3]) != "00-" || value[35] != '-' || string(value[52:]) != "-01" {
		return Trace{}
	}
	for _, c := range value[3:52] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return Trace{} // the standard wants lower case
		}
	}
	if _, err := hex.Decode(t.TraceID[:], value[3:35]); err != nil {
		return Trace{}
	}
	if _, err := hex.Decode(t.SpanID[:], value[36:52]); err != nil || !t.IsRecorded() {
		return Trace{}
	}
	return t
}
