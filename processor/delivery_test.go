package processor

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/wire"
)

func (s *shop) ledger() []string {
	return s.texts(`select concat_ws(' ', day, outcome, events) from delivery where events <> 0 order by day, outcome`)
}

// number is an event of a stream, received so long after noon.
func (s *shop) number(stream string, seq int64, received time.Duration, change func(*wire.Event)) wire.Event {
	return s.event("v1", noon, int(stream[0])*1000+int(seq), func(e *wire.Event) {
		e.Stream, e.Seq, e.Trust = stream, seq, wire.TrustOpen
		e.ReceivedAt = noon.Add(received)
		e.Context.Page.URL = "https://loja.example.com/"
		e.Context.UserAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
		if change != nil {
			change(e)
		}
	})
}

func (s *shop) notice(n int, change func(*wire.Notice)) wire.Notice {
	id := sha256.Sum256(fmt.Append(nil, n))
	out := wire.Notice{V: 1, CompanyID: s.company, ID: id[:16], ReceivedAt: noon, Agent: "chrome", Origin: "https://loja.example.com"}
	change(&out)
	return out
}

func idsOf(ids ...string) (out []byte) {
	for _, id := range ids {
		sum := sha256.Sum256([]byte(id))
		out = append(out, sum[:wire.NoticeIDSize]...)
	}
	return out
}

// TestEachEventIsInTheLedgerOnce: in any order and in batches of any size, and when all
// records are read again. A notice comes behind the events of its request.
func TestEachEventIsInTheLedgerOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`update company set origins = '{https://loja.example.com}'`)
	const week = 7 * 24 * time.Hour
	later := func(e wire.Event, by time.Duration) wire.Event {
		e.ReceivedAt = e.ReceivedAt.Add(by)
		return e
	}
	a := func(seq int64) wire.Event { return s.number("a", seq, 0, nil) }
	events := []record{
		s.record(a(1)), s.record(a(2)), s.record(a(4)), // 3 is lost
		s.record(later(a(2), time.Minute)), s.record(later(a(2), time.Hour)), // sent again, twice
		s.record(a(1)), // the same record once more in the log
		s.record(s.number("d", 1, week+time.Hour, nil)),                        // late
		s.record(s.number("b", 1, 0, nil)), s.record(s.number("b", 9, 0, nil)), // 2 to 8: of 5 of them the sender says that it gave them up
		s.record(s.number("c", 1, 24*time.Hour, nil)), s.record(s.number("c", 3, 24*time.Hour, nil)), s.record(s.number("c", 2, week, nil)),
		s.record(s.number("i", 50, 0, func(e *wire.Event) { e.Trust = wire.TrustImport })), // a history has no numbers
	}
	dropped := func(n int, counts map[string]int64, stream string) wire.Notice {
		return s.notice(n, func(w *wire.Notice) {
			w.Dropped = &wire.NoticeDropped{ID: idsOf(fmt.Sprint(counts)), Counts: counts, Stream: stream}
		})
	}
	notices := []record{
		s.record(s.notice(1, func(w *wire.Notice) { w.Duplicate = 3 })),
		s.record(s.notice(2, func(w *wire.Notice) {
			w.Rejected = []wire.NoticeRejected{{Code: "invalid_event_name", IDs: idsOf("x", "y")}, {Code: "invalid_payload", IDs: idsOf("z")}}
		})),
		s.record(s.notice(3, func(w *wire.Notice) {
			w.Rejected = []wire.NoticeRejected{{Code: "invalid_event_name", IDs: idsOf("y", "w"), Unnamed: 2}, {Code: "invalid_event", Unnamed: 3}}
		})),
		s.record(dropped(4, map[string]int64{"queue_full": 5, "refused": 0}, "b")),
		s.record(dropped(5, map[string]int64{"queue_full": 5, "refused": 0}, "b")), // the batch again
		s.record(dropped(6, map[string]int64{"expired": 40}, "nobody's")),
	}
	want := []string{
		"2026-03-10 dropped:expired 40", "2026-03-10 dropped:queue_full 5", "2026-03-10 duplicate 5", "2026-03-10 missing 3",
		"2026-03-10 rejected:invalid_event 3", "2026-03-10 rejected:invalid_event_name 5",
		"2026-03-10 rejected:invalid_payload 1", "2026-03-10 stored 6", "2026-03-11 stored 2", "2026-03-17 late 1", "2026-03-17 stored 2",
	}
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		s.clear()
		r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		r.Shuffle(len(notices), func(i, j int) { notices[i], notices[j] = notices[j], notices[i] })
		all := append(append([]record{}, events...), notices...)
		for range 2 { // read again
			s.apply(all, func() int { return 1 + r.IntN(6) })
			wantTexts(t, fmt.Sprint("seed ", seed), s.ledger(), want...)
		}
		if seed > 0 {
			continue
		}
		wantTexts(t, "sources",
			s.texts(`select concat_ws(' ', agent, origin, outcome, sum(events)) from delivery_source group by agent, origin, outcome order by 1`),
			"chrome https://loja.example.com dropped 45", "chrome https://loja.example.com duplicate 3",
			"chrome https://loja.example.com rejected 9",
			"firefox https://loja.example.com duplicate 2", "firefox https://loja.example.com late 1", "firefox https://loja.example.com missing 3",
			"firefox https://loja.example.com stored 10")
		if n := s.int(`select count(*) from stream where encode(stream, 'escape') in ('a', 'b', 'c')`); n != 0 {
			t.Error("a stream's name is stored")
		}
	}
}

