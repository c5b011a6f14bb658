package processor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/procstat"
)

// countPaths counts what is due at an instant, with so many visitors in a transaction.
func (s *shop) countPaths(now time.Time, chunk int) {
	s.t.Helper()
	p := s.processor(nil, nil)
	p.Now, p.config.PathsChunk = func() time.Time { return now }, chunk
	if err := p.CountPaths(s.ctx, s.company, AnyPartition, false); err != nil {
		s.t.Fatal(err)
	}
}

// countedDays are the days that were counted: "day round journeys left_out: steps".
func (s *shop) countedDays() (list []string) {
	s.t.Helper()
	rows, err := s.pool.Query(s.ctx,
		`select to_char(day, 'YYYY-MM-DD') || ' ' || round || ' ' || journeys || ' ' || left_out, steps from nonconverting_day order by day`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		var steps rollup.Steps
		if err := rows.Scan(&text, &steps); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, text+":"+nullSteps(steps))
	}
	return list
}

// nullSteps are steps as text, in their order.
func nullSteps(steps rollup.Steps) (text string) {
	for _, before := range slices.Sorted(maps.Keys(steps)) {
		for _, channel := range slices.Sorted(maps.Keys(steps[before])) {
			text += fmt.Sprintf(" %s>%s %d", before, channel, steps[before][channel])
		}
	}
	return text
}

// The published case: C1 > C2 > C3 bought; C1 and C2 > C3 did not. The report gives what
// docs/models.md does.
func TestNonConvertingPathsArePartOfMarkov(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("C1", "x")
	s.influencer("C2", "x")
	s.influencer("C3", "x")
	day := 24 * time.Hour
	s.apply([]record{
		s.record(s.event("buyer", noon, 1, landing("C1", "x"))), s.record(s.event("buyer", noon.Add(day), 2, landing("C2", "x"))),
		s.record(s.event("buyer", noon.Add(2*day), 3, landing("C3", "x"))),
		s.record(s.order("o1", noon.Add(2*day+time.Hour), 5000, func(o *wire.Order) { o.VisitorID = wire.Some(visitorID("buyer")) })),
		s.record(s.event("one", noon, 4, landing("C1", "x"))),
		s.record(s.event("two", noon.Add(day), 5, landing("C2", "x"))), s.record(s.event("two", noon.Add(2*day), 6, landing("C3", "x"))),
	}, func() int { return 3 })
	credits := func() (list []string, nulls reports.NonConvertingPaths) {
		r, err := report.New(s.db).Report(s.ctx,
			reports.Query{CompanyID: s.company, Name: reports.Channels, Start: "2026-03-01", End: "2026-03-31",
				By: reports.ByMonth, Model: "markov"})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			orders, _ := r.Value(row, r.Spec.Column("credited_orders"))
			list = append(list, row.Texts[0]+" "+orders.String())
		}
		slices.Sort(list)
		return list, *r.NonConverting
	}
	list, nulls := credits()
	wantTexts(t, "before they are counted", list, "C1 0.333334", "C2 0.333333", "C3 0.333333")
	if nulls != (reports.NonConvertingPaths{}) {
		t.Errorf("non-converting paths before they are counted: %+v", nulls)
	}
	s.countPaths(noon.AddDate(0, 0, 200), 1000)
	list, nulls = credits()
	wantTexts(t, "markov", list, "C1 0.2", "C2 0.4", "C3 0.4")
	if want := (reports.NonConvertingPaths{Journeys: 2, CountedUntil: "2026-03-12", FinalUntil: "2026-03-12"}); nulls != want {
		t.Errorf("non-converting paths: %+v, want %+v", nulls, want)
	}
}

