package processor

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	pgpreview "github.com/tributary-io/tributary/internal/postgres/preview"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/wire"
)

// previewer makes previews of the shop that no clock cuts.
func (s *shop) previewer(limits preview.Limits) *preview.Previewer {
	limits.Time = cmp.Or(limits.Time, time.Hour)
	return preview.New(pgpreview.New(s.db), limits)
}

// wholeDatabase is every row of every table, with the transaction that wrote it.
func (s *shop) wholeDatabase() string {
	s.t.Helper()
	var b strings.Builder
	for _, table := range s.texts(`
		select format('%I.%I', table_schema, table_name) from information_schema.tables
		where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`) {
		if strings.Contains(table, "_p2") { // a partition: its rows are the whole table's too
			continue
		}
		b.WriteString(table + "\n" + strings.Join(s.texts(`select t::text from `+table+` t order by 1`), "\n") + "\n")
	}
	return b.String()
}

// told hands the processor what the outbox has for it, as the relay and Kafka would, and
// computes all that this queues.
func (s *shop) told() {
	s.t.Helper()
	o := s.owner()
	var records []record
	for _, value := range s.texts(`delete from outbox where topic = 'commerce.v1' returning convert_from(value, 'UTF8')`) {
		records = append(records,
			record{topic: wire.TopicCommerce, Fetched: wire.Fetched{Record: wire.Record{Key: []byte(s.company), Value: []byte(value)}}})
	}
	for i := range records {
		records[i].Offset = o.next[wire.TopicCommerce] + int64(i)
	}
	if len(records) > 0 {
		if err := o.applyRecords(s.ctx, records); err != nil {
			s.t.Fatal(err)
		}
	}
	s.workOff()
}

// netKey names a net amount of an order: all but the touch, which a preview sums over.
type netKey struct {
	order, kind, of, influencer, currency string
}

