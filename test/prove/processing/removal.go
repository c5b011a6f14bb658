package processing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/copied"
)

// Removal proves that erasures of persons and the removal of old events end whole, however
// often the process that does them is killed.
type Removal struct {
	Place
	Size  Size
	Seed  uint64
	Kills int // of each of the two, inside of a transaction
}

// RemovalOutcome is what a run saw.
type RemovalOutcome struct {
	Orders   int
	Persons  int // erased
	Kills    int // that came inside of a transaction
	Hash     string
	Problems []string
}

// companyKey is a key of a company's person.
type companyKey struct {
	company string
	key     facts.Key
}

// removalTables are those that the two write. One is held at each kill, in turn.
var removalTables = []string{"erased_order", "event_fact", "observation", "order_version", "orders", "erasure",
	"evidence_snapshot", "order_key"}

// Do applies facts, erases persons and removes all events, with kills, and compares the
// ledger with the one before.
func (r Removal) Do(ctx context.Context) (o RemovalOutcome, err error) {
	s, err := newStand(ctx, r.Place, r.Size.Stores)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	t, err := s.newTopics(ctx)
	if err != nil {
		return o, err
	}
	defer t.close()
	g := &generator{r: mathrand.New(mathrand.NewPCG(r.Seed, 2))} //nolint:gosec // a load, repeatable
	for _, c := range s.companies {
		g.facts(c, r.Size.Shoppers)
	}
	one, err := s.startProcessor(t)
	if err != nil {
		return o, err
	}
	if err := t.produce(ctx, g.records); err != nil {
		return o, err
	}
	if err := s.awaitApplied(ctx, t); err != nil {
		return o, err
	}
	before, orders, err := s.verify(ctx)
	if err != nil {
		return o, err
	}
	o.Orders = orders
	one.terminate()

	keys, err := s.askErasures(ctx, t)
	if err != nil {
		return o, err
	}
	o.Persons = len(keys)
	erased := func() (bool, error) { return s.none(ctx, `select count(*) from erasure where done_at is null`) }
	if err := r.killed(ctx, s, erased, &o, func() (*child.Process, error) {
		p, err := s.startProcessor(t)
		if err != nil {
			return nil, err
		}
		p.ended = true // by the kill below
		return p.child, nil
	}); err != nil {
		return o, fmt.Errorf("erasures: %w", err)
	}
	if err := s.keepDays(ctx); err != nil {
		return o, err
	}
	removed := func() (bool, error) {
		return s.none(ctx, `select count(*) from company c left join retention r using (company_id) where c.retention_days > 0 and `+
			`r.done_at is null`)
	}
	if err := r.killed(ctx, s, removed, &o, s.startRetain); err != nil {
		return o, fmt.Errorf("removal of old events: %w", err)
	}
	return o, r.check(ctx, s, keys, before, &o)
}

// check compares what is left with what must be.
func (r Removal) check(ctx context.Context, s *stand, keys []companyKey, before string, o *RemovalOutcome) (err error) {
	if o.Hash, _, err = s.verify(ctx); err != nil {
		return err
	}
	if o.Hash != before {
		o.Problems = append(o.Problems, fmt.Sprintf("the ledger hash is %.12s…, and was %.12s…", o.Hash, before))
	}
	if o.Kills < r.Kills {
		o.Problems = append(o.Problems, fmt.Sprintf("only %d kills came inside of a transaction", o.Kills))
	}
	for what, sql := range map[string]string{
		"events": `select count(*) from event_fact`, "observations": `select count(*) from observation`,
		"visitors' days":   `select count(*) from shopper_day`,
		"keys of erasures": `select count(*) from erasure_key`, "visitors of erasures": `select count(*) from erasure_visitor`,
		"orders without surrogates": `select count(*) from erased_order where surrogates is null`,
	} {
		if none, err := s.none(ctx, sql); err != nil || !none {
			if err != nil {
				return err
			}
			o.Problems = append(o.Problems, what+" are left")
		}
	}
	for _, k := range keys {
		if none, err := s.none(ctx,
			`select count(*) from order_key where company_id = $1 and kind = $2 and key = $3 and digest between $4 and $4 + 3`, k.company,
			k.key.Kind.Code(), k.key.Pack(), facts.KeyDigest(k.company, k.key)); err != nil || !none {
			if err != nil {
				return err
			}
			o.Problems = append(o.Problems, "an order still has the key "+k.key.Value)
		}
	}
	return nil
}

