package processor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// companies makes stores beside the shop's own.
func (s *shop) companies(n int) (ids []string) {
	s.t.Helper()
	for len(ids) < n {
		store, err := merchant.New(s.db).CreateStore(s.ctx,
			commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
		if err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, store.Live.CompanyID, store.Sandbox.CompanyID)
	}
	return ids
}

func TestARestartGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var records []any
	for i := range 3000 {
		records = append(records, s.event(fmt.Sprint("v", i%100), noon.Add(time.Duration(i)*time.Second), i, nil))
	}
	stop := s.run()
	s.produce(records[:2000]...)
	s.await("some are applied", func() bool { return s.int(`select count(*) from event_fact`) > 0 })
	stop()
	s.produce(records[2000:]...)
	s.run()
	s.applied()
	stored := s.int(`select count(*) from event_fact`)
	counted := s.int(`select sum(events) from delivery`)
	if stored != 3000 || counted != 3000 {
		t.Errorf("%d events stored, %d counted, want 3000 of both", stored, counted)
	}
}

// An owner is fenced as soon as another one has taken its partition over: also before that
// one has applied a record, and in transactions that move no offset.
func TestAnOwnerThatLostItsPartitionWritesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	former, successor := s.owner(), s.owner()
	first, second := s.record(s.event("v1", noon, 1, nil)), s.record(s.event("v2", noon, 2, nil))
	isFenced := func(when string) {
		t.Helper()
		if err := former.applyRecords(s.ctx, []record{second}); !errors.Is(err, facts.ErrFenced) {
			t.Errorf("the former owner's batch %s: %v, want it fenced", when, err)
		}
		if _, err := former.recomputeChunk(s.ctx, s.company); !errors.Is(err, facts.ErrFenced) {
			t.Errorf("the former owner's queued orders %s: %v, want them fenced", when, err)
		}
	}
	isFenced("before the next one's first")
	if err := successor.applyRecords(s.ctx, []record{first}); err != nil {
		t.Fatal(err)
	}
	isFenced("after it")
	if stored := s.events(); len(stored) != 1 || stored[0].Visitor != visitorID("v1") {
		t.Errorf("%d events are stored, want v1's: %v", len(stored), stored)
	}
}

func TestARecordThatCannotBeAppliedIsRejectedWithoutItsContent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.run()
	secret := "maria@example.com"
	unstorable := s.order("o2", noon, 100, func(o *wire.Order) { o.Status = 1 << 20 }) // found by halving the batch
	wrongID := s.event("v1", noon, 2, nil)
	wrongID.EventID = "0d9b2a54-97de-4e0b-9d5c-4b0b0e2f3c11"
	noID := s.event("v1", noon, 4, nil) // no edge writes such a record
	noID.EventID, noID.Event = secret, "5511987654321"
	s.produce(
		[]byte(`{"v":1,"kind":"order","companyId":"`+s.company+`","body":{"orderId":"o0","currency":"XXXX","personal":{"email":"`+secret+`"}}}`),
		[]byte(`no json `+secret),
		[]byte(`{"v":1,"kind":"order","companyId":"another","body":{}}`),
		[]byte(`{"v":1,"kind":"gift","companyId":"`+s.company+`","body":{}}`),
		[]byte(`{"v":1,"kind":"order","companyId":"`+s.company+`","body":{"orderId":"\u0000"}}`),
		s.order("o1", noon, 100, nil),
		noID, unstorable, wrongID, s.event("v1", noon, 3, nil),
	)
	s.applied()
	if events, orders := s.int(`select count(*) from event_fact`), s.int(`select count(*) from orders`); events != 1 || orders != 1 {
		t.Errorf("%d events and %d orders, want 1 of both", events, orders)
	}
	wantTexts(t, "counted", s.texts(`select outcome || ' ' || events from delivery order by 1`), "rejected:company_mismatch 1",
		"rejected:invalid_character 1",
		"rejected:invalid_currency 1", "rejected:invalid_event_id 2", "rejected:invalid_json 1", "rejected:unknown_kind 1",
		"rejected:unstorable 1", "stored 1")
	want := map[string]bool{"invalid_currency": true, "invalid_json": true, "company_mismatch": true, "unknown_kind": true,
		"invalid_character": true, "unstorable": true, "invalid_event_id": true}
	ctx, cancel := context.WithTimeout(s.ctx, await.Long)
	defer cancel()
	err := s.client.Follow(ctx, wire.TopicRejected, 0, kafka.FromFirst, func(_ int64, r kafka.Record) error {
		if strings.Contains(string(r.Value), secret) || strings.Contains(string(r.Value), "11987654321") {
			t.Errorf("a rejected record tells an e-mail or phone: %s", r.Value)
		}
		var rejected wire.Rejected
		if err := json.Unmarshal(r.Value, &rejected); err != nil {
			return err
		}
		if rejected.CompanyID != s.company || rejected.Partition == nil || rejected.Offset == nil ||
			rejected.Topic == wire.TopicEvents && rejected.Code != "invalid_event_id" {
			t.Errorf("rejected %s", r.Value)
		}
		if delete(want, rejected.Code); len(want) == 0 {
			return context.Canceled
		}
		return nil
	}, nil)
	if len(want) > 0 {
		t.Errorf("%v; not rejected: %v", err, want)
	}
}

