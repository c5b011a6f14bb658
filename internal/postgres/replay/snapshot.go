package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// Errors of a live schema whose outcomes are not those of its facts yet.
var (
	ErrQueued      = errors.New("orders wait to be computed again")
	ErrQuarantined = errors.New("orders are quarantined: their outcomes cannot be stored")
	ErrErasing     = errors.New("persons are being erased")
	ErrOutbox      = errors.New("changes of rules wait to be published")
)

// Snapshot is one unchanging view of the live schema.
type Snapshot struct {
	tx        pgx.Tx
	Companies []string // all, by id
}

// InSnapshot runs f on a snapshot of the live schema in which the recompute queue is
// empty, and no change of rules is still to be published. It returns ErrQueued,
// ErrQuarantined, ErrErasing or ErrOutbox where that is not so.
func InSnapshot(ctx context.Context, live *postgres.DB, f func(s *Snapshot) error) error {
	return live.Snapshot(ctx, func(tx pgx.Tx) (err error) {
		s := &Snapshot{tx: tx}
		// The snapshot is idle while a part is applied, however long that takes.
		if _, err := tx.Exec(ctx, `set local idle_in_transaction_session_timeout = 0`); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		if s.Companies, err = postgres.Collect(ctx, tx, pgx.RowTo[string],
			`select company_id from company order by company_id collate "C"`); err != nil {
			return fmt.Errorf("companies: %w", err)
		}
		if err := s.settled(ctx); err != nil {
			return err
		}
		return f(s)
	})
}

// settled returns an error where outcomes are not those of the facts and rules yet.
func (s *Snapshot) settled(ctx context.Context) error {
	var waiting int64
	if err := s.tx.QueryRow(ctx, `select count(*) from outbox where topic = $1`, wire.TopicCommerce).Scan(&waiting); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if waiting > 0 {
		return fmt.Errorf("%w: %d", ErrOutbox, waiting)
	}
	for _, company := range s.Companies {
		var queued, quarantined int64
		if err := s.tx.QueryRow(ctx, `
			select count(*) filter (where failure is null) + (select count(*) from recompute_span where company_id = $1)
				+ (select count(*) from agreement_queue where company_id = $1),
			count(*) filter (where failure is not null)
			from recompute where company_id = $1`, company).Scan(&queued, &quarantined); err != nil {
			return fmt.Errorf("recompute queue: %w", err)
		}
		var erasing int64
		if err := s.tx.QueryRow(ctx, `select count(*) from erasure where company_id = $1 and done_at is null`,
			company).Scan(&erasing); err != nil {
			return fmt.Errorf("erasures: %w", err)
		}
		if erasing > 0 {
			return fmt.Errorf("%w: company %s: %d", ErrErasing, company, erasing)
		}
		if queued > 0 {
			return fmt.Errorf("%w: %d of company %s", ErrQueued, queued, company)
		}
		if quarantined > 0 {
			return fmt.Errorf("%w: %d of company %s", ErrQuarantined, quarantined, company)
		}
	}
	return nil
}

// Rows of one page. They bound what is in memory and in one transaction; the numbers
// were chosen, not measured. An order may have many items, so its pages are smaller.
const (
	eventsPerPage    = 500
	decisionsPerPage = 500
	versionsPerPage  = 200
	entriesPerPage   = 500
)

// Facts returns a company's stored facts, in parts: first its events, then decisions, manual
// entries, the closed day, then versions of orders, so that most orders are computed once.
func (s *Snapshot) Facts(ctx context.Context, companyID string) iter.Seq2[facts.Stored, error] {
	return func(yield func(facts.Stored, error) bool) {
		goOn := pages(eventsPerPage, func(after *facts.Event) ([]facts.Event, error) { return s.events(ctx, companyID, after) },
			func(page []facts.Event, err error) bool {
				return yield(facts.Stored{CompanyID: companyID, Events: page}, err)
			})
		goOn = goOn && pages(decisionsPerPage, func(after *facts.Decision) ([]facts.Decision, error) {
			return s.decisions(ctx, companyID, after)
		},
			func(page []facts.Decision, err error) bool {
				return yield(facts.Stored{CompanyID: companyID, Decisions: page}, err)
			})
		goOn = goOn && pages(entriesPerPage, func(after *wire.Commerce) ([]wire.Commerce, error) {
			return s.entries(ctx, companyID, after)
		},
			func(page []wire.Commerce, err error) bool {
				return yield(facts.Stored{CompanyID: companyID, Entries: page}, err)
			})
		if closed, err := s.closedDay(ctx, companyID); goOn && (closed != "" || err != nil) {
			goOn = yield(facts.Stored{CompanyID: companyID, ClosedDay: closed}, err)
		}
		_ = goOn && pages(versionsPerPage, func(after *facts.OrderVersion) ([]facts.OrderVersion, error) {
			return s.versions(ctx, companyID, after)
		}, func(page []facts.OrderVersion, err error) bool {
			return yield(facts.Stored{CompanyID: companyID, Orders: page}, err)
		})
	}
}

// pages hands out page after page; each is read after the last row of the one before.
// It reports whether to go on: an error ends it.
func pages[T any](most int, read func(after *T) ([]T, error), yield func(page []T, err error) bool) (goOn bool) {
	after := new(T)
	for {
		page, err := read(after)
		if err != nil {
			yield(nil, err)
			return false
		}
		if len(page) > 0 && !yield(page, nil) {
			return false
		}
		if len(page) < most {
			return true
		}
		after = &page[len(page)-1]
	}
}