// nets are the shop's net amounts.
func (s *shop) nets() map[netKey]decimal.Decimal {
	s.t.Helper()
	sums := map[netKey]decimal.Decimal{}
	err := replay.InSnapshot(s.ctx, s.db, func(live *replay.Snapshot) error {
		for n, err := range live.Nets(s.ctx) {
			if err != nil {
				return err
			}
			key := netKey{n.OrderID, string(n.Kind), n.Of, n.InfluencerID, n.Currency}
			amount, err := decimal.NewFromString(n.AmountMinor)
			if err != nil {
				return err
			}
			sums[key] = sums[key].Add(amount)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return sums
}

// influencerNames are the shop's influencers' names by id.
func (s *shop) influencerNames() map[string]string {
	names := map[string]string{}
	for _, line := range s.texts(`select influencer_id || ' ' || name from influencer where company_id = $1`, s.company) {
		id, name, _ := strings.Cut(line, " ")
		names[id] = name
	}
	return names
}

// difference is what changed between net amounts, without what is zero: of payouts by
// order, of credits and the ledger over all orders.
func difference(before, after map[netKey]decimal.Decimal, label func(id string) string) map[netKey]string {
	sums := map[netKey]decimal.Decimal{}
	add := func(nets map[netKey]decimal.Decimal, sign int64) {
		for k, amount := range nets {
			if k.kind != string(ledger.NetPayout) {
				k.order = ""
				if k.kind == string(ledger.NetEntry) {
					k.of = "" // a preview sums over costs and days
				}
			} else if !isAmount(facts.PayoutState(k.of)) {
				continue
			}
			k.influencer = label(k.influencer)
			sums[k] = sums[k].Add(amount.Mul(decimal.NewFromInt(sign)))
		}
	}
	add(before, -1)
	add(after, 1)
	return written(sums)
}

func isAmount(state facts.PayoutState) bool {
	return state == facts.PayoutEarned || state == facts.PayoutExpected || state == facts.PayoutReview
}

// written leaves out what is zero.
func written(sums map[netKey]decimal.Decimal) map[netKey]string {
	texts := map[netKey]string{}
	for k, amount := range sums {
		if !amount.IsZero() {
			texts[k] = amount.String()
		}
	}
	return texts
}

// foretold is an answer in the form of difference.
func foretold(a *preview.Answer, label func(id string) string) map[netKey]string {
	sums := map[netKey]decimal.Decimal{}
	add := func(k netKey, minor decimal.Decimal) {
		k.influencer = label(k.influencer)
		sums[k] = sums[k].Add(minor)
	}
	for _, m := range a.Moves {
		for _, side := range []struct {
			share *preview.Share
			sign  int64
		}{{m.From, -1}, {m.To, 1}} {
			if side.share != nil && isAmount(side.share.State) {
				add(netKey{m.OrderID, string(ledger.NetPayout), string(side.share.State), side.share.InfluencerID, m.Currency},
					side.share.Amount.Minor.Mul(decimal.NewFromInt(side.sign)))
			}
		}
	}
	for _, t := range a.Totals {
		if t.State == facts.PayoutEarned {
			add(netKey{"", string(ledger.NetEntry), "", t.InfluencerID, t.Currency}, t.Amount.Minor)
		}
	}
	for _, c := range a.Credit {
		add(netKey{"", string(ledger.NetCredit), c.Model, c.InfluencerID, c.Currency}, c.Amount.Minor)
	}
	return written(sums)
}

// seeded makes the same ids and codes again from the same seed.
func seeded(seed uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

// randomChange is a change of rules that a merchant might make. The same seed makes the
// same one.
func (s *shop) randomChange(rules *merchant.Store, seed uint64) (name string, change preview.Change) {
	r := rand.New(rand.NewPCG(seed, 21))
	author := commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}
	pick := func(list []string) string {
		if len(list) == 0 {
			return "00000000-0000-4000-8000-000000000000" // of nothing: the change is refused
		}
		return list[r.IntN(len(list))]
	}
	campaigns := s.texts(`select campaign_id from campaign where company_id = $1 and archived_at is null order by name`, s.company)
	names := []string{"Ana Prado", "Beto Lima", "Nobody"}
	day := func() string { return pick([]string{"", "2026-03-10", "2026-03-11", "2026-04-08", "2026-12-01"}) }
	period := func() (from, to string) {
		from, to = day(), day()
		if from != "" && to != "" && from > to {
			from, to = to, from
		}
		return from, to
	}
	terms := func() commerce.CostTerms {
		from, to := period()
		return commerce.CostTerms{FixedFeeMinor: int64(r.IntN(3)) * 150, VarFee: decimal.New(int64(1+r.IntN(200)), -1),
			StartDate: cmp.Or(from, "2020-01-01"), EndDate: to, CouponCost: r.IntN(3) == 0}
	}
	name = pick([]string{"coupon.create", "coupon.create", "coupon.delete", "cost.create", "cost.create", "cost.delete",
		"influencer.create", "influencer.archive", "unproven", "settings", "hosts", "evidence", "evidence", "evidence"})
	if seed%15 == 14 { // TestARenamedInfluencerKeepsItsVisits moves orders by one
		name = "influencer.rename"
	}
	switch name {
	case "coupon.create":
		campaign, code := pick(campaigns), pick([]string{"OTHER", "X", "ANA10", "NEW"})
		from, to := period()
		return name, func(ctx context.Context) error {
			_, err := rules.AddCoupon(ctx, author, campaign, commerce.CouponTerms{Code: code, StartDate: from, EndDate: to}, seeded(seed))
			return err
		}
	case "coupon.delete":
		campaign, code := pick(campaigns), pick([]string{"OTHER", "BETO", "ANA10"})
		return name, func(ctx context.Context) error {
			_, err := rules.DeleteCoupon(ctx, author, campaign, code)
			return err
		}
	case "cost.create":
		of, t := pick(names[:2]), terms()
		return name, func(ctx context.Context) error {
			_, _, err := rules.AddCost(ctx, author, of, "", t, seeded(seed))
			return err
		}
	case "cost.delete":
		id := pick(s.texts(`select cost_id::text from cost where company_id = $1 order by cost_id`, s.company))
		return name, func(ctx context.Context) error { return rules.DeleteCost(ctx, author, id, false) }
	case "influencer.create":
		registration := commerce.Registration{Name: pick(names), Campaign: pick([]string{"Inverno", "x", "Novo"}),
			Links: []string{"https://loja.example.com/"}, Costs: []commerce.CostTerms{terms()},
			Coupons: []commerce.CouponTerms{{Code: pick([]string{"OTHER", "FRESH"})}}}
		return name, func(ctx context.Context) error {
			_, err := rules.RegisterInfluencer(ctx, author, registration, seeded(seed))
			return err
		}
	case "influencer.archive":
		who := pick(names)
		return name, func(ctx context.Context) error {
			_, err := rules.ArchiveInfluencer(ctx, author, who, "")
			return err
		}
	case "influencer.rename":
		who, to := pick(names[:2]), pick([]string{"Ana Prado", "Carla", "Nobody"})
		return name, func(ctx context.Context) error {
			return rules.UpdateInfluencer(ctx, author, who, commerce.InfluencerChange{Name: to})
		}
	case "unproven":
		who, unproven := pick(names[:2]), pick([]string{"", commerce.UnprovenPay, commerce.UnprovenIgnore})
		return name, func(ctx context.Context) error { return rules.SetUnproven(ctx, author, who, unproven) }
	case "settings":
		window, rule, hold := 1+r.IntN(40), pick(commerce.PayoutRules), r.IntN(30)
		return name, func(ctx context.Context) error {
			_, _, err := rules.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: s.company, Actor: "test", Change: func(c *commerce.Settings) {
				c.WindowDays, c.PayoutRule, c.HoldDays = window, rule, hold
			}})
			return err
		}
	case "hosts": // not dated: it moves orders of the past
		hosts := []string{pick([]string{"www.google.com", "loja.example.com"})}
		return name, func(ctx context.Context) error {
			_, _, err := rules.ChangeSettings(ctx,
				commerce.SettingsChange{CompanyID: s.company, Actor: "test", Change: func(c *commerce.Settings) { c.Hosts = hosts }})
			return err
		}
	default:
		d := commerce.EvidenceDecision{OrderID: fmt.Sprint("o", r.IntN(14)), InfluencerID: pick(s.influencers),
			Decision: pick(commerce.EvidenceDecisions),
			Touches:  s.texts(`select event_id::text from event_fact order by event_id limit 20`)}
		if named := s.texts(`select order_id || ' ' || influencer_id from payout where evidence = 'link' order by 1`); len(named) > 0 &&
			r.IntN(4) > 0 {
			d.OrderID, d.InfluencerID, _ = strings.Cut(pick(named), " ")
		}
		return name, func(ctx context.Context) error { return rules.DecideEvidence(ctx, author, d) }
	}
}

// What a preview says is what the change then does: to each order's payout, to the
// ledger and to channel credit. And a preview leaves the database as it was.
func TestAPreviewSaysWhatTheChangeThenDoes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rules := merchant.New(s.db)
	moved, changes := map[string]int{}, 0
	for seed := range uint64(90) {
		r := rand.New(rand.NewPCG(seed, 31))
		if seed%15 == 0 { // a new shop
			s.clear()
			s.exec(`truncate influencer_unproven, former_name, past_setting, link, coupon, cost, campaign, influencer, short_code`)
			s.exec(`delete from outbox`)
			s.influencers = nil
			ana, inverno := s.influencer("Ana Prado", "Inverno")
			beto, verao := s.influencer("Beto Lima", "Verão")
			s.coupon(ana, inverno, "ANA10")
			s.coupon(beto, verao, "BETO")
			s.cost(ana, inverno, 100, "7.5")
			s.cost(beto, "", 0, "3")
			s.newFields = true
			list := s.randomFacts(r)
			for n := range 6 { // orders of the days to come: what is dated from now on concerns them
				list = append(list, s.record(s.order(fmt.Sprint("o", 12+n), time.Now().AddDate(0, 0, 1+n).Truncate(time.Second), 10_000,
					func(o *wire.Order) {
						o.DiscountCode = wire.Some([]string{"ANA10", "BETO", "OTHER"}[n%3])
					})))
			}
			s.apply(list, func() int { return 40 })
			s.exec(`update company set rules_rev = greatest(rules_rev, (select max(rev) from evidence_decision))`) // of before
		}
		name, change := s.randomChange(rules, seed)
		was := s.wholeDatabase()
		before, known := s.nets(), s.influencerNames()
		answer, err := s.previewer(preview.Limits{}).Preview(s.ctx, s.company, change)
		if is := s.wholeDatabase(); is != was {
			t.Fatalf("seed %d: the preview of %s wrote: %s", seed, name, firstDifference(is, was))
		}
		if really := change(s.ctx); err != nil || really != nil {
			if fmt.Sprint(really) != fmt.Sprint(err) {
				t.Fatalf("seed %d: the preview of %s ended with %v, the change with %v", seed, name, err, really)
			}
			continue
		}
		s.told()
		changes++
		// The influencer that a change makes has another id each time it is made.
		label := func(id string) string {
			if id != "" && known[id] == "" {
				return "the new one"
			}
			return id
		}
		want, got := difference(before, s.nets(), label), foretold(answer, label)
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: %s: the preview says\n%v\nand the change did\n%v\n%+v", seed, name, got, want, answer)
		}
		if answer.Cut != "" || answer.Orders.Computed != answer.Orders.Concerned || answer.Orders.LeftOut != 0 {
			t.Fatalf("seed %d: %s: %+v", seed, name, answer.Orders)
		}
		moved[name] += answer.Orders.Moved + answer.Orders.Credited
	}
	for _, name := range []string{"coupon.create", "coupon.delete", "cost.create", "cost.delete", "influencer.create", "influencer.archive",
		"hosts", "settings", "evidence"} {
		if moved[name] == 0 {
			t.Errorf("no change of kind %s moved anything: the test says nothing of it (%d changes, %v)", name, changes, moved)
		}
	}
}