// A day is counted a week after it, and for the last time once a window is over; visitors who come again or buy meanwhile are no
// non-converting paths of it any more.
func TestNonConvertingPathsAreCountedInRounds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for n, visitor := range []string{"never", "soon", "later", "bought"} {
		s.apply([]record{s.record(s.event(visitor, noon, n, nil))}, func() int { return 1 })
	}
	counted := func(days int, want ...string) {
		t.Helper()
		s.countPaths(noon.AddDate(0, 0, days), 2)
		wantTexts(t, fmt.Sprintf("%d days later", days), s.countedDays(), want...)
	}
	counted(7)
	s.exec(`truncate consumer_offset`)
	s.apply([]record{s.record(s.event("soon", noon.AddDate(0, 0, 3), 10, nil)),
		s.record(s.order("o1", noon.AddDate(0, 0, 3), 100, func(o *wire.Order) { o.VisitorID = wire.Some(visitorID("bought")) }))}, func() int {
		return 9
	})
	counted(8, "2026-03-10 1 2 0: >Direct 2 Direct> 2")
	counted(12, "2026-03-10 1 2 0: >Direct 2 Direct> 2", "2026-03-13 1 1 0: >Direct 1 Direct> 1")
	s.exec(`truncate consumer_offset`)
	s.apply([]record{s.record(s.event("later", noon.AddDate(0, 0, 25), 11, nil))}, func() int { return 9 })
	counted(43, "2026-03-10 2 1 0: >Direct 1 Direct> 1", "2026-03-13 1 1 0: >Direct 1 Direct> 1", "2026-04-04 1 1 0: >Direct 1 Direct> 1")
}

// What retention has removed is not counted again: the day keeps its count.
func TestDaysWhoseEventsAreRemovedKeepTheirNonConvertingPaths(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{s.record(s.event("v1", noon, 1, nil)), s.record(s.event("v2", noon.AddDate(0, 0, 50), 2, nil))}, func() int { return 2 })
	s.countPaths(noon.AddDate(0, 0, 100), 10)
	want := []string{"2026-03-10 2 1 0: >Direct 1 Direct> 1", "2026-04-29 2 1 0: >Direct 1 Direct> 1"}
	wantTexts(t, "counted", s.countedDays(), want...)
	s.exec(`insert into retention (company_id, begun_until, nonconverting_from) values ($1, $2, ($2::timestamptz + interval '34 days')::date)`,
		s.company, noon.AddDate(0, 0, 1))
	s.exec(`delete from event_fact where at < $1`, noon.AddDate(0, 0, 1))
	s.exec(`update nonconverting_day set marks = marks + 1`)
	s.exec(`insert into traffic_day values ($1, '2026-03-30', '', 1, 0, 0, 0, 0)`, s.company) // it was never counted, and reads removed events
	s.countPaths(noon.AddDate(0, 0, 102), 10)
	wantTexts(t, "after the removal", s.countedDays(), want...)
	if n := s.int(`select count(*) from nonconverting_day where marks = counted`); n != 1 {
		t.Errorf("%d days were counted again, want the one whose events are all there", n)
	}
	shown, err := report.New(s.db).Report(s.ctx,
		reports.Query{CompanyID: s.company, Name: reports.Paths, Start: "2026-03-01", End: "2026-04-30", By: reports.ByTotal})
	if err != nil || shown.NonConverting.CountedUntil != "2026-04-29" || shown.NonConverting.FinalUntil != "2026-04-29" {
		t.Errorf("the report says %+v, %v: a day that is never counted must not hold it up", shown.NonConverting, err)
	}
}

// Who sends late events each day lets a final day be counted again ever more seldom.
func TestFinalDaysAreCountedAgainEverMoreSeldom(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{s.record(s.event("v1", noon, 1, nil))}, func() int { return 1 })
	now := noon.AddDate(0, 0, 100)
	s.countPaths(now, 10)
	var again []int
	for day := range 40 {
		s.exec(`update nonconverting_day set marks = marks + 1`)
		s.countPaths(now.AddDate(0, 0, day+1), 10)
		if s.int(`select count(*) from nonconverting_day where marks = counted`) == 1 {
			again = append(again, day+1)
		}
	}
	if want := []int{1, 3, 7, 14, 28}; !slices.Equal(again, want) {
		t.Errorf("counted again on the days %v, want %v", again, want)
	}
	s.exec(`update nonconverting_day set marks = marks + 1`)
	for _, day := range []int{150, 151} { // after a quiet time the first wait is the short one again
		s.exec(`update nonconverting_day set marks = marks + 1`)
		s.countPaths(now.AddDate(0, 0, day), 10)
		if s.int(`select count(*) from nonconverting_day where marks = counted`) != int64(151-day) {
			t.Errorf("day %d: %v", day, s.texts(`select row(marks, counted, recounts)::text from nonconverting_day`))
		}
	}
}

