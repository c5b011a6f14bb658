package edge

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// TestTheEdgeTellsWhatIsNotInTheTopic: repeats, rejected events and what the sender gave up,
// by the same ids where a batch is sent again.
func TestTheEdgeTellsWhatIsNotInTheTopic(t *testing.T) {
	s := newStand(t, nil)
	const chrome = "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
		"Safari/537.36"
	view := func(id string, seq int) string {
		return fmt.Sprintf(`{"eventId":%q,"event":"PAGE_VIEW","stream":"ana@example.com","seq":%d}`, id, seq)
	}
	bad := func(id string) string { return fmt.Sprintf(`{"eventId":%q,"event":"no name"}`, id) }
	batch := func(dropped string, events ...string) string {
		return fmt.Sprintf(`{"companyId":%q,"events":[%s]%s}`, testCompany, strings.Join(events, ","), dropped)
	}
	told := 0
	f := func(body string, want *wire.Notice) (got wire.Notice) {
		t.Helper()
		s.post(200, body, "Origin: "+testOrigin, chrome)
		list := s.notices()
		if want == nil {
			if len(list) != told {
				t.Fatalf("%s: told %+v", body, list[told:])
			}
			return got
		}
		if len(list) != told+1 {
			t.Fatalf("%s: %d notices", body, len(list)-told)
		}
		told++
		got = list[told-1]
		if len(got.ID) != 16 || got.ReceivedAt.IsZero() || got.V != 1 || got.CompanyID != testCompany || got.Origin != testOrigin ||
			got.Agent != "chrome" || got.Duplicate != want.Duplicate || len(got.Rejected) != len(want.Rejected) {
			t.Errorf("%s: %+v", body, got)
		}
		for i, r := range want.Rejected {
			if got.Rejected[i].Code != r.Code || len(got.Rejected[i].IDs) != len(r.IDs) || got.Rejected[i].Unnamed != r.Unnamed {
				t.Errorf("%s: %+v", body, got.Rejected)
			}
		}
		if (got.Dropped == nil) != (want.Dropped == nil) || want.Dropped != nil && !reflect.DeepEqual(got.Dropped.Counts, want.Dropped.Counts) {
			t.Errorf("%s: %+v", body, got.Dropped)
		}
		return got
	}
	rejected := func(code string, n int) wire.NoticeRejected {
		return wire.NoticeRejected{Code: code, IDs: make([]byte, n*wire.NoticeIDSize)}
	}
	a, b, c, d := newID(), newID(), newID(), newID()

	f(batch("", view(a, 1)), nil)
	f(batch(`,"dropped":{}`, view(b, 2)), nil)
	first := f(batch("", view(a, 1), view(a, 1), bad(c), bad(d), `{"event":"CHECKOUT_COMPLETED"}`), &wire.Notice{
		Duplicate: 2, Rejected: []wire.NoticeRejected{rejected("invalid_event_name", 2), {Code: "payload_items_required", Unnamed: 1}},
	})
	again := f(batch("", bad(d)), &wire.Notice{Rejected: []wire.NoticeRejected{rejected("invalid_event_name", 1)}})
	if !bytes.Equal(again.Rejected[0].IDs, first.Rejected[0].IDs[wire.NoticeIDSize:]) || bytes.Equal(again.ID, first.ID) {
		t.Errorf("an event that is sent again has another id: %x, %x", again.Rejected[0].IDs, first.Rejected[0].IDs)
	}
	unnamed := `{"event":"CHECKOUT_COMPLETED"}`
	one := f(batch("", unnamed), &wire.Notice{Rejected: []wire.NoticeRejected{{Code: "payload_items_required", Unnamed: 1}}})
	two := f(batch("", unnamed, unnamed), &wire.Notice{Rejected: []wire.NoticeRejected{{Code: "payload_items_required", Unnamed: 2}}})
	if bytes.Equal(one.ID, two.ID) {
		t.Error("two requests with events without an id are one")
	}
	e := newID()
	drops := &wire.NoticeDropped{Counts: map[string]int64{"queue_full": 3, "other": 2}}
	text := batch(`,"dropped":{"queue_full":3,"storm":2}`, view(e, 3), view(newID(), 4))
	sent := f(text, &wire.Notice{Dropped: drops})
	resent := f(text, &wire.Notice{Duplicate: 2, Dropped: drops})
	if !bytes.Equal(sent.Dropped.ID, resent.Dropped.ID) || bytes.Equal(sent.ID, resent.ID) {
		t.Errorf("a batch that is sent again: %x, %x", sent.Dropped.ID, resent.Dropped.ID)
	}
	if stored := s.events(); sent.Dropped.Stream == "" || sent.Dropped.Stream != stored[0].Stream ||
		resent.Dropped.Stream != sent.Dropped.Stream || strings.Contains(sent.Dropped.Stream, "ana") {
		t.Errorf("the stream is %q, and that of events %q", sent.Dropped.Stream, stored[0].Stream)
	}
	other := f(batch(`,"dropped":{"queue_full":4}`, view(e, 3)),
		&wire.Notice{Duplicate: 1, Dropped: &wire.NoticeDropped{Counts: map[string]int64{"queue_full": 4}}})
	if bytes.Equal(sent.Dropped.ID, other.Dropped.ID) {
		t.Error("more that was given up has the same id")
	}
	s.post(400, batch(`,"dropped":{"queue_full":-1}`, view(newID(), 5)))
	if len(s.notices()) != told {
		t.Error("a request that was refused tells")
	}
}

// TestRepeatsAreAnsweredWhileKafkaIsAway: their events are durable already.
func TestRepeatsAreAnsweredWhileKafkaIsAway(t *testing.T) {
	s := newStand(t, nil)
	body := batchOf(fmt.Sprintf(`{"eventId":%q,"event":"PAGE_VIEW"}`, newID()))
	s.post(200, body)
	s.broker.Stop()
	if answer := s.post(200, body); answer.Results[0].Status != "duplicate" {
		t.Errorf("%+v", answer)
	}
}
