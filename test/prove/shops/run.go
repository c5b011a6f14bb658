package shops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/shop"
)

// Run connects one shop of each platform to one connect service, and breaks what they need.
type Run struct {
	Dir, Binary string
	Seed        uint64
	Lives       int           // of orders, in each shop
	Over        time.Duration // in which they are lived
	Poll        time.Duration // how often a shop's changes are read
	Sales       int           // whose credit is timed, with notices and by polling alone
	Kills       int           // of connect
	Platforms   []string
	Say         func(format string, args ...any)
}

// Sized is a run of some lives: 0 is the size of `make prove`.
func Sized(lives int) Run {
	const full = 1000
	if lives == 0 {
		lives = full
	}
	r := Run{Lives: lives, Over: max(time.Minute, time.Duration(lives)*600*time.Millisecond), Poll: 30 * time.Second, Sales: 10, Kills: 10,
		Platforms: fakes.Platforms()}
	if lives >= full {
		r.Poll, r.Sales = 2*time.Minute, 100
	}
	return r
}

// stepsOfLife is about how many steps a random life has.
const stepsOfLife = 5

// away is how long Kafka and PostgreSQL are away.
const away = 8 * time.Second

// Do runs it. An outcome for each platform.
func (r Run) Do(ctx context.Context) (outcomes map[string]Outcome, err error) {
	s, err := newStand(ctx, r.Dir, r.Binary, r.Say)
	if err != nil {
		return nil, err
	}
	defer s.close()
	recorder := newRecorder(s.connectAt)
	defer recorder.server.Close()
	shops, addresses, err := r.open(ctx, s)
	defer func() {
		for _, c := range shops {
			c.fake.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	keys := filepath.Join(r.Dir, "connect.key")
	made, err := s.start("connect", "key", "create", "--connect-key-file", keys)
	if err != nil {
		return nil, err
	}
	<-made.Done()
	s.arguments = []string{"--addr", s.connectAt, "--admin-url", s.admin, "--connect-key-file", keys, "--connect-url", recorder.server.URL,
		"--shop-address", strings.Join(addresses, ","), "--contact", "nobody@example.com"}
	if err := errors.Join(made.Err(), s.startConnect()); err != nil {
		return nil, err
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"a quarter of the lives, and then the shops are connected", func() error {
			return each(shops, func(c *Connected) error {
				return errors.Join(c.fake.Live(ctx, r.Seed, r.Lives/4, 0), c.Join(ctx, r.Poll))
			})
		}},
		{"the other lives, and the faults", func() error { return r.storm(ctx, s, shops) }},
		{"all becomes equal", func() error {
			return each(shops, func(c *Connected) error { return errors.Join(c.fake.Settle(ctx), c.AwaitEqual(ctx, patience)) })
		}},
		{"forged and replayed notices", func() error {
			return each(shops, func(c *Connected) error { return c.strangers(ctx, recorder) })
		}},
		{"sales with notices", func() error {
			return each(shops, func(c *Connected) (err error) {
				if c.outcome.NoticesOn {
					c.outcome.WithNotices, err = c.sell(ctx, r.Sales, r.Poll, 4*r.Poll)
				}
				return err
			})
		}},
		{"sales by polling alone", func() error {
			return each(shops, func(c *Connected) (err error) {
				faults := fakes.Storm(r.Seed)
				faults.Lost = 1
				c.fake.SetFaults(faults)
				c.outcome.Polled, err = c.sell(ctx, r.Sales, r.Poll, 4*r.Poll)
				return errors.Join(err, c.AwaitEqual(ctx, patience))
			})
		}},
	}
	for _, step := range steps {
		r.Say("  %s", step.what)
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	outcomes = map[string]Outcome{}
	for _, c := range shops {
		c.count()
		outcomes[c.name] = c.outcome
	}
	return outcomes, nil
}

// open starts the shops, each with a store. addresses lead platforms' hosts to them.
func (r Run) open(ctx context.Context, s *stand) (shops []*Connected, addresses []string, err error) {
	for _, name := range r.Platforms {
		fake, err := fakes.Start(ctx, fakes.Options{Platform: name, Seed: r.Seed, RetryScale: retryScale, Faults: fakes.Storm(r.Seed)})
		if err != nil {
			return shops, nil, err
		}
		c := New(On{s.rules, s.db, s.say, s.alive}, name, fake)
		shops = append(shops, c)
		if err := c.AddStore(ctx); err != nil {
			return shops, nil, err
		}
		_, hosts := fakes.Pasted(fake)
		for _, host := range hosts {
			addresses = append(addresses, host+"="+fake.URL())
		}
	}
	return shops, addresses, nil
}

// retryScale shortens the documented waits between attempts at a notice, which are up to two days.
const retryScale = 1e-2

// storm lives the other lives while connect is killed, and Kafka and PostgreSQL are away once each. Each kill comes a moment after
// connect was seen to ask a shop for something.
func (r Run) storm(ctx context.Context, s *stand, shops []*Connected) error {
	lived := make(chan error, 1)
	go func() {
		lives := r.Lives - r.Lives/4
		lived <- each(shops, func(c *Connected) error {
			return c.fake.Live(ctx, r.Seed+1, lives, r.Over/time.Duration(max(1, lives*stepsOfLife)))
		})
	}()
	rng := rand.New(rand.NewPCG(r.Seed, 0x6b696c6c)) //nolint:gosec // repeatable
	for n := range r.Kills {
		gap := r.Over / time.Duration(r.Kills)
		if err := sleep(ctx, gap/2+time.Duration(rng.Int64N(int64(gap/2)))); err != nil {
			return errors.Join(err, <-lived)
		}
		before := requests(shops)
		err := On{Alive: s.alive}.until(ctx, "connect works", func() (bool, error) { return requests(shops) > before, nil })
		background.Sleep(ctx, time.Duration(rng.IntN(200))*time.Millisecond)
		last := n == r.Kills-1
		if err = errors.Join(err, s.kill(ctx, last), s.startConnect()); err == nil {
			switch n {
			case r.Kills / 3:
				r.Say("  PostgreSQL is away")
				err = s.postgresAway(ctx, away)
			case r.Kills * 2 / 3:
				r.Say("  Kafka is away")
				err = s.kafkaAway(ctx, away)
			}
		}
		if err != nil {
			return errors.Join(err, <-lived)
		}
		r.Say("  connect was killed %d times", n+1)
	}
	return <-lived
}

func requests(shops []*Connected) (n int) {
	for _, c := range shops {
		n += c.fake.Stats().Requests
	}
	return n
}

// strangers forges notices and sends old ones once more: nothing may change.
func (c *Connected) strangers(ctx context.Context, recorder *recorder) (err error) {
	for n, o := range c.fake.Find(func(shop.Order) bool { return true }) {
		if n == keptNotices {
			break
		}
		for _, topic := range c.fake.Platform().Topics(shop.PaidNow, o) {
			o.State = shop.Paid // as a stranger would like it
			c.fake.Forge(topic, o, []int{fakes.ForgedKey, fakes.ForgedNone, fakes.ForgedBody}[n%3])
		}
	}
	if c.outcome.Replayed, err = recorder.replay(ctx, c.name); err != nil {
		return err
	}
	const settled = 5 * time.Second
	if err := errors.Join(c.fake.Settle(ctx), sleep(ctx, settled)); err != nil {
		return err
	}
	difference, err := c.difference(ctx)
	if difference != "" {
		c.outcome.wrong("after forged and replayed notices %s", difference)
	}
	return err
}

// count adds the shop's counters to the outcome.
func (c *Connected) count() {
	o, stats := &c.outcome, c.fake.Stats()
	for _, one := range c.fake.Find(func(shop.Order) bool { return true }) {
		o.Orders++
		o.Refunds += len(one.Refunds)
		if one.Cancelled {
			o.Cancelled++
		}
	}
	o.Requests, o.Beyond, o.Notices, o.Forged = stats.Requests, stats.Beyond, stats.Notices, stats.Forged
	if stats.Beyond > 0 {
		o.wrong("%d of %d requests were beyond the platform's limit", stats.Beyond, stats.Requests)
	}
	if stats.ForgedTaken > 0 {
		o.wrong("%d of %d forged notices were taken", stats.ForgedTaken, stats.Forged)
	}
	if o.NoticesOn && stats.Forged == 0 {
		o.wrong("no notice was forged")
	}
}

// each does something for all shops at once and waits for all.
func each(shops []*Connected, do func(*Connected) error) error {
	errs := make([]error, len(shops))
	var all sync.WaitGroup
	for n, c := range shops {
		all.Go(func() {
			if err := do(c); err != nil {
				errs[n] = fmt.Errorf("%s: %w", c.name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func sleep(ctx context.Context, d time.Duration) error {
	background.Sleep(ctx, d)
	return ctx.Err()
}

// clean removes a run's files.
func (r Run) clean() error { return os.RemoveAll(r.Dir) }
