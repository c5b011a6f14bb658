package importer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestOrderWithoutUpdatedAtHasTheVersionOfItsCreation(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if got := string(stampOrder([]byte(line))); got != want {
			t.Errorf("%s\nbecame %s\n  want %s", line, got, want)
		}
	}
	f(`{"orderId":"1","createdAt":"2026-03-15T12:00:00Z","totalPrice":200.00}`,
		`{"orderId":"1","createdAt":"2026-03-15T12:00:00Z","updatedAt":"2026-03-15T12:00:00Z","totalPrice":200.00}`)
	f(`{ "updatedAt" : null, "totalPrice": 12345678901234567.10, "items": [{"price": 0.10, "createdAt": "x", "updatedAt": null}], `+
		`"createdAt" : "2026-03-15T12:00:00Z" }`,
		`{ "updatedAt" : "2026-03-15T12:00:00Z", "totalPrice": 12345678901234567.10, "items": [{"price": 0.10, "createdAt": "x", "updatedAt": `+
			`null}], "createdAt" : "2026-03-15T12:00:00Z" }`)
	f(`{"createdAt":"2026-03-15T12:00:00Z","n":1e2}`, `{"createdAt":"2026-03-15T12:00:00Z","updatedAt":"2026-03-15T12:00:00Z","n":1e2}`)

	unchanged := func(line string) { t.Helper(); f(line, line) }
	unchanged(`{"createdAt":"2026-03-15T12:00:00Z","updatedAt":"2026-03-16T12:00:00Z"}`)
	// as absent
	f(`{"createdAt":"2026-03-15T12:00:00Z","updatedAt":""}`, `{"createdAt":"2026-03-15T12:00:00Z","updatedAt":"2026-03-15T12:00:00Z"}`)
	f(`{"createdAt":"2026-03-15T12:00:00.123-03:00"}`,
		`{"createdAt":"2026-03-15T12:00:00.123-03:00","updatedAt":"2026-03-15T12:00:00.123-03:00"}`)
	f(`{"createdAt":"2026-03-15T12:00:00+0000"}`, `{"createdAt":"2026-03-15T12:00:00+0000","updatedAt":"2026-03-15T12:00:00+0000"}`)
	unchanged(`{"createdAt":"2026-03-15T12:00:00Z","updatedAt":null,"updatedAt":"2026-03-16T12:00:00Z"}`)
	unchanged(`{"createdAt":"","totalPrice":1.10}`)
	unchanged(`{"createdAt":null}`)
	unchanged(`{"createdAt":7}`)
	unchanged(`{"totalPrice":1.10}`)
	unchanged(`{}`)
	unchanged(`["createdAt"]`)
	unchanged(`7`)
}

