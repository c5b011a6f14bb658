package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// outgoingRow is an event for one destination.
type outgoingRow struct {
	destination, key, eventType, id, data string
	number                                int64
	at, due                               time.Time
}

var outgoingRows = Rows[outgoingRow]{
	Col("destination_id", "text", func(r *outgoingRow) string { return r.destination }),
	Col("number", "bigint", func(r *outgoingRow) int64 { return r.number }),
	Col("key", "text", func(r *outgoingRow) string { return r.key }),
	Col("type", "text", func(r *outgoingRow) string { return r.eventType }),
	Col("at", "timestamptz", func(r *outgoingRow) time.Time { return r.at }),
	Col("message_id", "text", func(r *outgoingRow) string { return r.id }),
	Col("data", "text", func(r *outgoingRow) string { return r.data }),
	Col("due_at", "timestamptz", func(r *outgoingRow) time.Time { return r.due }),
}

var insertOutgoing = `
	insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
	select @company_id, destination_id, number, key, type, at, message_id, data::json, due_at from ` + outgoingRows.Unnest("o") + `
	on conflict (company_id, destination_id, number) do nothing returning 1`

// Destination is where a company's events go, and which types of them.
type Destination struct {
	ID    string
	Kind  commerce.DestinationKind
	Name  string // of a person who gets mails: the role; else what the merchant calls it
	Types []string
}

func destinationColumns(d *Destination) Columns {
	return Columns{Into("d.destination_id", &d.ID), Into("d.kind", &d.Kind), Into("d.name", &d.Name), Into("d.types", &d.Types)}
}

// gets reports whether events of a type are written for the destination: a person has chosen among the mails of other roles too.
func (d *Destination) gets(eventType commerce.EventType) bool {
	return slices.Contains(d.Types, asked(eventType)) &&
		(d.Kind != commerce.ToMail || d.Name == "" || slices.Contains(account.MailTypes(d.Name), eventType))
}

// asked is the type by which a destination asks for events of a type.
func asked(eventType commerce.EventType) string {
	if eventType == commerce.ConversionLess { // every account at a network gets it
		eventType = commerce.ConversionProven
	}
	return string(eventType)
}

// Heeded is the condition of a destination, named d, that somebody looks after: who sends mails looks at each of them, and no mail may be
// set up any more.
const Heeded = `(d.kind <> 'mail' or d.next_at > now() - interval '1 day')`

// Telling writes events in one transaction. It reads a company's destinations once.
type Telling struct {
	tx        pgx.Tx
	companies map[string]*toldCompany
}

// toldCompany is what a transaction knows of a company.
type toldCompany struct {
	any    bool          // it has a webhook endpoint, an active one or not
	asked  []string      // the types that are mailed, or that a network gets, an active one or not
	held   bool          // the transaction holds the company's numbers
	active []Destination // read since then
}

// without leaves out what nobody may want.
func (c *toldCompany) without(list []commerce.Event) []commerce.Event {
	return slices.DeleteFunc(slices.Clone(list), func(e commerce.Event) bool {
		return !slices.Contains(c.asked, asked(e.Type)) && (!c.any || !slices.Contains(commerce.EventTypes, e.Type))
	})
}

// NewTelling begins to write in a transaction.
func NewTelling(tx pgx.Tx) *Telling { return &Telling{tx, map[string]*toldCompany{}} }

// Tell is Telling.Tell for who tells something once.
func Tell(ctx context.Context, tx pgx.Tx, companyID string, events func() ([]commerce.Event, error)) error {
	return NewTelling(tx).Tell(ctx, companyID, events)
}

