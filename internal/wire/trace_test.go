package wire

import (
	"strings"
	"testing"
)

func TestATraceIsReadAsItWasWritten(t *testing.T) {
	want := Trace{TraceID: [16]byte{0x4b, 0xf9, 15: 0x36}, SpanID: [8]byte{0, 0xf0, 7: 0xb7}}
	text := want.AppendHeader(nil)
	if string(text) != "00-4bf90000000000000000000000000036-00f00000000000b7-01" || len(text) != TraceHeaderSize {
		t.Errorf("it is written as %s", text)
	}
	if got := ParseTrace(text); got != want {
		t.Errorf("it is read as %x", got)
	}
}

// What is not as we write it names nothing: another version, one that is not sampled, more or fewer bytes, ids of zeros.
func TestAnOddTraceIsNone(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if !ParseTrace([]byte(good)).IsRecorded() {
		t.Fatal("a good one is not read")
	}
	for _, text := range []string{
		"", "00", good + "-", good + "-extra", good[:54], " " + good[1:], strings.ToUpper(good), "01" + good[2:], "ff" + good[2:],
		good[:53] + "00", good[:53] + "03", good[:53] + "ff",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e47-6-00f067aa0ba902b7-01",
		"00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", strings.Repeat("0", 1<<20),
	} {
		if got := ParseTrace([]byte(text)); got != (Trace{}) {
			t.Errorf("%.60q is read as %x", text, got)
		}
	}
}
