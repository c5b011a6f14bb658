package sqlrules_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/postgres/sqlrules"
)

// small is a catalogue of two tables of a store's data and two of the control plane.
var small = &sqlrules.Catalog{
	StoreData:  map[string]bool{"orders": true, "payout": true},
	HasCompany: map[string]bool{"orders": true, "payout": true, "company": true, "short_code": true},
	Volatility: map[string]string{"now": "s", "clock_timestamp": "v", "to_char": "s", "lower": "i", "unnest": "i", "count": "i", "max": "i", "sum": "i"},
}

func TestCheck(t *testing.T) {
	f := func(sql string, want ...int) {
		t.Helper()
		violations, err := small.Check(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			return
		}
		var got []int
		for _, v := range violations {
			got = append(got, v.Rule)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nbreaks %v, want %v", sql, violations, want)
		}
	}
	// Rule 2: the company is bound.
	f(`select * from orders where company_id = $1 and order_id = any($2)`)
	f(`select * from orders o where $1::text = o.company_id`)
	f(`select * from orders where (company_id, order_id) = ($1, $2)`)
	f(`select * from orders`, 2)
	f(`select * from orders where company_id = any($1)`, 2)
	f(`select * from orders where company_id > $1 order by company_id limit 1`, 2)
	f(`select * from orders where company_id = 'c_1'`, 2)
	f(`select * from orders where company_id = $1 or order_id = $2`, 2)
	f(`select * from orders where not company_id = $1`, 2)
	f(`select * from company where currency = $1`)
	f(`select * from company c join short_code s using (company_id)`)
	f(`select * from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id where o.company_id = $1`)
	f(`select * from orders o left join payout p on p.order_id = o.order_id where o.company_id = $1`, 2)
	f(`select * from orders o join payout p using (company_id, order_id) where p.company_id = $1`)
	f(`select * from orders o join payout p using (order_id) where p.company_id = $1`, 2)
	f(`select * from short_code s join orders o on o.company_id = s.company_id where s.code = $1`, 2)
	f(`select * from short_code s join orders o on o.company_id = s.company_id where s.company_id = $1`)
	f(`select * from unnest($1::text[]) as u (company_id) join orders o on o.company_id = u.company_id`, 2)
	f(`select * from unnest($1::text[]) as u (id), lateral (select * from orders o where o.company_id = $2 and o.order_id = u.id) x`)
	f(`select * from unnest($1::text[]) as u (id), lateral (select * from orders o where o.order_id = u.id) x`, 2)
	f(`select (select count(*) from payout p where p.company_id = o.company_id) from orders o where o.company_id = $1`)
	f(`select (select count(*) from payout p) from orders o where o.company_id = $1`, 2)
	f(`select 1 where exists (select from orders)`, 2)
	f(`with o as (select * from orders where company_id = $1) select * from o join payout p on p.company_id = o.company_id`)
	f(`with o as (select * from orders) select * from o`, 2)
	f(`with recursive o as (select order_id from orders where company_id = $1 union select p.order_id from o join payout p on p.order_id = o.order_id) select * from o`, 2)
	f(`select 1 from orders where company_id = $1 union all select 1 from payout`, 2)
	f(`delete from orders where order_id = $1`, 2)
	f(`delete from orders o using payout p where p.company_id = o.company_id and o.company_id = $1`)
	f(`update orders set status = 1 where order_id = $1`, 2)
	f(`update orders o set status = u.status from unnest($2::text[], $3::int[]) as u (id, status) where o.company_id = $1 and o.order_id = u.id`)
	f(`merge into orders o using payout p on true when matched then delete`, 2)
	f(`insert into orders (company_id, order_id) values ($1, $2)`)
	f(`insert into orders (order_id) values ($1)`, 2)
	f(`insert into orders (company_id, order_id) values ('c', $1)`, 2)
	f(`insert into orders (company_id, order_id) select $1, id from unnest($2::text[]) as u (id) on conflict do nothing`)
	f(`insert into orders (company_id, order_id) select company_id, id from unnest($1::text[], $2::text[]) as u (company_id, id) on conflict do nothing`, 7)
	// Rule 4: nothing is computed that machines could compute differently.
	f(`update orders set at = now() where company_id = $1 and at < now()`)
	f(`update orders set at = clock_timestamp() where company_id = $1`, 4)
	f(`update company set at = clock_timestamp() where company_id = $1 returning clock_timestamp()`)
	f(`update orders set day = $2::date where company_id = $1`)
	f(`update orders o set day = u.day::date from unnest($2::text[]) as u (day) where o.company_id = $1`, 4)
	f(`update orders set status = 1 where company_id = $1 and to_char(day, 'YYYY') = $2`, 4)
	f(`update orders set status = 1 where company_id = $1 returning to_char(day, 'YYYY')`, 4)
	f(`update orders set status = 1 where company_id = $1 returning order_id, lower(period)`)
	f(`update orders set status = 1 where company_id = $1 returning body::text`, 4)
	f(`delete from orders where company_id = $1 returning body::text`, 4)
	f(`insert into orders (company_id, at) values ($1, clock_timestamp()) returning at`)
	f(`insert into orders (company_id, at) values ($1, $2) on conflict (company_id) do update set at = now() where orders.at < excluded.at`)
	f(`insert into orders (company_id, at) values ($1, $2) on conflict (company_id) do update set at = excluded.at where orders.at < now()`, 4)
	f(`insert into orders (company_id, at) values ($1, $2) on conflict (company_id) do update set at = excluded.at where orders.at < current_timestamp`, 4)
	f(`insert into orders (company_id, at) values ($1, $2) on conflict (company_id) do update set at = clock_timestamp()`, 4)
	f(`update orders set at = of_an_extension() where company_id = $1`, 4)
	// Rule 1: no row changes its company.
	f(`update orders set company_id = $2 where company_id = $1`, 1)
	f(`insert into orders (company_id, at) values ($1, $2) on conflict (order_id) do update set company_id = excluded.company_id`, 1)
	// Rule 5: several rows have ON CONFLICT.
	f(`insert into orders (company_id, order_id) values ($1, $2), ($1, $3)`, 5)
	f(`insert into orders (company_id, order_id) select $1, id from unnest($2::text[]) as u (id)`, 5)
	f(`insert into company (company_id) select id from unnest($2::text[]) as u (id)`)
	// Rule 7: insert … select between tables takes the company from its source.
	f(`insert into payout (company_id, order_id) select company_id, order_id from orders where company_id = $1 on conflict do nothing`)
	f(`insert into payout (company_id, order_id) select o.company_id, u.id from orders o join unnest($2::text[]) as u (id) on true where o.company_id = $1 on conflict do nothing`)
	f(`insert into payout (company_id, order_id) select $1, order_id from orders where company_id = $1 on conflict do nothing`, 7)
	f(`with gone as (delete from orders where company_id = $1 returning company_id, order_id) insert into payout (company_id, order_id) select company_id, order_id from gone on conflict do nothing`)
	f(`insert into payout (company_id) select company_id from orders where company_id = $1 union all select $1 from orders where company_id = $1 on conflict do nothing`, 7)
	// What is no statement on rows.
	f(`begin`)
	f(`create table x (y int)`)
	if _, err := small.Check(`select from where`); err == nil {
		t.Error("what is no SQL was read")
	}
}

