package core_test

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

// padded is a text of size bytes: head, as many x as fit, tail.
func padded(t *testing.T, head string, size int, tail string) string {
	t.Helper()
	n := size - len(head) - len(tail)
	if n < 0 {
		t.Fatalf("%d bytes are too few", size)
	}
	return head + strings.Repeat("x", n) + tail
}

// code is what the first event of a body is refused for; empty where it is taken.
func code(t *testing.T, body string) core.Code {
	t.Helper()
	b, v := core.ParseBatch(body, "loja", options())
	if v != nil {
		t.Fatalf("ParseBatch(%.80s): %v", body, v)
	}
	if err := b.Items[0].Err; err != nil {
		return err.Code
	}
	return ""
}

func TestEventsAreTakenUpToTheirBound(t *testing.T) {
	f := func(before, head string, size int, tail, after string, want core.Code) {
		t.Helper()
		if got := code(t, before+padded(t, head, size, tail)+after); got != want {
			t.Errorf("%s%s…: %d bytes: %q, want %q", before, head, size, got, want)
		}
	}
	const event = `{"event":"A","payload":{"a":"`
	f("", event, core.MaxEventBytes, `"}}`, "", "")
	f("", event, core.MaxEventBytes+1, `"}}`, "", "event_too_large")
	f("[", event, core.MaxEventBytes, `"}}`, `,{"event":"A"}]`, "")
	f("[", event, core.MaxEventBytes+1, `"}}`, `,{"event":"A"}]`, "event_too_large")
	const ofBatch = `{"event":"A","events":null,"payload":{"a":"`
	f("", ofBatch, core.MaxEventBytes, `"}}`, "", "")
	f("", ofBatch, core.MaxEventBytes+1, `"}}`, "", "event_too_large")
	const envelope = `["r1",null,null,"A",null,null,{},"`
	f("", envelope, 2*core.MaxEventBytes, `"]`, "", "")
	f("", envelope, 2*core.MaxEventBytes+1, `"]`, "", "event_too_large")
	const broken = `{"event":7,"payload":{"a":"`
	f("", broken, core.MaxEventBytes, `"}}`, "", "invalid_event_name")
	f("", broken, core.MaxEventBytes+1, `"}}`, "", "event_too_large")
}

// The canonical form of an envelope has the same bound as any event.
func TestEnvelopesAreTakenUpToTheirCanonicalSize(t *testing.T) {
	envelope := func(size int, more string) string {
		return `["r1",null,null,"A","{\"a\":\"` + strings.Repeat("x", size) + `\"}",null,{` + more + `}]`
	}
	canonical := len(one(t, envelope(100, ""))) - 100
	f := func(size int, want core.Code) {
		t.Helper()
		if got := code(t, envelope(size-canonical, "")); got != want {
			t.Errorf("%d bytes: %q, want %q", size, got, want)
		}
	}
	f(core.MaxEventBytes, "")
	f(core.MaxEventBytes+1, "event_too_large")
	if got := code(t, envelope(core.MaxEventBytes, `"seq":-1`)); got != "invalid_field" {
		t.Errorf("an envelope of two faults: %q, want its field's", got)
	}
}

// Bytes that are no UTF-8 and items of other names take more room in the
// canonical form: an envelope of less than half the bound can be beyond it.
func TestAnEnvelopeThatGrowsIsTakenUpToItsCanonicalSize(t *testing.T) {
	items := strings.Repeat(`,{\"id\":\"1\"}`, 850)[1:]
	mended := strings.Repeat("\xffa", 200) // a run of such bytes would become one character
	envelope := func(padding int) string {
		return `["r1",null,null,"ADD_TO_CART","{\"items\":[` + items + `],\"a\":\"` + mended + strings.Repeat("x", padding) + `\"}",null,` +
			`{"title":"` + mended + `","userAgent":"` + mended + `","locale":"` + mended + `"}]`
	}
	canonical := len(one(t, envelope(0)))
	f := func(size int, want core.Code) {
		t.Helper()
		sent := envelope(size - canonical)
		if len(sent) > core.MaxEventBytes/2 {
			t.Errorf("%d bytes do not grow enough", len(sent))
		}
		if got := code(t, sent); got != want {
			t.Errorf("%d bytes, sent as %d: %q, want %q", size, len(sent), got, want)
		}
	}
	f(core.MaxEventBytes, "")
	f(core.MaxEventBytes+1, "event_too_large")
}

// An object may grow too, but to no more than twice what any event may have: a stranger pays for what
// is sent, not for what is stored.
func TestAnObjectThatGrowsIsTakenUpToTwiceItsSize(t *testing.T) {
	items := strings.Repeat(`,{"id":"1"}`, 1800)[1:]
	object := func(padding int) string {
		return `{"event":"ADD_TO_CART","payload":{"items":[` + items + `],"a":"` + strings.Repeat("x", padding) + `"}}`
	}
	canonical := len(one(t, object(0)))
	f := func(size int, want core.Code) {
		t.Helper()
		sent := object(size - canonical)
		if len(sent) > core.MaxEventBytes {
			t.Errorf("%d bytes do not grow enough", len(sent))
		}
		if got := code(t, sent); got != want {
			t.Errorf("%d bytes, sent as %d: %q, want %q", size, len(sent), got, want)
		}
	}
	f(2*core.MaxEventBytes, "")
	f(2*core.MaxEventBytes+1, "event_too_large")
}

func TestFieldsAreTakenUpToTheirBounds(t *testing.T) {
	f := func(head string, most int, tail, want string) {
		t.Helper()
		for n, want := range map[int]string{most: "", most + 1: want} {
			got := one(t, `{"event":"A",`+head+strings.Repeat("v", n)+tail+`}`)
			if strings.HasPrefix(got, "{") {
				got = ""
			}
			if got != want {
				t.Errorf("%s: %d bytes: %s, want %s", head, n, got, want)
			}
		}
	}
	f(`"visitorId":"`, 128, `"`, "invalid_field visitorId")
	f(`"sessionId":"`, 128, `"`, "invalid_field sessionId")
	f(`"stream":"`, 128, `"`, "invalid_field stream")
	f(`"identity":{"email":"`, 320, `"}`, "invalid_identity identity.email")
	f(`"identity":{"customer_id":"`, 320, `"}`, "invalid_identity identity.customer_id")
}

// A batch that is parsed again takes the memory of its items.
func TestABatchIsParsedWithoutNewMemory(t *testing.T) {
	var b core.Batch
	body := `[{"event":"A"},{"event":"B"},{"event":"C"}]`
	if n := testing.AllocsPerRun(100, func() {
		if v := b.Parse(body, "loja", core.Options{}); v != nil || len(b.Items) != 3 {
			t.Fatal(v, len(b.Items))
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