// Tell writes a company's events for each active destination that gets them, in the transaction of what they tell
// (docs/adr/0039). events is called where there is a destination: a company without one costs one read. From the first event on that one
// may want, no other transaction writes events of the company until this one ends, even where no destination is active: who makes
// one active and replays waits for what was not written for it. Of CouponLeaking a destination gets what it did not get in
// commerce.LeakLife.
func (t *Telling) Tell(ctx context.Context, companyID string, events func() ([]commerce.Event, error)) error {
	c := t.companies[companyID]
	if c == nil {
		c = &toldCompany{}
		if err := t.tx.QueryRow(ctx, `
			select coalesce(bool_or(d.kind = 'webhook'), false), coalesce(array_agg(t.type) filter (where t.type is not null), '{}')
			from destination d left join lateral unnest(d.types) t (type)
				on d.kind <> 'webhook' and (d.kind <> 'mail' or d.state = 'active') and `+Heeded+`
			where d.company_id = $1`, companyID).Scan(&c.any, &c.asked); err != nil {
			return fmt.Errorf("look for destinations: %w", err)
		}
		t.companies[companyID] = c
	}
	if !c.any && len(c.asked) == 0 {
		return nil
	}
	list, err := events()
	if list = c.without(list); err != nil || len(list) == 0 {
		return err
	}
	first, err := NextOutgoing(ctx, t.tx, companyID, len(list))
	if err != nil {
		return err
	}
	if !c.held { // not before: one may have become active, and have been replayed, while this transaction waited for the numbers
		if c.active, err = Collect(ctx, t.tx, Scan(destinationColumns), `
			select `+List(destinationColumns)+` from destination d where company_id = $1 and state = 'active' and `+Heeded+`
			order by destination_id`, companyID); err != nil {
			return fmt.Errorf("read destinations: %w", err)
		}
		c.held = true
	}
	return writeOutgoing(ctx, t.tx, companyID, first, c.active, list)
}

// numbersOfASecond is how many numbers a company has for the events of one second.
const numbersOfASecond = 1_000_000

// NextOutgoing takes the next n numbers of a company's events, and returns the first. Nobody else takes any until the transaction
// ends. Who locks a destination too takes numbers before it: the other order ends in a deadlock with Tell. The numbers of a second begin
// with the time, so that those of a database that was restored go on above the lost ones. They stay below 2^53.
func NextOutgoing(ctx context.Context, tx pgx.Tx, companyID string, n int) (int64, error) {
	var last int64
	if err := tx.QueryRow(ctx, `
		insert into outgoing_number as o (company_id, last) values ($1, $3::bigint + $2::bigint)
		on conflict (company_id) do update set last = greatest(o.last, $3::bigint) + $2::bigint returning o.last`,
		companyID, n, time.Now().Unix()*numbersOfASecond).Scan(&last); err != nil {
		return 0, fmt.Errorf("number events: %w", err)
	}
	return last - int64(n) + 1, nil
}

// TellTo writes events for a destination, whatever its state is.
func TellTo(ctx context.Context, tx pgx.Tx, companyID string, to Destination, events []commerce.Event) error {
	if len(events) == 0 {
		return nil
	}
	first, err := NextOutgoing(ctx, tx, companyID, len(events))
	if err != nil {
		return err
	}
	return writeOutgoing(ctx, tx, companyID, first, []Destination{to}, events)
}

// writeOutgoing writes events whose numbers begin with first.
func writeOutgoing(ctx context.Context, tx pgx.Tx, companyID string, first int64, to []Destination, events []commerce.Event) error {
	ids := make([]string, 0, len(to))
	for _, d := range to {
		ids = append(ids, d.ID)
	}
	told, err := toldLeaks(ctx, tx, companyID, ids, events)
	if err != nil {
		return err
	}
	now := time.Now()
	waiting, err := mailsThatWait(ctx, tx, companyID, ids, events, now)
	if err != nil {
		return err
	}
	var rows []outgoingRow
	var got []string // the destinations of rows
	for i, e := range events {
		id, data, err := e.Encode(companyID)
		if err != nil {
			return err
		}
		for _, d := range to {
			row := outgoingRow{d.ID, e.Key, string(e.Type), id, string(data), first + int64(i), e.At, now}
			switch {
			case !d.gets(e.Type):
				continue
			case e.Type == commerce.CouponLeaking && slices.Contains(told, keyTold{d.ID, e.Key}):
				continue
			case d.Kind == commerce.ToMail && mailKey(e) != "":
				key := keyTold{d.ID, mailKey(e)}
				if slices.Contains(waiting, key) {
					continue
				}
				waiting = append(waiting, key)
				if e.Type == commerce.ConnectionFails {
					row.due = now.Add(commerce.FailingAfter)
				} else if err := row.digest(companyID, now); err != nil {
					return err
				}
			}
			got, rows = append(got, d.ID), append(rows, row)
		}
	}
	if len(rows) > 0 {
		written, err := Collect(ctx, tx, pgx.RowTo[int], insertOutgoing,
			outgoingRows.Args(rows, pgx.NamedArgs{"company_id": companyID}))
		if err == nil && len(written) != len(rows) {
			err = fmt.Errorf("%d of %d events: a number is taken", len(written), len(rows))
		}
		if err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		// One that is looked at anyway is left alone: the sender that works on it need not wait for this transaction. So is one that
		// fails: its rest, which it may have asked for, does not end with a new event.
		if _, err := tx.Exec(ctx, `
			update destination set next_at = $3
			where company_id = $1 and destination_id = any($2) and next_at > $3 and failing_since is null`, companyID, got, now); err != nil {
			return fmt.Errorf("wake the sender: %w", err)
		}
	}
	return boundOutgoing(ctx, tx, companyID, ids, first, first+int64(len(events))-1, now)
}