// noID is before every event's id.
const noID = "00000000-0000-0000-0000-000000000000"

// events reads events by id. What the columns say is computed from the record again.
func (s *Snapshot) events(ctx context.Context, companyID string, after *facts.Event) ([]facts.Event, error) {
	list, err := postgres.Collect(ctx, s.tx, func(row pgx.CollectableRow) (facts.Event, error) {
		var e facts.StoredEvent
		if err := row.Scan(&e.CompanyID, (*[16]byte)(&e.EventID), &e.Name, &e.Visitor, &e.Record); err != nil {
			return facts.Event{}, err
		}
		return e.Parse()
	}, `
		select company_id, event_id, name, visitor, record from event_fact
		where company_id = @company_id and event_id > @event_id
		order by event_id limit @most`,
		pgx.NamedArgs{"company_id": companyID, "event_id": [16]byte(after.ID), "most": eventsPerPage})
	return list, postgres.Wrapf(err, "stored events of %s", companyID)
}

func (s *Snapshot) decisions(ctx context.Context, companyID string, after *facts.Decision) ([]facts.Decision, error) {
	id := after.InfluencerID
	if id == "" {
		id = noID
	}
	list, err := postgres.Collect(ctx, s.tx, func(row pgx.CollectableRow) (d facts.Decision, err error) {
		return d, row.Scan(&d.OrderID, &d.InfluencerID, &d.Rev, &d.Decision, &d.AcceptedAt, &d.Actor, &d.Touches, &d.Reason, &d.ConfirmedBy)
	}, `
		select order_id, influencer_id::text, rev, decision, accepted_at, actor, touches, reason, confirmed_by
		from evidence_decision
		where company_id = @company_id and (order_id, influencer_id, rev) > (@order_id, @influencer_id::uuid, @rev)
		order by order_id, influencer_id, rev limit @most`,
		pgx.NamedArgs{"company_id": companyID, "order_id": after.OrderID, "influencer_id": id, "rev": after.Rev, "most": decisionsPerPage})
	return list, postgres.Wrapf(err, "stored decisions of %s", companyID)
}

// entries are the records of the manual entries of which one has come.
func (s *Snapshot) entries(ctx context.Context, companyID string, after *wire.Commerce) ([]wire.Commerce, error) {
	id := after.ID
	if id == "" {
		id = noID
	}
	list, err := postgres.Collect(ctx, s.tx, func(row pgx.CollectableRow) (wire.Commerce, error) {
		var e wire.Entry
		c := wire.Commerce{V: wire.CommerceVersion, Kind: wire.KindEntry, CompanyID: companyID}
		err := row.Scan(&e.EntryID, &e.InfluencerID, &e.Kind, &e.AmountMinor, &e.Currency, postgres.Day(&e.Day), &e.Reason, &c.Actor,
			&c.AcceptedAt)
		if err == nil {
			c.ID = e.EntryID
			c.Body, err = json.Marshal(e)
		}
		return c, err
	}, `
		select entry_id::text, influencer_id::text, kind, amount_minor, currency, day, reason, actor, accepted_at from manual_entry
		where company_id = @company_id and entry_id > @after::uuid and accepted_at is not null
		order by entry_id limit @most`, pgx.NamedArgs{"company_id": companyID, "after": id, "most": entriesPerPage})
	return list, postgres.Wrapf(err, "stored manual entries of %s", companyID)
}

// closedDay is the last day that was closed; "": none was.
func (s *Snapshot) closedDay(ctx context.Context, companyID string) (day string, err error) {
	err = s.tx.QueryRow(ctx, `select max(day) from closed_day where company_id = $1`, companyID).Scan(postgres.Day(&day))
	return day, postgres.Wrapf(err, "closed day of %s", companyID)
}

func (s *Snapshot) versions(ctx context.Context, companyID string, after *facts.OrderVersion) ([]facts.OrderVersion, error) {
	hash := after.ContentHash
	if hash == nil {
		hash = []byte{}
	}
	list, err := postgres.Collect(ctx, s.tx, func(row pgx.CollectableRow) (v facts.OrderVersion, err error) {
		var versionAt, acceptedAt time.Time
		var body []byte
		if err := row.Scan(&v.OrderID, &versionAt, &acceptedAt, &v.ContentHash, &body); err != nil {
			return v, err
		}
		v.VersionAt, v.AcceptedAt = versionAt.UTC(), acceptedAt.UTC()
		v.Order, err = facts.UnpackOrder(body)
		return v, err
	}, `
		select order_id, version_at, accepted_at, content_hash, body from (
			(select order_id, version_at, accepted_at, content_hash, body from order_version
				where company_id = @company_id
				and (order_id, version_at, accepted_at, content_hash) > (@order_id, @version_at, @accepted_at, @content_hash)
				order by order_id, version_at, accepted_at, content_hash limit @most)
			union all
			(select order_id, version_at, accepted_at, content_hash, body from orders
				where company_id = @company_id and order_id > @order_id and accepted_at is not null order by order_id limit @most)) v
		order by order_id, version_at, accepted_at, content_hash limit @most`,
		pgx.NamedArgs{"company_id": companyID, "order_id": after.OrderID, "version_at": after.VersionAt, "accepted_at": after.AcceptedAt,
			"content_hash": hash, "most": versionsPerPage})
	return list, postgres.Wrapf(err, "stored versions of orders of %s", companyID)
}
