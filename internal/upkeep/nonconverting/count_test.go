package nonconverting_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
)

// day is the day that tests count.
const day = "2026-06-10"

// errPlanted is what a method returns that a test lets fail.
var errPlanted = errors.New("planted")

// daily are rules by which a visitor's events are its path, each a channel in its field Visitor; who has none has no path.
type daily struct {
	nonconverting.Rules
	fails string // a method's name
}

func (r daily) CountRounds(now time.Time) facts.CountRounds { return facts.CountRounds{Again: now} }

func (r daily) PathEvents(string) (from, to time.Time, err error) {
	at, err := time.Parse(time.DateOnly, day)
	if r.fails == "PathEvents" {
		err = errPlanted
	}
	return at, at.AddDate(0, 0, 1), err
}

func (r daily) NonConvertingPath(visitor string, events []facts.Event, of string) (j facts.NonConvertingPath, ok bool, err error) {
	if r.fails == "NonConvertingPath" {
		return j, false, errPlanted
	}
	for _, e := range events {
		j.Path = append(j.Path, e.Visitor)
	}
	j.Visitor = visitor
	return j, of == day && len(events) > 0, nil
}

// counted is a store of one company in memory.
type counted struct {
	nonconverting.Store
	fails string // a method's name

	count *nonconverting.Count
	due   *nonconverting.Count
	rows  []string            // the day's visitors
	paths map[string][]string // channels, by visitor
	buys  map[string]bool

	calls   []string
	reads   []int // how many visitors' events each read was for
	most    int
	from    time.Time
	to      time.Time
	rounds  facts.CountRounds
	began   time.Time
	asked   int // of Bought
	company string
}

func (c *counted) call(name, companyID string) error {
	c.calls, c.company = append(c.calls, name), companyID
	if c.fails == name {
		return errPlanted
	}
	return nil
}

func (c *counted) Count(_ context.Context, companyID string) (*nonconverting.Count, error) {
	return c.count, c.call("Count", companyID)
}

func (c *counted) Due(_ context.Context, companyID string, rounds facts.CountRounds) (*nonconverting.Count, error) {
	c.rounds = rounds
	return c.due, c.call("Due", companyID)
}

func (c *counted) Begin(_ context.Context, companyID string, due *nonconverting.Count, now time.Time) error {
	c.count, c.began = due, now
	return c.call("Begin", companyID)
}

func (c *counted) VisitorsOfDay(_ context.Context, companyID, of string, after []byte,
	limit int) (visitors []string, last []byte, err error) {
	at := slices.Index(c.rows, string(after)) + 1 // 0: from the first
	visitors = c.rows[at:min(at+limit, len(c.rows))]
	if of != day {
		return nil, nil, fmt.Errorf("day %q", of)
	}
	if len(visitors) > 0 {
		last = []byte(visitors[len(visitors)-1])
	}
	return visitors, last, c.call("VisitorsOfDay", companyID)
}

func (c *counted) EventsBetween(_ context.Context, companyID string, visitors []string, from, to time.Time,
	most int) (list [][]facts.Event, err error) {
	c.reads, c.from, c.to, c.most = append(c.reads, len(visitors)), from, to, most
	for _, visitor := range visitors {
		var events []facts.Event
		for _, channel := range c.paths[visitor] {
			events = append(events, facts.Event{Visitor: channel})
		}
		list = append(list, events)
	}
	return list, c.call("EventsBetween", companyID)
}

func (c *counted) Bought(_ context.Context, companyID string, journeys []facts.NonConvertingPath) (map[int]bool, error) {
	bought := map[int]bool{}
	for i, j := range journeys {
		bought[i] = c.buys[j.Visitor]
	}
	c.asked += len(journeys)
	return bought, c.call("Bought", companyID)
}

func (c *counted) GoOn(_ context.Context, companyID string, _ *nonconverting.Count) error {
	return c.call("GoOn", companyID)
}

func (c *counted) End(_ context.Context, companyID string, _ *nonconverting.Count) error {
	return c.call("End", companyID)
}

// step is one Step of the company "c", whose lock is a call too.
func (c *counted) step(t *testing.T, rules daily, now time.Time, chunk int) (more, ended bool, err error) {
	t.Helper()
	return nonconverting.Step(t.Context(), c, rules, "c", now, chunk, func(context.Context) error { return c.call("lock", "c") })
}

// visitors are n visitors with two channels each.
func visitors(n int) *counted {
	c := &counted{paths: map[string][]string{}, buys: map[string]bool{}, count: &nonconverting.Count{Day: day}}
	for i := range n {
		visitor := fmt.Sprintf("v%04d", i)
		c.rows, c.paths[visitor] = append(c.rows, visitor), []string{"google", "instagram"}
	}
	return c
}

func TestADayThatIsDueIsBegunUnderTheLock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	due := &nonconverting.Count{Day: day}
	c := &counted{due: due}
	if more, ended, err := c.step(t, daily{}, now, 10); !more || ended || err != nil {
		t.Errorf("a day is due: more %v, ended %v, %v", more, ended, err)
	}
	if want := []string{"Count", "Due", "lock", "Begin"}; !slices.Equal(c.calls, want) || c.company != "c" {
		t.Errorf("calls %q for %q, want %q", c.calls, c.company, want)
	}
	if c.count != due || !c.began.Equal(now) || !c.rounds.Again.Equal(now) {
		t.Errorf("began %v at %v, by rounds of %v", c.count, c.began, c.rounds.Again)
	}
	none := &counted{}
	if more, ended, err := none.step(t, daily{}, now, 10); more || ended || err != nil || len(none.calls) != 2 {
		t.Errorf("none is due: more %v, ended %v, %v, calls %q", more, ended, err, none.calls)
	}
}