func TestOffsetsOfAnotherClusterAreAClearError(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.exec(`insert into consumer_offset (topic, partition, cluster_id, next) select 'events.v1', p, 'elsewhere', 0 from ` +
		`generate_series(0, 7) p`)
	ctx, cancel := context.WithTimeout(s.ctx, await.Long)
	defer cancel()
	if err := s.processor(s.group(), s.producer).Run(ctx); !errors.Is(err, facts.ErrOtherCluster) {
		t.Errorf("run: %v, want %v", err, facts.ErrOtherCluster)
	}
}

// TestAPartitionWhoseOffsetIsNotTheLogsHaltsAlone: the other partitions go on,
// /readyz and the metrics tell which one does not and why, and it goes on too
// once somebody has mended it.
func TestAPartitionWhoseOffsetIsNotTheLogsHaltsAlone(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	group := s.group()
	mine, err := group.PartitionOf(s.ctx, []byte(s.company))
	if err != nil {
		t.Fatal(err)
	}
	other := (mine + 1) % devtest.Partitions
	cluster, err := group.ClusterID(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.exec(`insert into consumer_offset (topic, partition, cluster_id, next) values ('events.v1', $1, $2, 5)`, other, cluster)
	s.produce(s.event("v1", noon, 1, nil))
	p := s.processor(group, s.producer)
	p.config.HaltPause = 20 * time.Millisecond
	s.runs(p)
	s.await("the other partition's event is stored", func() bool { return s.int(`select count(*) from event_fact`) == 1 })
	var halted []Partition
	s.await("one partition is halted", func() bool {
		halted = slices.DeleteFunc(p.Partitions(), func(own Partition) bool { return own.State != Halted })
		return len(halted) > 0
	})
	if len(halted) != 1 || halted[0].Partition != other || !strings.Contains(halted[0].Reason, "stored 5") {
		t.Errorf("halted: %+v, want partition %d", halted, other)
	}
	if n := s.metric(p, "tributary_processor_partition_halted"); n != 1 {
		t.Errorf("%d partitions are halted by the metric, want 1", n)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"state":"halted"`) {
		t.Errorf("/readyz: %d %s", w.Code, w.Body)
	}
	s.reset(wire.TopicEvents, other)
	s.await("the mended partition runs", func() bool {
		return !slices.ContainsFunc(p.Partitions(), func(own Partition) bool { return own.State == Halted })
	})
}

// lateLog is a log in which something happens once a partition's end was read.
type lateLog struct {
	*kafka.Group
	happens func()
}

func (l lateLog) Bounds(ctx context.Context, topic string, partition int) (first, next int64, err error) {
	first, next, err = l.Group.Bounds(ctx, topic, partition)
	l.happens()
	return first, next, err
}

// TestWhatTheOwnerBeforeAppliedAtLastHaltsNothing: a new owner reads the log's end, then
// records come, and the owner before applies them. The offset is past the end that was read.
func TestWhatTheOwnerBeforeAppliedAtLastHaltsNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	group := s.group()
	mine, err := group.PartitionOf(s.ctx, []byte(s.company))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := group.ClusterID(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.exec(`insert into consumer_offset (topic, partition, cluster_id, next) select topic, $1, $2, 0 from unnest(array['events.v1', `+
		`'commerce.v1']) topic`, mine, cluster)
	var once sync.Once
	p := s.processor(lateLog{group, func() {
		once.Do(func() {
			s.produce(s.event("v1", noon, 1, nil), s.order("o1", noon, 100, nil))
			s.exec(`update consumer_offset set next = 1`)
		})
	}}, s.producer)
	o := &owner{Processor: p, partition: mine, epoch: map[string]int64{}, logID: map[string]string{}, next: map[string]int64{},
		progress: p.addProgress(mine)}
	if err := o.start(s.ctx); err != nil || o.next[wire.TopicEvents] != 1 || o.next[wire.TopicCommerce] != 1 {
		t.Errorf("start: %v, from %v, want 1 of both", err, o.next)
	}
}

func TestADatabaseOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	config := s.pool.Config().ConnConfig.Copy()
	name := config.Database
	config.Database = "postgres"
	admin, err := pgx.ConnectConfig(s.ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(s.ctx)
	do := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(s.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := s.start()
	s.await("all partitions are owned", func() bool { return s.owned(p) == devtest.Partitions })
	do(`alter database ` + name + ` allow_connections false`)
	do(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '` + name + `'`)
	s.produce(s.event("v1", noon, 1, nil), s.order("o1", noon, 100, nil))
	s.await("the processor tries again", func() bool { return s.metric(p, "tributary_processor_retries_total") > 1 })
	do(`alter database ` + name + ` allow_connections true`)
	s.pool.Reset()
	s.applied()
	wantTexts(t, "payout", s.payouts(), "o1 nobody - 0")
}

// refusing is a store that can never take a batch.
type refusing struct {
	Store
	err error
}

func (r refusing) Transact(context.Context, func(Tx) error) error { return r.err }

func TestAnOwnersErrorIsReturnedAndAFencedOwnerPauses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.produce(s.event("v1", noon, 1, nil))
	group := kafka.NewGroup(s.client, "owner", nil, wire.TopicEvents, wire.TopicCommerce)
	partition, err := group.PartitionOf(s.ctx, []byte(s.company))
	if err != nil {
		t.Fatal(err)
	}
	f := func(failure error, want error) (took time.Duration) {
		t.Helper()
		p := s.processor(group, s.producer)
		p.Store = refusing{StoreOf(s.store), failure}
		began := time.Now()
		if err := p.runPartition(s.ctx, partition); !errors.Is(err, want) {
			t.Errorf("%v: own gave %v, want %v", failure, err, want)
		}
		return time.Since(began)
	}
	f(facts.ErrData, facts.ErrData)
	if took := f(facts.ErrFenced, nil); took < fencedPause {
		t.Errorf("a fenced owner returned after %v: the group would be joined again at once", took)
	}
}