// A change that is refused is refused in its preview, and leaves nothing.
func TestAPreviewIsRefusedAsTheChangeIs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	rules, author := merchant.New(s.db), commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}
	was := s.wholeDatabase()
	_, err := s.previewer(preview.Limits{}).Preview(s.ctx, s.company, func(ctx context.Context) error {
		_, err := rules.AddCoupon(ctx, author, inverno, commerce.CouponTerms{Code: "ANA10"}, seeded(1))
		return err
	})
	var conflict *commerce.CouponConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Influencer != "Ana Prado" {
		t.Errorf("a coupon that overlaps another: %v", err)
	}
	if _, err := s.previewer(preview.Limits{}).Preview(s.ctx, "c_nobody", func(context.Context) error {
		return nil
	}); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an unknown company: %v", err)
	}
	if s.wholeDatabase() != was {
		t.Error("a refused preview wrote")
	}
}

// Of more orders than are computed the newest are, and all are counted; where the time
// is over, that is said too.
func TestAPreviewIsBoundedAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, inverno := s.influencer("Ana Prado", "Inverno")
	var records []record
	for i := range 120 {
		records = append(records,
			s.record(s.order(fmt.Sprintf("o%03d", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) {
				o.DiscountCode = wire.Some("ANA10")
			})))
	}
	s.apply(records, func() int { return 60 })
	rules, author := merchant.New(s.db), commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}
	change := func(ctx context.Context) error {
		_, err := rules.AddCoupon(ctx, author, inverno, commerce.CouponTerms{Code: "ANA10"}, seeded(1))
		return err
	}
	f := func(name string, limits preview.Limits, want preview.Orders, cut string, moves int) {
		t.Helper()
		a, err := s.previewer(limits).Preview(s.ctx, s.company, change)
		if err != nil {
			t.Fatal(err)
		}
		if a.Orders != want || a.Cut != cut || len(a.Moves) != moves {
			t.Errorf("%s: %+v, cut by %q, %d moves; want %+v, %q, %d", name, a.Orders, a.Cut, len(a.Moves), want, cut, moves)
		}
		if moves > 0 && !a.Orders.More && a.Moves[0].OrderID != "o119" {
			t.Errorf("%s: the first move is of %s, want the newest order's", name, a.Moves[0].OrderID)
		}
	}
	f("all", preview.Limits{}, preview.Orders{Concerned: 120, Computed: 120, Moved: 120, Credited: 120}, "", 120)
	f("too many orders", preview.Limits{Orders: 70}, preview.Orders{Concerned: 120, Computed: 70, LeftOut: 50, Moved: 70, Credited: 70},
		preview.CutOrders, 70)
	f("too many moves", preview.Limits{Moves: 7}, preview.Orders{Concerned: 120, Computed: 120, Moved: 120, Credited: 120}, "", 7)
	f("too many to count", preview.Limits{Orders: 10, Counted: 100},
		preview.Orders{Concerned: 100, More: true, Computed: 10, LeftOut: 90, Moved: 10, Credited: 10}, preview.CutOrders, 10)
	f("no time", preview.Limits{Time: time.Nanosecond}, preview.Orders{Concerned: 120, LeftOut: 120}, preview.CutTime, 0)
}

