package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Ids that can be guessed were proofs before migration 0064. It makes them claims, so that they
// join as those of new events and orders do, and queues all orders.
func TestIdsOfBeforeThatCanBeGuessedBecomeClaims(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	const ofName, ofNumber = "886313e1-3b8a-5372-9b90-0c9aee199e5d", "00000000-0000-4000-8000-00000000002a"
	as := func(id string) func(e *wire.Event) { return func(e *wire.Event) { e.VisitorID = id } }
	j.run(func(j *journey) {
		j.sees("", hours, of("ana+prado"), as(ofName))
		j.buys(func(o *wire.Order) { o.VisitorID = wire.Some(ofName) })
		j.records = append(j.records, j.record(j.order("o2", noon, 500, func(o *wire.Order) { o.VisitorID = wire.Some(ofNumber) })))
		j.sees("v", hours, secret)
		j.records = append(j.records, j.record(j.order("o3", noon.Add(time.Hour), 500, func(o *wire.Order) { o.VisitorID = wire.Some(visitorID("v")) })))
		j.sees("", hours, guessable)
	})
	stored := func() []string {
		return j.texts(`select concat_ws(' ', 's', kind, encode(key, 'hex'), slot, encode(visitor, 'hex')) from sighting
			union all select concat_ws(' ', 'o', kind, encode(key, 'hex'), order_id, hub, digest) from order_key order by 1`)
	}
	kinds := func() []string {
		return j.texts(`select kind || ' ' || count(*) from (select kind from sighting union all select kind from order_key) k where kind in (3, 10) group by kind order by kind`)
	}
	want, outcomes := stored(), j.outcomes()
	wantTexts(t, "kinds", kinds(), "3 2", "10 4")
	up := j.takeBack(64)
	wantTexts(t, "kinds of before", kinds(), "3 5", "10 1")
	up()
	wantTexts(t, "keys and sightings", stored(), want...)
	wantTexts(t, "queued", j.texts(`select concat_ws(' ', cause, (select count(*) from orders o where o.created_at between lo and hi and (o.created_at, o.order_id) < (before_at, before_id)))
		from recompute_span join recompute_company using (company_id)`), "upgrade 3")
	j.workOff()
	if got := j.outcomes(); got != outcomes {
		t.Error(firstDifference(got, outcomes))
	}
	if n := j.int(`select count(*) from recompute_span`); n != 0 {
		t.Errorf("%d spans are left", n)
	}
}
