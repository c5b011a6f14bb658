package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/kafkadist"
)

// fault is one thing that goes wrong while events and orders come.
type fault struct {
	name, title string
	do          func(ctx context.Context, s *stand) (saw string, err error)
	alerts      []string // that must fire meanwhile
	mayAlert    []string // that may fire
}

// loud is 1 where alerts may fire because of it, else 0.
func (f *fault) loud() int { return min(1, len(f.alerts)+len(f.mayAlert)) }

// Alerts that a fault may be the cause of.
var (
	ofKafka    = []string{"TributaryAdminErrors", "TributaryAdminSlow", "TributaryProcessorRetries"}
	ofDatabase = []string{"TributaryAdminErrors", "TributaryAdminSlow", "TributaryProcessorRetries", "TributaryRemovalFails"}
)

// faults are all of them, in the table's order.
func faults() []fault {
	return []fault{
		{name: "none", title: "nothing", do: func(ctx context.Context, s *stand) (string, error) { return "", s.progress(ctx) }},
		{name: "services-rolled", title: "every service restarted by SIGTERM, one after the other", do: servicesRolled},
		{name: "services-killed", title: "every service SIGKILLed and started again", do: servicesKilled},
		{name: "broker-killed", title: "a broker SIGKILLed and started again", do: brokerKilled, mayAlert: ofKafka},
		{name: "leaders-moved", title: "leaders moved each second", do: leadersMoved, mayAlert: ofKafka},
		{name: "broker-slow", title: "a broker's answers 0.3 s late, then SIGSTOPped for 10 s", do: brokerSlow, mayAlert: ofKafka},
		{name: "database-restarted", title: "PostgreSQL restarted, and once more without a checkpoint", do: databaseRestarted,
			mayAlert: ofDatabase},
		{name: "database-failed-over", title: "PostgreSQL failed over to its standby", do: failedOver, mayAlert: ofDatabase},
		{name: "disk-full", title: "PostgreSQL's disk full for 20 s", do: diskFull, mayAlert: ofDatabase},
		{name: "connections-used-up", title: "PostgreSQL's connections used up for 20 s", do: connectionsUsedUp, mayAlert: ofDatabase},
		{name: "brokers-killed", title: "two of three brokers and a processor SIGKILLed for 4 minutes", do: twoKilled, // as long as alerts need
			alerts: []string{"TributarySpooling", "TributaryServiceDown"},
			mayAlert: append([]string{"TributaryDirectoryStale", "TributaryLag", "TributaryPartitionStill", "TributaryProduceSlow"},
				ofKafka...)},
	}
}