// boundEvery is after how many events of a company in a second it is looked whether too many wait. It is after the second's first ones.
const boundEvery = 1000

// newlyActive is for how long a destination that was enabled may have twice as many events wait: it is sent what waited before.
const newlyActive = time.Hour

// WaitingFor counts what counts to commerce.MaxWaiting of a destination, up to most: what waits, but not for the receiver to say what
// became of what it took.
func WaitingFor(ctx context.Context, tx pgx.Tx, companyID, id string, most int) (n int, err error) {
	err = tx.QueryRow(ctx, `
		select count(*) from (select 1 from outgoing where company_id = $1 and destination_id = $2 and state = 'waiting' limit $3) w`,
		companyID, id, most).Scan(&n)
	if err == nil && n > commerce.MaxWaiting/2 { // now whole rows are read
		err = tx.QueryRow(ctx, `
			select count(*) from (select 1 from outgoing where company_id = $1 and destination_id = $2 and state = 'waiting'
				and coalesce(tries->-1->>'failure', '') <> $4 limit $3) w`, companyID, id, most, commerce.TryProcessing).Scan(&n)
	}
	return n, Wrapf(err, "count events that wait")
}

// boundOutgoing disables destinations for which too many events wait.
func boundOutgoing(ctx context.Context, tx pgx.Tx, companyID string, ids []string, first, last int64, now time.Time) error {
	if last/boundEvery == (first-1)/boundEvery && (first-1)%numbersOfASecond != 0 {
		return nil
	}
	for _, id := range ids {
		waiting, err := WaitingFor(ctx, tx, companyID, id, 2*commerce.MaxWaiting)
		if err != nil {
			return err
		}
		if waiting < commerce.MaxWaiting {
			continue
		}
		disabled, err := Collect(ctx, tx, pgx.RowTo[string], `
			update destination set state = 'disabled', reason = $3, since = $4
			where company_id = $1 and destination_id = $2 and state = 'active' and (since < $5 or since = created_at or $6)
			returning kind`,
			companyID, id, commerce.EndpointOverflow, now, now.Add(-newlyActive), waiting >= 2*commerce.MaxWaiting)
		if err == nil && len(disabled) > 0 && !slices.Contains(disabled, string(commerce.ToMail)) {
			err = TellDisabled(ctx, tx, companyID, id, commerce.EndpointOverflow)
		}
		if err != nil {
			return fmt.Errorf("disable a destination: %w", err)
		}
	}
	return nil
}

// TellDisabled writes for those who get mails of it that an endpoint was disabled, and why (commerce.Endpoint…). The transaction holds the
// company's numbers.
func TellDisabled(ctx context.Context, tx pgx.Tx, companyID, endpointID, reason string) error {
	to, err := Collect(ctx, tx, Scan(destinationColumns), `
		select `+List(destinationColumns)+` from destination d
		where d.company_id = $1 and d.kind = 'mail' and d.state = 'active' and $2 = any(d.types) and `+Heeded+` order by d.destination_id`,
		companyID, commerce.WebhookDisabled)
	if err != nil || len(to) == 0 {
		return err
	}
	first, err := NextOutgoing(ctx, tx, companyID, 1)
	if err != nil {
		return err
	}
	return writeOutgoing(ctx, tx, companyID, first, to, []commerce.Event{{Type: commerce.WebhookDisabled, Key: "endpoint:" + endpointID,
		At: time.Now().UTC().Truncate(time.Microsecond), Data: commerce.DisabledTold{EndpointID: endpointID, Reason: reason}}})
}

// mailKey is the key of the mail that tells an event, of which no second one waits; empty: each event is a mail.
func mailKey(e commerce.Event) string {
	switch e.Type {
	case commerce.PayoutReview:
		return commerce.DigestKey
	case commerce.ConnectionFails:
		return e.Key
	}
	return ""
}