// A preview waits for its turn, and not for ever.
func TestOnlySoManyPreviewsRunAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.previewer(preview.Limits{AtOnce: 1, Wait: time.Millisecond})
	running, release := make(chan bool), make(chan bool)
	first := make(chan error, 1)
	go func() {
		_, err := p.Preview(s.ctx, s.company, func(context.Context) error {
			running <- true
			<-release
			return nil
		})
		first <- err
	}()
	<-running
	if _, err := p.Preview(s.ctx, s.company, func(context.Context) error { return nil }); !errors.Is(err, commerce.ErrUnavailable) {
		t.Errorf("a second preview beside the one that may run: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	a, err := p.Preview(s.ctx, s.company, func(context.Context) error { return nil })
	if err != nil || len(a.Moves) != 0 || a.Orders != (preview.Orders{}) {
		t.Errorf("a change of nothing: %+v, %v", a, err)
	}
}

// The wait for a preview's turn is of its time.
func TestAPreviewThatWaitsHasTheLessTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, inverno := s.influencer("Ana Prado", "Inverno")
	s.apply([]record{s.record(s.order("o1", noon, 1000, func(o *wire.Order) { o.DiscountCode = wire.Some("ANA10") }))}, func() int {
		return 1
	})
	var now atomic.Pointer[time.Time]
	set := func(at time.Time) { now.Store(&at) }
	set(noon)
	looked := make(chan bool, 100)
	p := s.previewer(preview.Limits{AtOnce: 1, Wait: time.Minute, Time: 5 * time.Second, Now: func() time.Time {
		looked <- true
		return *now.Load()
	}})
	running, release := make(chan bool), make(chan bool)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := p.Preview(s.ctx, s.company, func(context.Context) error {
			running <- true
			<-release
			return nil
		})
		first <- err
	}()
	<-running
	<-looked
	var a *preview.Answer
	go func() {
		var err error
		a, err = p.Preview(s.ctx, s.company, func(ctx context.Context) error {
			_, err := merchant.New(s.db).AddCoupon(ctx, commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}, inverno,
				commerce.CouponTerms{Code: "ANA10"}, seeded(1))
			return err
		})
		second <- err
	}()
	<-looked // the second one has begun
	set(noon.Add(time.Minute))
	close(release)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Fatal(err)
	}
	if a.Orders.Concerned != 1 || a.Orders.Computed != 0 || a.Cut != preview.CutTime {
		t.Errorf("%+v, cut by %q", a.Orders, a.Cut)
	}
}