// steps runs one after the other until one fails.
func steps(list ...func() error) error {
	for _, step := range list {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	background.Sleep(ctx, d)
	return ctx.Err()
}

// topics are those that events and orders go through.
var topics = []string{wire.TopicEvents, wire.TopicCommerce}

// progress returns once more events and orders are acknowledged, and all orders so far are stored.
func (s *stand) progress(ctx context.Context) error {
	if err := s.acknowledged(ctx); err != nil {
		return err
	}
	want := s.orders.known()
	return until(ctx, "the orders so far are stored", patience, func() (bool, error) {
		conn, err := pgx.Connect(ctx, s.database.direct())
		if err != nil {
			return false, err
		}
		defer conn.Close(ctx)
		var orders int
		err = conn.QueryRow(ctx, `select count(*) from orders where company_id = any ($1)`, s.companies()).Scan(&orders)
		return orders >= want, err
	})
}

// acknowledged returns once more events and orders are acknowledged.
func (s *stand) acknowledged(ctx context.Context) error {
	const moreEvents, moreOrders = 100, 10
	events, orders := s.events.Acked.Load(), s.orders.acked.Load()
	return until(ctx, "more events and orders are acknowledged", patience, func() (bool, error) {
		return s.events.Acked.Load() >= events+moreEvents && s.orders.acked.Load() >= orders+moreOrders, s.alive()
	})
}

// refused counts requests that no service answered, and answers of another status than 2xx.
func (s *stand) refused() (n int64) {
	for _, b := range s.balancers {
		n += b.Refused.Load() + b.Failed.Load()
	}
	return n
}

// unanswered counts requests that no service answered.
func (s *stand) unanswered() (n int64) {
	for _, b := range s.balancers {
		n += b.Refused.Load()
	}
	return n
}

// servicesRolled restarts each as a deployment does: every request is answered by a service.
func servicesRolled(ctx context.Context, s *stand) (string, error) {
	before := s.unanswered()
	for _, kind := range kinds {
		for _, one := range s.services[kind] {
			err := steps(one.terminate, func() error { return one.start(ctx) },
				func() error { return s.balanced(ctx, kind) }, func() error { return s.acknowledged(ctx) })
			if err != nil {
				return "", err
			}
		}
	}
	unanswered := s.unanswered() - before
	if unanswered > 0 {
		s.wrong("no service answered %d requests while services were restarted by SIGTERM", unanswered)
	}
	return fmt.Sprintf("%d restarts, %d unanswered", len(s.all()), unanswered), s.progress(ctx)
}

func servicesKilled(ctx context.Context, s *stand) (string, error) {
	for _, one := range s.all() {
		err := steps(one.kill, func() error { return one.start(ctx) }, func() error { return s.acknowledged(ctx) })
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d kills", len(s.all())), s.progress(ctx)
}

// brokerKilled kills a broker: with the other two all goes on.
func brokerKilled(ctx context.Context, s *stand) (string, error) {
	broker := s.kafka.Brokers[s.draw(2)]
	broker.Kill()
	return "", steps(func() error { return s.progress(ctx) }, func() error { return broker.Restart(ctx) },
		func() error { return s.kafka.AwaitInSync(ctx, topics...) }, func() error { return s.progress(ctx) })
}

// draw is the number of a broker, by the seed.
func (s *stand) draw(purpose uint64) int {
	return rand.New(rand.NewPCG(s.Seed, purpose<<32|uint64(len(s.spans)))).IntN(brokers) //nolint:gosec // repeatable
}

// twoGone lets all brokers but one be gone for ten seconds and as long as lasts.
func (s *stand) twoGone(ctx context.Context, stays int, lasts time.Duration) (string, error) {
	const noticed = 10 * time.Second // what was under way has its answer
	gone := slices.Delete(slices.Clone(s.kafka.Brokers), stays, stays+1)
	for _, broker := range gone {
		broker.Kill()
	}
	if err := sleep(ctx, noticed); err != nil {
		return "", err
	}
	byKafka := func() int64 { return s.events.Acked.Load() - s.events.Spooled.Load() }
	spooled, direct, orders := s.events.Spooled.Load(), byKafka(), s.orders.acked.Load()
	if err := sleep(ctx, lasts); err != nil {
		return "", err
	}
	spooled = s.events.Spooled.Load() - spooled
	if err := until(ctx, "", time.Second, func() (bool, error) { return byKafka() == direct, nil }); err != nil {
		s.wrong("%d events were acknowledged by Kafka while two of three brokers were gone", byKafka()-direct)
	}
	if more := s.orders.acked.Load() - orders; more > 0 {
		s.wrong("%d orders were acknowledged while two of three brokers were gone", more)
	}
	if spooled == 0 {
		s.wrong("no event was acknowledged from a spool while two of three brokers were gone")
	}
	if err := kafkadist.Restart(ctx, gone...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d events spooled", spooled),
		steps(func() error { return s.kafka.AwaitInSync(ctx, topics...) }, func() error { return s.progress(ctx) })
}

func leadersMoved(ctx context.Context, s *stand) (string, error) {
	const moves = 15
	moved := 0
	for n := range moves {
		next := time.Now().Add(time.Second)
		more, err := s.kafka.MoveLeaders(ctx, topics[n%len(topics)])
		if err != nil {
			return "", err
		}
		moved += more
		if err := sleep(ctx, time.Until(next)); err != nil {
			return "", err
		}
	}
	if moved == 0 {
		s.wrong("no leader moved")
	}
	return fmt.Sprintf("%d moves", moved), s.progress(ctx)
}

// brokerSlow makes one broker slow, and then stops it for as long as others wait for it.
func brokerSlow(ctx context.Context, s *stand) (string, error) {
	const late, stopped = 300 * time.Millisecond, 10 * time.Second
	n := s.draw(3)
	proxy, broker := s.proxies[n], s.kafka.Brokers[n]
	proxy.Down.Slow(late)
	err := s.progress(ctx)
	proxy.Down.Slow(0)
	if err != nil {
		return "", err
	}
	return "", steps(broker.Pause, func() error { return sleep(ctx, stopped) }, broker.Continue,
		func() error { return s.kafka.AwaitInSync(ctx, topics...) }, func() error { return s.progress(ctx) })
}

func databaseRestarted(ctx context.Context, s *stand) (string, error) {
	const away = 5 * time.Second
	for _, crash := range []bool{false, true} {
		err := steps(func() error { return s.database.restart(ctx, crash, away) }, func() error { return s.progress(ctx) })
		if err != nil {
			return "", err
		}
	}
	return "2 restarts", nil
}

func failedOver(ctx context.Context, s *stand) (string, error) {
	return "", steps(func() error { return s.database.failOver(ctx) }, func() error { return s.progress(ctx) },
		func() error { return s.database.addStandby(ctx) }, func() error { return s.progress(ctx) })
}

func diskFull(ctx context.Context, s *stand) (string, error) {
	const lasts = 20 * time.Second
	empty, err := s.database.fillDisk()
	if err != nil {
		return "", err
	}
	if err := sleep(ctx, lasts); err != nil {
		return "", err
	}
	if err := empty(); err != nil {
		return "", err
	}
	ended, err := s.database.revive(ctx)
	saw := "PostgreSQL went on"
	if ended {
		saw = "PostgreSQL ended, and was started again"
	}
	return saw, steps(func() error { return err }, func() error { return s.database.awaitStandby(ctx) },
		func() error { return s.progress(ctx) })
}

func connectionsUsedUp(ctx context.Context, s *stand) (string, error) {
	const lasts = 20 * time.Second
	taken, err := s.database.useUp(ctx, lasts)
	return fmt.Sprintf("%d connections taken", taken), steps(func() error { return err }, func() error { return s.progress(ctx) })
}

// twoKilled kills two brokers and a processor: what is acknowledged then is spooled.
func twoKilled(ctx context.Context, s *stand) (saw string, err error) {
	const lasts = 4 * time.Minute
	one := s.services["processor"][0]
	err = steps(one.kill, func() (err error) { saw, err = s.twoGone(ctx, s.draw(4), lasts); return err },
		func() error { return one.start(ctx) })
	return saw, err
}