// A running processor counts by itself, once it owns the partition.
func TestARunningProcessorCountsNonConvertingPaths(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.produce(s.event("v1", noon, 1, nil), s.event("v2", noon.Add(time.Hour), 2, nil))
	p := s.processor(s.group(), s.producer)
	p.config.CountPathsEvery = 20 * time.Millisecond
	defer s.runs(p)()
	s.applied()
	s.await("the day is counted for the last time", func() bool {
		return s.int(`select count(*) from nonconverting_day where round = 2 and journeys = 2`) == 1
	})
	s.await("the count is told in the metrics", func() bool { return s.metric(p, "tributary_processor_nonconverting_recounts_total") > 0 })
}

// wantPaths compares what was counted with what all facts give, visitor by visitor.
func (s *shop) wantPaths(when string, x *attribution.Index) {
	s.t.Helper()
	byVisitor, days := map[string][]facts.Event{}, map[string]bool{}
	for _, e := range s.events() {
		if e.Visitor != "" {
			byVisitor[e.Visitor] = append(byVisitor[e.Visitor], e)
			days[x.DayOf(e.At)] = true
		}
	}
	var want []string
	for day := range days {
		var steps rollup.Steps
		journeys := 0
		for visitor, events := range byVisitor {
			j, ok, err := x.NonConvertingPath(visitor, events, day)
			if err != nil {
				s.t.Fatal(err)
			}
			if !ok || s.int(`
				select count(*) from orders o join order_key k using (company_id, order_id)
				where o.status <> 2 and o.created_at between $1 and $2 and k.kind = any($3) and k.key = $4 and k.hub = 0`,
				j.From, j.To, facts.Codes([]facts.KeyKind{facts.KeyReached, facts.VisitorKey(visitor).Kind}),
				facts.Key{Kind: facts.KeyReached, Value: visitor}.Pack()) > 0 {
				continue
			}
			journeys++
			steps.Add(j.Path)
		}
		if journeys > 0 {
			want = append(want, fmt.Sprintf("%s 2 %d 0:", day, journeys)+nullSteps(steps))
		}
	}
	slices.Sort(want)
	var got []string
	for _, text := range s.countedDays() {
		if text[len("2026-03-10 3 "):] != "0 0:" {
			got = append(got, text)
		}
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("%s: %q, want %q", when, got, want)
	}
}