func TestInsertsMany(t *testing.T) {
	f := func(sql string, want bool) {
		t.Helper()
		if got, err := small.InsertsMany(sql); err != nil || got != want {
			t.Errorf("%s: %t, %v; want %t", sql, got, err, want)
		}
	}
	f(`insert into orders (company_id) values ($1)`, false)
	f(`insert into orders (company_id) values ($1), ($2)`, true)
	f(`insert into orders (company_id) select $1 from unnest($2::int[])`, true)
	f(`insert into company (company_id) select $1 from unnest($2::int[])`, false)
	f(`with x as (insert into orders (company_id) select $1 from unnest($2::int[]) returning 1) select * from x`, true)
}

func TestCallsListsEveryPlaceThatSendsAStatement(t *testing.T) {
	calls, err := sqlrules.Calls(".", "./testdata/calls")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s:%d %s constant=%t queued=%t counted=%t local=%s name=%t",
			path.Base(c.File), c.FromLine, c.Function, c.SQL != "", c.Queued, c.RowsCounted, c.Local, c.ReadsName))
	}
	want := []string{
		"calls.go:16 constant constant=true queued=false counted=false local= name=false",
		"calls.go:17 constant constant=true queued=false counted=true local= name=false",
		"calls.go:27 queued constant=true queued=true counted=false local= name=false",
		"calls.go:28 queued constant=false queued=false counted=false local= name=false",
		"calls.go:33 ended constant=false queued=false counted=false local= name=false",
		"calls.go:37 callers constant=true queued=false counted=false local= name=false",
		"calls.go:38 callers constant=true queued=false counted=false local= name=false",
		"calls.go:47 local constant=false queued=false counted=false local=sql name=false",
		"calls.go:50 local constant=false queued=false counted=false local=sql name=false",
		"calls.go:57 named constant=false queued=false counted=false local= name=true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
