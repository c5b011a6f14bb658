package upgrade

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove/balance"
)

// roll is two of each service before one Kafka and PostgreSQL, and the load on them.
type roll struct {
	*stand
	services     []*service
	edges, admin *balance.Balancer
	load         *load
	outcome      rolled
}

// rolled is what a roll saw.
type rolled struct {
	Restarts, Events, Orders int
	Answered, Refused        int64
	Hash                     string
	Lasted                   time.Duration
	Problems                 []string
}

func (o *rolled) wrong(format string, args ...any) {
	if len(o.Problems) < mostOdd {
		o.Problems = append(o.Problems, fmt.Sprintf(format, args...))
	}
}

// between is how long the load goes on between two stops beside the restarts.
const between = 3 * time.Second

// Roll migrates under load, and rolls the services forward, back and forward.
func (s *stand) Roll(ctx context.Context) (o rolled, err error) {
	r := &roll{stand: s}
	defer r.close()
	if err := r.begin(ctx); err != nil {
		return o, err
	}
	began := time.Now()
	for _, stop := range []struct {
		name string
		do   func() error
		by   []string // programs that verify then
	}{
		{"the version before", func() error { return nil }, []string{s.former}},
		{"migrated", func() error { return s.migrate(ctx, s.now) }, []string{s.former, s.now}},
		{"forward", func() error { return r.to(ctx, s.now) }, []string{s.former, s.now}},
		{"back", func() error { return r.to(ctx, s.former) }, []string{s.former, s.now}},
		{"forward again", func() error { return r.to(ctx, s.now) }, []string{s.now}},
	} {
		s.say("  %s", stop.name)
		if err := r.load.begin(ctx); err != nil {
			return o, err
		}
		background.Sleep(ctx, between)
		err := stop.do()
		background.Sleep(ctx, between)
		if err := errors.Join(err, r.load.end(ctx)); err != nil {
			return o, fmt.Errorf("%s: %w", stop.name, err)
		}
		if err := r.check(ctx, stop.name, stop.by); err != nil {
			return o, fmt.Errorf("%s: %w", stop.name, err)
		}
	}
	o = r.outcome
	o.Lasted, o.Events, o.Orders = time.Since(began), len(r.load.events), len(r.load.orders)
	o.Problems = append(o.Problems, r.load.odd...)
	for _, b := range []*balance.Balancer{r.edges, r.admin} {
		o.Answered += b.Answered.Load()
		if n := b.Refused.Load() + b.Failed.Load(); n > 0 {
			o.Refused += n
			o.wrong("%d refused, first %s", n, b.First())
		}
	}
	if o.Events == 0 || o.Orders == 0 {
		o.wrong("%d events and %d orders: there was no load", o.Events, o.Orders)
	}
	return o, nil
}

// begin starts all services by the program of before, and an influencer whose code all orders have.
func (r *roll) begin(ctx context.Context) error {
	addrs, err := kafkadist.FreeAddrs(10)
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, r.former, "connect", "key", "create"); err != nil {
		return err
	}
	edges, admins := addrs[8], addrs[9]
	for n, kind := range []string{"edge", "admin", "processor", "connect"} {
		for i := range 2 {
			v := &service{stand: r.stand, name: fmt.Sprint(kind, "-", i+1), addr: addrs[2*n+i]}
			v.args = map[string][]string{
				"edge":      {"edge", "--spool", fmt.Sprintf("%s/spool-%d", r.dir, i)},
				"admin":     {"admin", "--short-base", "http://" + edges + "/s"},
				"processor": {"processor"},
				"connect":   {"connect", "--admin-url", "http://" + admins, "--contact", "ops@example.com"},
			}[kind]
			r.services = append(r.services, v)
			if err := v.start(ctx, r.former); err != nil {
				return err
			}
		}
	}
	if r.edges, err = balance.New(ctx, edges, addrs[0], addrs[1]); err != nil {
		return err
	}
	if r.admin, err = balance.New(ctx, admins, addrs[2], addrs[3]); err != nil {
		return err
	}
	for n, v := range r.services[:4] {
		if err := r.balanced(ctx, n, v); err != nil {
			return err
		}
	}
	r.load = &load{company: r.company, key: r.key, edge: r.edges.URL, admin: r.admin.URL, pace: 50 * time.Millisecond}
	return r.load.post(ctx, "/admin/v1/influencers", `{"name":"Ana Prado","coupon_only":true,
		"coupons":[{"cupom":"ANA10","start_date":"2020-01-01"}],"costs":[{"var_fee":10,"start_date":"2020-01-01"}]}`)
}