// counting counts how many batches are applied at once; each waits for its release.
type counting struct {
	Store
	now, most atomic.Int32
	release   chan struct{}
}

func (c *counting) Transact(ctx context.Context, f func(Tx) error) error {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	select {
	case <-c.release:
	case <-ctx.Done():
	}
	return c.Store.Transact(ctx, f)
}

func TestTransactionsAtTheSameTimeAreLimited(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var records []any
	for i := range 200 { // companies that nobody knows, in all partitions
		records = append(records, s.event("v", noon, i, func(e *wire.Event) { e.CompanyID = fmt.Sprint("c_", i) }))
	}
	s.produce(records...)
	store := &counting{Store: StoreOf(s.store), release: make(chan struct{})}
	p := New(Config{MaxTransactions: 2},
		Deps{Store: store, Log: kafka.NewGroup(s.client, "turns", nil, wire.TopicEvents, wire.TopicCommerce), Results: s.producer})
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	s.await("all partitions are owned and two at work", func() bool { return s.owned(p) == devtest.Partitions && store.now.Load() == 2 })
	close(store.release)
	s.applied()
	cancel()
	if err := <-done; err != nil || store.most.Load() != 2 {
		t.Errorf("run: %v; %d batches at once, want 2", err, store.most.Load())
	}
}