// Each step looks at the next visitors, at most chunk, and the count ends behind the last.
func TestADayIsCountedChunkByChunk(t *testing.T) {
	t.Parallel()
	c := visitors(5)
	c.buys["v0001"] = true
	c.paths["v0003"] = nil // seen on another day
	var last []string
	for i, want := range []bool{false, false, true} {
		more, ended, err := c.step(t, daily{}, time.Time{}, 2)
		if !more || ended != want || err != nil {
			t.Fatalf("step %d: more %v, ended %v, %v", i, more, ended, err)
		}
		last = append(last, string(c.count.After))
	}
	if want := []string{"v0001", "v0003", "v0004"}; !slices.Equal(last, want) {
		t.Errorf("last visitors %q, want %q", last, want)
	}
	want := rollup.Steps{"": {"google": 3}, "google": {"instagram": 3}, "instagram": {"": 3}}
	if c.count.Journeys != 3 || c.count.LeftOut != 0 || !maps.EqualFunc(c.count.Steps, want, maps.Equal[map[string]int64, map[string]int64]) {
		t.Errorf("%d journeys, %d left out, %v, want 3, 0, %v", c.count.Journeys, c.count.LeftOut, c.count.Steps, want)
	}
	if calls := c.calls[len(c.calls)-1]; calls != "End" || slices.Contains(c.calls, "Due") || slices.Contains(c.calls, "lock") {
		t.Errorf("calls %q", c.calls)
	}
	if from, to, _ := (daily{}).PathEvents(day); !c.from.Equal(from) || !c.to.Equal(to) || c.most != 300 {
		t.Errorf("events from %v to %v, at most %d of a visitor", c.from, c.to, c.most)
	}
}

// A chunk that is exactly full may be the last: the next step finds nobody, and ends the count.
func TestACountEndsBehindAFullChunk(t *testing.T) {
	t.Parallel()
	c := visitors(2)
	if _, ended, err := c.step(t, daily{}, time.Time{}, 2); ended || err != nil {
		t.Fatalf("a full chunk: ended %v, %v", ended, err)
	}
	if _, ended, err := c.step(t, daily{}, time.Time{}, 2); !ended || err != nil || c.count.Journeys != 2 {
		t.Errorf("behind it: ended %v, %v, %d journeys", ended, err, c.count.Journeys)
	}
}

func TestFewVisitorsEventsAreInMemoryTogether(t *testing.T) {
	t.Parallel()
	c := visitors(450)
	if _, ended, err := c.step(t, daily{}, time.Time{}, 1000); !ended || err != nil {
		t.Fatalf("ended %v, %v", ended, err)
	}
	if want := []int{200, 200, 50}; !slices.Equal(c.reads, want) || c.count.Journeys != 450 {
		t.Errorf("reads of %v visitors, want %v; %d journeys", c.reads, want, c.count.Journeys)
	}
}

func TestWhoBoughtIsAskedOnlyWhereThereIsAPath(t *testing.T) {
	t.Parallel()
	c := visitors(3)
	c.paths = nil
	if _, ended, err := c.step(t, daily{}, time.Time{}, 10); !ended || err != nil || c.asked != 0 || slices.Contains(c.calls, "Bought") {
		t.Errorf("ended %v, %v, asked for %d", ended, err, c.asked)
	}
}

// Where the steps are full, a journey is counted, and said to be left out.
func TestAJourneyWithoutRoomIsCountedAndLeftOut(t *testing.T) {
	t.Parallel()
	c := visitors(2)
	long := make([]string, rollup.MaxSteps)
	for i := range long {
		long[i] = fmt.Sprint("channel", i)
	}
	c.paths["v0000"] = long // with the last step one too many
	if _, _, err := c.step(t, daily{}, time.Time{}, 10); err != nil || c.count.Journeys != 2 || c.count.LeftOut != 1 {
		t.Errorf("%v: %d journeys, %d left out, want 2 and 1", err, c.count.Journeys, c.count.LeftOut)
	}
}

func TestAFailedStepSaysWhatFailed(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Count", "Due", "lock", "Begin"} {
		c := &counted{fails: method, due: &nonconverting.Count{Day: day}}
		if _, ended, err := c.step(t, daily{}, time.Time{}, 10); !errors.Is(err, errPlanted) || ended || c.calls[len(c.calls)-1] != method {
			t.Errorf("%s: %v, ended %v, calls %q", method, err, ended, c.calls)
		}
	}
	for _, method := range []string{"VisitorsOfDay", "EventsBetween", "Bought", "GoOn", "End", "PathEvents", "NonConvertingPath"} {
		c, chunk := visitors(2), 10
		if c.fails = method; method == "GoOn" {
			chunk = 2
		}
		if _, _, err := c.step(t, daily{fails: method}, time.Time{}, chunk); !errors.Is(err, errPlanted) {
			t.Errorf("%s: %v", method, err)
		}
		if method != "GoOn" && method != "End" && (slices.Contains(c.calls, "End") || slices.Contains(c.calls, "GoOn")) {
			t.Errorf("%s failed, and the count was stored: %q", method, c.calls)
		}
	}
}