// to replaces each service, one after the other.
func (r *roll) to(ctx context.Context, program string) error {
	for n, v := range r.services {
		if err := v.replace(ctx, program); err != nil {
			return err
		}
		r.outcome.Restarts++
		// The next one ends once this one gets requests.
		if err := r.balanced(ctx, n, v); err != nil {
			return err
		}
	}
	return nil
}

// balanced returns once the balancer leads to a service, the n-th; those that have none return at once.
func (r *roll) balanced(ctx context.Context, n int, v *service) error {
	if n/2 >= 2 {
		return nil
	}
	b := []*balance.Balancer{r.edges, r.admin}[n/2]
	return until(ctx, "the balancer has "+v.name, func() (bool, error) { return b.Has(v.addr), v.alive() })
}

// check waits until all that was acknowledged is processed, and compares.
func (r *roll) check(ctx context.Context, stop string, programs []string) error {
	for _, v := range r.services {
		if err := v.alive(); err != nil {
			return err
		}
	}
	one := func(query string, ids []string) (n int, err error) {
		list, err := postgres.Collect(ctx, r.db.Pool(), pgx.RowTo[int], query, r.company, ids)
		if err != nil {
			return 0, err
		}
		return list[0], nil
	}
	const (
		stored   = `select count(*)::int from event_fact where company_id = $1 and event_id = any($2::text[]::uuid[])`
		computed = `select count(*)::int from payout where company_id = $1 and order_id = any($2)`
		once     = `select count(*)::int from (
			select order_id from ledger_entry where company_id = $1 and order_id = any($2)
			group by order_id having count(*) = 1 and sum(amount_minor) = 1000) o`
		others = `select count(*)::int from ledger_entry where company_id = $1 and order_id <> all($2)`
	)
	events, orders := 0, 0
	err := until(ctx, "all is processed", func() (done bool, err error) {
		if events, err = one(stored, r.load.events); err == nil {
			orders, err = one(computed, r.load.orders)
		}
		return events == len(r.load.events) && orders == len(r.load.orders), err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		r.outcome.wrong("%s: of %d events and %d orders that were acknowledged %d and %d are there", stop, len(r.load.events),
			len(r.load.orders), events, orders)
	} else if err != nil {
		return err
	}
	credited, err := one(once, r.load.orders)
	if err != nil {
		return err
	}
	if credited != len(r.load.orders) {
		r.outcome.wrong("%s: %d of %d orders are credited exactly once", stop, credited, len(r.load.orders))
	}
	if n, err := one(others, r.load.orders); err != nil || n > 0 {
		r.outcome.wrong("%s: %d entries of other orders, %v", stop, n, err)
	}
	r.outcome.Hash = ""
	for _, program := range programs {
		hash, err := r.verify(ctx, program)
		switch {
		case err != nil:
			r.outcome.wrong("%s: %v", stop, err)
		case r.outcome.Hash != "" && r.outcome.Hash != hash:
			r.outcome.wrong("%s: the two versions' ledgers differ: %s and %s", stop, r.outcome.Hash, hash)
		}
		r.outcome.Hash = hash
	}
	return nil
}

func (r *roll) close() {
	for _, b := range []*balance.Balancer{r.edges, r.admin} {
		if b != nil {
			b.Close()
		}
	}
	for _, v := range r.services {
		if v.process != nil {
			v.process.Stop(patience, syscall.SIGKILL)
		}
	}
}
