package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// What other systems are told of an order is written with its outcome, in order, for active endpoints alone; a company without one has
// no rows.
func TestOutcomesAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 500, "10")
	o := s.owner()
	hours := 0
	send := func(id, code string, total int64) {
		t.Helper()
		hours++
		r := s.record(s.order(id, noon, total, func(o *wire.Order) {
			o.DiscountCode, o.EmailKey = wire.Some(code), wire.Some("k1:maria")
			o.UpdatedAt = wire.Some(noon.Add(time.Duration(hours) * time.Hour))
		}))
		r.Offset = o.next[r.topic]
		if err := o.applyRecords(s.ctx, []record{r}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(what string, lines ...string) {
		t.Helper()
		wantTexts(t, what, s.texts(`
			select concat_ws(' ', dense_rank() over (order by number), destination_id, key, type, data ->> 'state', data ->> 'total',
				data ->> 'commission', at = (select processed_at from payout p where p.order_id = data ->> 'orderId'))
			from outgoing order by number, destination_id`), lines...)
	}
	send("quiet", "ANA10", 10000)
	told("without an endpoint")
	for id, types := range map[string]string{"all": "{order.attributed,payout.changed,payout.review}", "paid": "{payout.changed}",
		"other": "{statement.paid}"} {
		s.exec(`insert into destination (company_id, destination_id, kind, state, since, name, url, types, secrets, created_at, next_at)
			values ($1, $2, 'webhook', 'active', now(), '', '', $3, '[]', now(), 'infinity')`, s.company, id, types)
	}
	send("nobodys", "", 5000)
	told("an order that is nobody's")
	send("hers", "ANA10", 10000)
	told("an order of hers", "1 all order:hers order.attributed earned 100 15 t", "2 all order:hers payout.changed earned 100 15 t",
		"2 paid order:hers payout.changed earned 100 15 t")
	send("hers", "ANA10", 10000)
	send("hers", "ANA10", 8000)
	told("less of it", "1 all order:hers order.attributed earned 100 15 t", "2 all order:hers payout.changed earned 100 15 t",
		"2 paid order:hers payout.changed earned 100 15 t", "3 all order:hers payout.changed earned 80 13 t",
		"3 paid order:hers payout.changed earned 80 13 t")
	wantTexts(t, "who is woken", s.texts(`select destination_id from destination where next_at < now() + interval '1 hour' order by 1`),
		"all", "paid")
	s.exec(`update destination set state = 'disabled'`)
	send("hers", "ANA10", 7000)
	send("hers", "", 7000)
	wantTexts(t, "of disabled ones", s.texts(`select count(distinct number)::text from outgoing`), "3")
	wantTexts(t, "a replay knows that it was hers",
		s.texts(`select concat_ws(' ', order_id, influencer_id is null, formerly) from payout order by 1`), "hers t t", "nobodys t", "quiet f")
}

// Networks look at an order when it is sold, sold for less, not sold any more, or proven after all, and at no old one. Who has no account
// at a network has no rows.
func TestNetworksLookAtWhatIsSold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 500, "10")
	o := s.owner()
	hours, today := 0, time.Now().Add(-time.Minute)
	send := func(id, code string, total int64, status int, created time.Time) {
		t.Helper()
		hours++
		r := s.record(s.order(id, created, total, func(o *wire.Order) {
			o.DiscountCode, o.EmailKey, o.Status = wire.Some(code), wire.Some("k1:maria"), status
			o.UpdatedAt = wire.Some(today.Add(time.Duration(hours) * time.Second))
		}))
		r.Offset = o.next[r.topic]
		if err := o.applyRecords(s.ctx, []record{r}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(what string, lines ...string) {
		t.Helper()
		wantTexts(t, what,
			s.texts(`select concat_ws(' ', destination_id, key, type, data) from outgoing order by number, destination_id`), lines...)
		s.exec(`delete from outgoing`)
	}
	add := func(id, kind, types string) {
		s.exec(`insert into destination (company_id, destination_id, kind, state, since, name, url, types, secrets, created_at, next_at)
			values ($1, $2, $3, 'active', now(), '', '', $4, '[]', now(), 'infinity')`, s.company, id, kind, types)
	}
	add("hook", "webhook", "{statement.paid}")
	send("hers", "ANA10", 10000, 0, today)
	told("without an account")
	add("proven", "meta", "{conversion.proven}")
	add("all", "ga4", "{conversion.proven,conversion.other}")
	both := func(id string) []string {
		return []string{`all order:` + id + ` conversion.proven {"orderId":"` + id + `"}`, `proven order:` + id +
			` conversion.proven {"orderId":"` + id + `"}`}
	}
	send("hers", "ANA10", 10000, 0, today)
	told("nothing new")
	send("hers", "ANA10", 9000, 0, today)
	told("sold for less", both("hers")...)
	send("hers", "ANA10", 9000, 2, today)
	told("cancelled", both("hers")...)
	send("later", "ANA10", 9000, 1, today)
	told("pending")
	send("later", "ANA10", 9000, 0, today)
	told("approved", both("later")...)
	send("nobodys", "", 5000, 0, today)
	told("nobody's", `all order:nobodys conversion.other {"orderId":"nobodys"}`)
	send("nobodys", "ANA10", 5000, 0, today)
	told("proven after all", both("nobodys")...)
	send("anybodys", "", 5000, 0, today)
	told("another of nobody's", `all order:anybodys conversion.other {"orderId":"anybodys"}`)
	less := []string{`all order:anybodys conversion.less {"orderId":"anybodys"}`,
		`proven order:anybodys conversion.less {"orderId":"anybodys"}`}
	send("anybodys", "", 4000, 0, today)
	told("sold for less: an account may have been told of it when it was told of all", less...)
	send("anybodys", "", 4000, 2, today)
	told("cancelled", less...)
	send("old", "ANA10", 5000, 0, today.AddDate(0, 0, -40))
	told("an old one")
	send("old", "ANA10", 6000, 0, today.AddDate(0, 0, -40))
	told("an old one, sold for more")
	send("old", "ANA10", 4000, 0, today.AddDate(0, 0, -40))
	told("of an old one something was given back", both("old")...)
	send("old", "ANA10", 4000, 2, today.AddDate(0, 0, -40))
	told("an old one was cancelled", both("old")...)
	send("oldest", "ANA10", 4000, 0, today.AddDate(0, 0, -200))
	send("oldest", "ANA10", 4000, 2, today.AddDate(0, 0, -200))
	told("one that is too old for that, too")
}
