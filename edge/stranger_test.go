package edge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// letters reads rejected.v1.
func (s *stand) letters() []wire.Rejected {
	s.t.Helper()
	var letters []wire.Rejected
	for _, r := range s.log(wire.TopicRejected) {
		var letter wire.Rejected
		if err := json.Unmarshal(r.Value, &letter); err != nil {
			s.t.Fatal(err)
		}
		letters = append(letters, letter)
	}
	return letters
}

// metric is the value of the edge's series "name" or "name{label=\"value\"}", 0
// if it has none yet.
func (s *stand) metric(series string) float64 {
	s.t.Helper()
	_, page := s.do("GET", "/metrics", "")
	for line := range strings.Lines(string(page)) {
		if value, found := strings.CutPrefix(line, "tributary_edge_"+series+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

func TestRejectionsOfOneRequestAreOneLetterForEachReason(t *testing.T) {
	s := newStand(t, nil)
	items := slices.Repeat([]string{"1"}, 400)
	items = append(items, slices.Repeat([]string{`{"event":"X","seq":-1}`}, 99)...)
	items = append(items, pageView(newID()))
	answer := s.post(200, batchOf(items...))
	rejected := 0
	for _, r := range answer.Results {
		if r.Status == "rejected" && r.Code != "" {
			rejected++
		}
	}
	if rejected != 499 || len(s.events()) != 1 {
		t.Errorf("%d of 499 are answered as rejected, %d events are stored", rejected, len(s.events()))
	}
	got := map[string]int{}
	bytes := 0
	for _, r := range s.log(wire.TopicRejected) {
		bytes += len(r.Value)
	}
	for _, letter := range s.letters() {
		got[letter.Code] += letter.Count
	}
	if len(s.letters()) != 2 || got["invalid_event"] != 400 || got["invalid_field"] != 99 {
		t.Errorf("letters %v", got)
	}
	if bytes > 1000 {
		t.Errorf("the letters have %d bytes", bytes)
	}
	if n := s.metric(`events_total{status="rejected"}`); n != 499 {
		t.Errorf("the metrics count %v", n)
	}
}

// What an event's size or shape refuses is neither redacted nor kept.
func TestAnEventIsJudgedBeforeItIsScrubbed(t *testing.T) {
	s := newStand(t, nil)
	f := func(code, event string, redacted float64) {
		t.Helper()
		before, letters := s.metric("redacted_bytes_total"), len(s.letters())
		if got := s.post(200, batchOf(event)).Results[0].Code; got != code {
			t.Errorf("%.60s: %s, want %s", event, got, code)
		}
		after := s.letters()
		if len(after) != letters+1 {
			t.Fatalf("%d letters", len(after)-letters)
		}
		letter := after[slices.IndexFunc(after, func(l wire.Rejected) bool { return l.Code == code })]
		if n := s.metric("redacted_bytes_total") - before; n != redacted || (letter.Body != "") != (redacted > 0) {
			t.Errorf("%s: %v bytes are redacted, want %v; body %.80s", code, n, redacted, letter.Body)
		}
		if want := testHasher(t).Company(testCompany, "BR").Digest([]byte(event)); letter.Digest != want {
			t.Errorf("%s: digest %s, want %s", code, letter.Digest, want)
		}
	}
	escapes := func(n int) string { return strings.Repeat("%25", n) + "40x.com" }
	f("event_too_large", `{"event":"X","payload":{"a":"`+escapes(300_000)+`"}}`, 0)
	f("too_deep", `{"event":"X","payload":{"a":`+strings.Repeat("[", 4000)+strings.Repeat("]", 4000)+`}}`, 0)
	f("number_out_of_range", `{"event":"X","payload":{"n":1e999,"a":"`+escapes(2000)+`"}}`, 0)
	f("invalid_json", `{"event":"X","payload":{"a":"`+escapes(2000)+`" "b"}}`, 0)
	f("invalid_event_id", `{"event":"X","eventId":"`+escapes(4000)+`"}`, 0) // more than is redacted of a request
	small := `{"event":"X","seq":-1,"payload":{"a":"` + escapes(20) + `"}}`
	f("invalid_field", small, float64(len(small)))
}

// What is redacted of a request is bounded, however many reasons it has.
func TestLittleOfARequestIsRedacted(t *testing.T) {
	s := newStand(t, nil)
	var items []string
	for _, fault := range []string{`"seq":-1`, `"eventId":"x"`, `"timestamp":"x"`, `"payload":1`, `"identity":1`, `"context":1`} {
		items = append(items, fmt.Sprintf(`{"event":"X",%s,"a":"%s"}`, fault, strings.Repeat("x", 3000)))
	}
	s.post(200, batchOf(items...))
	bodies := 0
	for _, letter := range s.letters() {
		if letter.Body != "" {
			bodies++
		}
	}
	if n := s.metric("redacted_bytes_total"); len(s.letters()) != 6 || bodies != 2 || n > maxRejectedBody {
		t.Errorf("%v bytes are redacted for %d bodies of %d letters", n, bodies, len(s.letters()))
	}
}