// mailsThatWait returns which destinations have a mail that is not under way yet, and that tells what happens now too.
func mailsThatWait(ctx context.Context, tx pgx.Tx, companyID string, ids []string, events []commerce.Event,
	now time.Time) ([]keyTold, error) {
	var keys []string
	for _, e := range events {
		if key := mailKey(e); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := Collect(ctx, tx, Scan(keyToldColumns), `
		select `+List(keyToldColumns)+` from outgoing
		where company_id = $1 and destination_id = any($2) and key = any($3) and state = 'waiting' and due_at >= $4`,
		companyID, ids, keys, now.Add(commerce.DigestNotice))
	return list, Wrapf(err, "mails that wait")
}

// digest makes a row of one that says no more than that orders wait for a decision: which ones, is read when it is sent.
func (r *outgoingRow) digest(companyID string, now time.Time) error {
	r.key, r.due = commerce.DigestKey, commerce.DigestAt(companyID, r.destination, now)
	id, data, err := commerce.Event{Type: commerce.PayoutReview, Key: r.key, At: r.due, Data: struct{}{}}.Encode(companyID)
	r.at, r.id, r.data = r.due, id, string(data)
	return err
}

// statementTold is what events of a statement say, and when they became so.
type statementTold struct {
	commerce.StatementTold
	closedAt, paidAt, recordedAt, undoneAt time.Time
}

func statementToldColumns(s *statementTold) Columns {
	return Columns{
		Into("s.statement_id::text", &s.StatementID), Into("coalesce(s.number, 0)", &s.Number), Into("s.influencer_id::text", &s.InfluencerID),
		Into("s.currency", &s.Currency), Into("s.end_date", Day(&s.EndDate)), Into("coalesce(s.total_minor, 0)", &s.Total.Minor),
		Into("coalesce(s.carried, false)", &s.Carried), Into("s.closed_at", &s.closedAt), Into("p.paid_at", ZeroIfNull(&s.paidAt)),
		Into("p.recorded_at", ZeroIfNull(&s.recordedAt)), Into("p.undone_at", ZeroIfNull(&s.undoneAt)),
	}
}

// StatementEvents are the events of closed statements as they are now: that each was closed, and what became of its newest payment.
// types says which are wanted.
func StatementEvents(ctx context.Context, q Querier, companyID string, ids []string,
	types ...commerce.EventType) ([]commerce.Event, error) {
	list, err := Collect(ctx, q, Scan(statementToldColumns), `
		select `+List(statementToldColumns)+` from statement s left join lateral (
			select paid_at, recorded_at, undone_at from statement_payment n
			where n.company_id = @company_id and n.statement_id = s.statement_id order by n.rev desc limit 1) p on true
		where s.company_id = @company_id and s.statement_id = any(@ids::uuid[]) and s.closed_at is not null
		order by s.number`, pgx.NamedArgs{"company_id": companyID, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("events of statements: %w", err)
	}
	var events []commerce.Event
	for _, s := range list {
		told := s.StatementTold
		told.Total.Currency, told.State = told.Currency, commerce.StatementClosed
		if slices.Contains(types, commerce.StatementIsClosed) {
			events = append(events, commerce.Event{Type: commerce.StatementIsClosed, Key: "statement:" + s.StatementID, At: s.closedAt,
				Data: told})
		}
		at := s.undoneAt
		if at.IsZero() {
			at, told.State, told.PaidAt = s.recordedAt, commerce.StatementPaid, s.paidAt.UTC().Format(time.RFC3339)
		}
		if slices.Contains(types, commerce.StatementIsPaid) && !s.recordedAt.IsZero() {
			events = append(events, commerce.Event{Type: commerce.StatementIsPaid, Key: "statement:" + s.StatementID, At: at, Data: told})
		}
	}
	return events, nil
}

// keyTold is what a destination got, or what waits for it.
type keyTold struct{ destination, key string }

func keyToldColumns(l *keyTold) Columns {
	return Columns{Into("destination_id", &l.destination), Into("key", &l.key)}
}

// toldLeaks returns which events of CouponLeaking are not written for which destinations: messages of this type are kept for
// commerce.LeakLife, for which a destination gets none of the same key. The transaction holds the company's numbers.
func toldLeaks(ctx context.Context, tx pgx.Tx, companyID string, ids []string, events []commerce.Event) ([]keyTold, error) {
	var keys []string
	for _, e := range events {
		if e.Type == commerce.CouponLeaking {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	told, err := Collect(ctx, tx, Scan(keyToldColumns), `
		select `+List(keyToldColumns)+` from outgoing where company_id = $1 and destination_id = any($2) and type = $3 and key = any($4)
			and (done_at is null or done_at > now() - $5::interval)`, companyID, ids, commerce.CouponLeaking, keys, commerce.LeakLife)
	return told, Wrapf(err, "events that were told")
}