// TestMadeUpStreamsAndCountsAreBounded in rows and in what they say.
func TestMadeUpStreamsAndCountsAreBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`insert into delivery_day (company_id, day, streams, seen) values ($1, '2026-03-10', $2, $3)`, s.company,
		delivery.MaxStreams-3, delivery.MaxSeen-2)
	var records []record
	for n := range 400 {
		records = append(records, s.record(s.event(fmt.Sprint("v", n), noon, n, func(e *wire.Event) {
			e.Stream, e.Seq, e.ReceivedAt = fmt.Sprint("made-up ", n), 5, noon
		})))
	}
	s.apply(records, func() int { return 70 })
	one := func(what, sql string, want int64) {
		t.Helper()
		if got := s.int(sql); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	one("streams", `select count(*) from stream`, 3)
	one("missing", `select events from delivery where outcome = 'missing'`, 12)
	if n := s.int(`select events from delivery where outcome = 'unfollowed'`); n < 390 || n > 404 {
		t.Errorf("397 streams are not followed, and it says %d", n)
	}
	one("rows of the day", `select count(*) from delivery_day`, 1)

	// One stream with numbers that cannot be believed, with gap after gap, and with more
	// drops than there are numbers.
	s.clear()
	records = nil
	add := func(n int, seq int64) {
		records = append(records, s.record(s.event("v", noon, 1000+n, func(e *wire.Event) { e.Stream, e.Seq, e.ReceivedAt = "one", seq, noon })))
	}
	for n := range 300 {
		add(n, 2+2*int64(n))
	}
	add(300, 1<<62)
	add(301, 1<<63-1)
	records = append(records, s.record(s.notice(1, func(w *wire.Notice) {
		w.Agent, w.Origin = "made up", "https://made-up.example"
		w.Dropped = &wire.NoticeDropped{ID: idsOf("x"),
			Counts: map[string]int64{"made up": 1 << 60, "queue_full": 1 << 60, "refused": -4}, Stream: "one"}
		w.Duplicate = 1 << 60
	})))
	s.apply(records, func() int { return 50 })
	wantTexts(t, "ledger", s.ledger(), "2026-03-10 dropped:other 1000000", "2026-03-10 dropped:queue_full 1000000", "2026-03-10 duplicate 500",
		"2026-03-10 missing 236", "2026-03-10 stored 302", "2026-03-10 unfollowed 1")
	one("bytes of the gaps", `select count(*) from stream where gaps is null`, 1)
	one("sources", `select count(*) from delivery_source where agent = 'made up' or origin like '%made-up%'`, 0)

	// What is remembered: beyond the bound a repeat counts each time that it is read.
	s.clear()
	s.exec(`insert into delivery_day (company_id, day, streams, seen) values ($1, '2026-03-10', 0, $2)`, s.company, delivery.MaxSeen-1)
	rejected := s.record(s.notice(2, func(w *wire.Notice) {
		w.Rejected = []wire.NoticeRejected{{Code: "invalid_event", IDs: idsOf("a", "b")}}
	}))
	s.apply([]record{rejected}, func() int { return 1 })
	s.apply([]record{rejected}, func() int { return 1 })
	wantTexts(t, "rejected", s.ledger(), "2026-03-10 rejected:invalid_event 3")
	one("remembered", `select count(*) from delivery_seen`, 1)
}

// TestTheLedgerForgets streams and what it counted, some days after.
func TestTheLedgerForgets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	day := func(n int) time.Time { return facts.DayOf(noon).AddDate(0, 0, -n) }
	for _, days := range []int{2, 9, 34, 36} {
		s.exec(`insert into stream (company_id, stream, day, top, gaps)
			values ($1, $2, $3, 5, null), ($1, $4, $3, 5, '[{"from": 1, "to": 2, "day": 2}]')`, s.company,
			fmt.Append(nil, "whole", days), day(days), fmt.Append(nil, "gap", days))
		s.exec(`insert into delivery_seen (company_id, id, day) values ($1, $2, $3)`, s.company, fmt.Append(nil, days), day(days))
		s.exec(`insert into delivery_day (company_id, day, streams, seen) values ($1, $2, 1, 1)`, s.company, day(days))
	}
	s.apply([]record{s.record(s.event("v", noon, 1, func(e *wire.Event) { e.Stream, e.Seq, e.ReceivedAt = "new", 1, noon }))}, func() int {
		return 1
	})
	wantTexts(t, "streams", s.texts(`select encode(stream, 'escape') from stream where length(stream) < 16 order by 1`), "gap2",
		"gap34", "gap9", "whole2")
	wantTexts(t, "seen", s.texts(`select encode(id, 'escape') from delivery_seen order by 1`), "2", "34", "9")
	wantTexts(t, "days", s.texts(`select day::text from delivery_day order by 1`), "2026-02-04", "2026-03-01", "2026-03-08", "2026-03-10")
}