// killed starts a process again and again while a table is held that it comes to write, and
// kills it there. Then it lets one end its work.
func (r Removal) killed(ctx context.Context, s *stand, done func() (bool, error), o *RemovalOutcome,
	start func() (*child.Process, error)) error {
	for n := range r.Kills {
		release, err := s.db.Hold(ctx, removalTables[(n+int(r.Seed))%len(removalTables)])
		if err != nil {
			return err
		}
		p, err := start()
		if err != nil {
			return errors.Join(err, release())
		}
		inside := false
		err = until(ctx, "a transaction waits for the table, or all is done", func() (bool, error) {
			waiting, err := copied.Waiting(ctx, r.DSN)
			if inside = waiting > 0; inside || err != nil {
				return true, err
			}
			select {
			case <-p.Done():
				return true, nil
			default:
			}
			return done()
		})
		p.Stop(patience, syscall.SIGKILL)
		if inside {
			o.Kills++
		}
		if err := errors.Join(err, release()); err != nil {
			return err
		}
	}
	p, err := start()
	if err != nil {
		return err
	}
	defer p.Stop(patience, syscall.SIGTERM, syscall.SIGKILL)
	return until(ctx, "all is done", done)
}

// none reports whether a count is zero.
func (s *stand) none(ctx context.Context, sql string, args ...any) (bool, error) {
	var n int
	err := s.postgres.Pool().QueryRow(ctx, sql, args...).Scan(&n)
	return n == 0, err
}

// askErasures asks to erase some persons of each store, as admin does, and writes the
// records to Kafka.
func (s *stand) askErasures(ctx context.Context, t *topics) (keys []companyKey, err error) {
	var records []record
	for i, c := range s.companies {
		for n := range 4 {
			key := facts.Key{Kind: facts.KeyEmail, Value: fmt.Sprint("k1:email", 7*i+n)}
			e, err := s.rules.AskErasure(ctx, s.author(c), []string{"email"}, []facts.Key{key}, rand.Reader)
			if err != nil {
				return nil, err
			}
			body, err := json.Marshal(wire.Erasure{ErasureID: e.ErasureID})
			if err != nil {
				return nil, err
			}
			value, err := json.Marshal(wire.Commerce{V: wire.CommerceVersion, Kind: wire.KindErasure, ID: e.ErasureID, Rev: int64(100_000 + n),
				CompanyID: c.id, AcceptedAt: time.Now(), Actor: "cli", Body: body})
			if err != nil {
				return nil, err
			}
			keys, records = append(keys, companyKey{c.id, key}), append(records, record{wire.TopicCommerce, c.id, value})
		}
	}
	return keys, errors.Join(t.produce(ctx, records), s.db.Truncate(ctx, "outbox"))
}

// keepDays lets each store keep its events for the least time that it may, which all
// events of a run are older than.
func (s *stand) keepDays(ctx context.Context) error {
	for _, c := range s.companies {
		if _, _, err := s.rules.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: c.id, Actor: "cli", Change: func(set *commerce.Settings) {
			set.RetentionDays = set.LeastRetention()
		}}); err != nil {
			return err
		}
	}
	return s.db.Truncate(ctx, "outbox") // the processor reads the settings themselves
}

// startRetain starts `tributary retain`.
func (s *stand) startRetain() (*child.Process, error) {
	output, err := os.OpenFile(s.output(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd := exec.Command(s.Binary, "retain") //nolint:gosec,noctx // the program to prove; package child ends it
	cmd.Env = append(os.Environ(), "TRIBUTARY_POSTGRES="+s.DSN)
	cmd.Stdout, cmd.Stderr = output, output
	return child.Start(cmd, syscall.SIGKILL)
}