// TestNonConvertingPathsFollowEveryFact: random histories, whose facts come in any order after the
// days were counted for the last time. After each count the days have what all facts give;
// counts are stopped half-way and gone on with.
func TestNonConvertingPathsFollowEveryFact(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	s.influencer("Beto Lima", "Verão")
	now := time.Now().UTC()
	marked := int64(0)
	for _, seed := range []uint64{0, 3} { // 3 has crowds
		r := rand.New(rand.NewPCG(seed, 77))
		records := s.historyOf(r, seed)
		r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		s.clear()
		o := s.owner()
		numbered(records)
		for n := 0; len(records) > 0; n++ {
			size := min(1+r.IntN(2), len(records)) // few, so that each alone must mark what it changes
			if n == 0 {
				size = len(records) / 2
			}
			waits := r.IntN(3) == 0 // the orders are queued
			if _, err := o.applyOnce(s.ctx, records[:size], func(string) bool { return waits }); err != nil {
				t.Fatal(err)
			}
			for _, r := range records[:size] {
				o.next[r.topic] = r.Offset + 1
			}
			records = records[size:]
			if waits {
				s.countPaths(now, 3) // nothing is counted while orders wait
				s.workOffBy(o)
			}
			if r.IntN(4) == 0 { // a count that is stopped
				p := s.processor(nil, nil)
				p.config.PathsChunk = 1
				for range r.IntN(6) {
					if _, err := p.countPathsStep(s.ctx, s.company, AnyPartition); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			now = now.Add(28 * 24 * time.Hour) // the longest wait for a count again is over
			s.countPaths(now, 1+r.IntN(5))
			rules, err := o.rulesOf(s.ctx, []string{s.company})
			if err != nil {
				t.Fatal(err)
			}
			s.wantPaths(fmt.Sprintf("seed %d, batch %d", seed, n), rules[s.company])
		}
		marked += s.int(`select coalesce(sum(marks), 0) from nonconverting_day`)
	}
	if marked == 0 {
		t.Error("no day was counted again: the test says nothing")
	}
}

// TestACopyThatMovesAnEventMovesItsNonConvertingPath: the day that loses the event is counted again, too.
func TestACopyThatMovesAnEventMovesItsNonConvertingPath(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	now, later := time.Now().UTC(), noon.AddDate(0, 0, 90)
	o := s.owner()
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	e := s.event("v1", noon, 1, landing("Ana+Prado", "Inverno"))
	for n, copied := range []func(){func() {}, func() {
		e.Timestamp, e.ReceivedAt, e.Trust = later, later.Add(time.Second), wire.TrustImport // which counts
	}} {
		copied()
		s.apply([]record{s.record(e)}, func() int { return 1 })
		now = now.Add(28 * 24 * time.Hour)
		s.countPaths(now, 1)
		s.wantPaths(fmt.Sprint("copy ", n), rules[s.company])
	}
	if days := s.texts(`select day::text from nonconverting_day where journeys > 0`); !slices.Equal(days,
		[]string{later.Format(time.DateOnly)}) {
		t.Errorf("non-converting paths on %v, want %s alone", days, later.Format(time.DateOnly))
	}
}

// BenchmarkNonConvertingPaths counts the non-converting paths of a day with 5,000 visitors, each with ten
// events on three days: CPU time of this process and of PostgreSQL's connections.
func BenchmarkNonConvertingPaths(b *testing.B) {
	s := newShop(b)
	s.influencer("Ana Prado", "Inverno")
	const visitors = 5000
	for chunk := range slices.Chunk(make([]int, visitors), 500) {
		var records []record
		for range chunk {
			visitor := uuid.NewString()
			for n := range 10 {
				at := noon.Add(time.Duration(n/4) * 24 * time.Hour).Add(time.Duration(n) * time.Minute)
				change := func(*wire.Event) {}
				if n%4 == 0 {
					change = landing("Ana+Prado", "Inverno")
				}
				e := s.event(visitor, at, 0, change)
				e.EventID = strings.Replace(uuid7(at, 0), "-8000-000000000000", visitor[18:], 1)
				records = append(records, s.record(e))
			}
		}
		s.exec(`truncate consumer_offset`)
		s.apply(records, func() int { return 500 })
	}
	s.exec(`analyze`)
	cpu := func() (sum time.Duration) {
		pids := []int{os.Getpid()}
		for _, pid := range s.texts(`select pid::text from pg_stat_activity where datname = current_database()`) {
			n, _ := strconv.Atoi(pid)
			pids = append(pids, n)
		}
		for _, pid := range pids {
			used, err := procstat.CPU(pid)
			if err != nil {
				b.Skip("no CPU times here: ", err)
			}
			sum += used
		}
		return sum
	}
	before := cpu()
	for b.Loop() {
		s.exec(`delete from nonconverting_day`)
		s.countPaths(noon.AddDate(0, 0, 200), 1000)
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N*3*visitors), "cpu-us/visit")
}