func TestOrdersAreSentWithTheirStamps(t *testing.T) {
	var got []string
	server := newAdmin(t, nil, func(line string) orderAnswer { got = append(got, line); return orderAnswer{} })
	s, err := Orders(t.Context(),
		Config{File: "-", StateDir: t.TempDir(),
			Stdin: strings.NewReader(`{"orderId":"1","totalPrice":0.30,"createdAt":"2026-03-15T12:00:00Z"}`)}, server.URL+"/admin/v1", "key")
	if err != nil || s.Accepted != 1 || s.TellsDuplicates {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := []string{`{"orderId":"1","totalPrice":0.30,"createdAt":"2026-03-15T12:00:00Z",` +
		`"updatedAt":"2026-03-15T12:00:00Z"}`}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestEventsWithoutIDAreKnownWhenTheyComeAgain(t *testing.T) {
	const text = `{"event":"PAGE_VIEW","timestamp":"2026-03-15T12:00:00Z","payload":{"price":0.10}}`
	file := text + "\n" + text + "\r\n" + `{"eventId":null,` + text[1:] + "\n" +
		`["r1",null,"2026-03-15T12:00:00.5Z","PAGE_VIEW",null,null,{}]`
	e := newEdge(t)
	for run, want := range []int64{0, 4} {
		s, err := Events(t.Context(), Config{File: writeFile(t, "e.jsonl", file)}, e.URL, "c_1", "k")
		if err != nil || s.Accepted != 4 || s.Duplicates != want || !s.TellsDuplicates {
			t.Fatalf("import %d: %+v, %v; want 4 accepted, %d of them known", run+1, s, err, want)
		}
	}
	ids := map[string]bool{}
	for i, event := range e.events {
		var id string
		if i < 3 {
			var read struct{ EventID string }
			if err := json.Unmarshal([]byte(event), &read); err != nil {
				t.Fatal(err)
			}
			id = read.EventID
			if !strings.HasSuffix(event, text[1:]) {
				t.Errorf("%s is not the line with an id", event)
			}
		} else {
			var read []json.RawMessage
			if err := json.Unmarshal([]byte(event), &read); err != nil || json.Unmarshal(read[1], &id) != nil {
				t.Fatal(event, err)
			}
		}
		parsed, err := uuid.Parse(id)
		if err != nil || parsed.Version() != 7 || parsed.Variant() != uuid.RFC4122 {
			t.Errorf("%q is no UUIDv7: %v", id, err)
		}
		if seconds, nanos := parsed.Time().UnixTime(); time.Unix(seconds, nanos).UTC().Format(time.RFC3339) != "2026-03-15T12:00:00Z" {
			t.Errorf("%q has another time", id)
		}
		ids[id] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids for 4 lines: equal lines are separate events", len(ids))
	}
}

func TestWhatMakesAnEventsID(t *testing.T) {
	f := func(company string, number int64, text string) string {
		t.Helper()
		stamped, reasons := stampEvent(company, line{number, []byte(text)})
		if reasons != nil {
			t.Fatal(reasons)
		}
		return string(stamped)
	}
	const text = `{"timestamp":"2026-03-15T12:00:00Z"}`
	// Events were stored under such ids: they must not change.
	if got, want := f("c_1", 1, text), `{"eventId":"019cf15e-1200-761e-8408-482344276103","timestamp":"2026-03-15T12:00:00Z"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// The same time as a number: the id has the time, so a second import counts nothing twice.
	if got := f("c_1", 1, `{"timestamp":1773576000000}`); !strings.HasPrefix(got, `{"eventId":"019cf15e-1200-7`) {
		t.Errorf("%s has not the event's time in its id", got)
	}
	seen := map[string]bool{f("c_1", 1, text): true, f("c_2", 1, text): true, f("c_1", 2, text): true, f("c_1", 1, text+" "): true}
	if len(seen) != 4 {
		t.Errorf("company, line number and bytes do not all count: %v", seen)
	}

	unchanged := func(text string) {
		t.Helper()
		if got := f("c_1", 1, text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	unchanged(`{"eventId":"mine"}`)
	unchanged(`{"eventId":"mine","eventId":null}`)
	unchanged(`{"eventId":""}`)
	unchanged(`{"event":"X","timestamp":"yesterday"}`)
	unchanged(`{"event":"X","timestamp":7}`)
	unchanged(`{"timestamp":"1969-12-31T23:59:59Z"}`)
	unchanged(`["r1","mine",null]`)
	unchanged(`["r1"]`)
	unchanged(`"PAGE_VIEW"`)
}

func TestEventThatNothingWouldMakeKnownIsRefused(t *testing.T) {
	e := newEdge(t)
	f := func(text string) {
		t.Helper()
		s, err := Events(t.Context(), Config{File: writeFile(t, "e.jsonl", text)}, e.URL, "c_1", "k")
		if err != nil || s.Rejected != 1 || len(e.events) != 0 {
			t.Errorf("%s: %+v, %v; want it rejected and not sent", text, s, err)
		}
	}
	f(`{"event":"PAGE_VIEW"}`)
	f(`{"event":"PAGE_VIEW","eventId":null,"timestamp":null}`)
	f(`["r1",null,null,"PAGE_VIEW",null,null,{}]`)
	_, reasons := stampEvent("c_1", line{1, []byte(`{}`)})
	if len(reasons) != 1 || reasons[0].Code != "timestamp_required" || reasons[0].Field != "timestamp" {
		t.Errorf("reasons %+v", reasons)
	}
}
