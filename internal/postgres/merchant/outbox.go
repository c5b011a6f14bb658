package merchant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// put adds a record to the outbox, in the transaction of the change that the
// record reports. The caller holds the company's row lock (bumpRules), so rows of one
// company are numbered in the order in which they commit.
func put(ctx context.Context, tx pgx.Tx, topic, key string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("outbox %s %s: %w", topic, key, err)
	}
	_, err = tx.Exec(ctx, `insert into outbox (topic, key, value) values ($1, $2, $3)`, topic, key, body)
	return err
}

// outboxBatch collects records of one change, to be inserted in one statement.
type outboxBatch []account.OutboxRecord

// The ID of a record is its place in the batch until the row is inserted.
var newRecords = postgres.Rows[account.OutboxRecord]{
	postgres.Col("n", "bigint", func(r *account.OutboxRecord) int64 { return r.ID }),
	postgres.Col("topic", "text", func(r *account.OutboxRecord) string { return r.Topic }),
	postgres.Col("key", "text", func(r *account.OutboxRecord) string { return r.Key }),
	postgres.Col("value", "bytea", func(r *account.OutboxRecord) []byte { return r.Value }),
}

func (b *outboxBatch) add(topic, key string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("outbox %s %s: %w", topic, key, err)
	}
	b.record(topic, key, body)
	return nil
}

// tombstone adds a record that deletes a key of a compacted topic.
func (b *outboxBatch) tombstone(topic, key string) {
	b.record(topic, key, nil)
}

func (b *outboxBatch) record(topic, key string, value []byte) {
	*b = append(*b, account.OutboxRecord{ID: int64(len(*b)), Topic: topic, Key: key, Value: value})
}

// rule adds a rule record of commerce.v1; id is the id of what the rule is about.
func (b *outboxBatch) rule(c Change, id string, rule wire.Rule) error {
	rule.At = c.At.UTC()
	record, err := commerceRecord(c, wire.KindRule, string(rule.Type)+"/"+id, rule)
	if err != nil {
		return err
	}
	return b.add(wire.TopicCommerce, c.CompanyID, record)
}

func (b outboxBatch) insert(ctx context.Context, e executor) error {
	return e.exec(ctx, `
		insert into outbox (topic, key, value)
		select topic, key, value from `+newRecords.Unnest("r")+` order by n`, newRecords.Args(b, nil))
}

func putDirectoryCompany(ctx context.Context, tx pgx.Tx, companyID string, keyCheck func(string) string) error {
	c, err := directoryCompany(ctx, tx, companyID, keyCheck)
	if err != nil {
		return err
	}
	return put(ctx, tx, wire.TopicDirectory, wire.CompanyKeyPrefix+companyID, c)
}

// putCommerce adds a record of commerce.v1 that reports a change.
func putCommerce(ctx context.Context, tx pgx.Tx, c Change, kind wire.Kind, id string, body any) error {
	record, err := commerceRecord(c, kind, id, body)
	if err != nil {
		return err
	}
	return put(ctx, tx, wire.TopicCommerce, c.CompanyID, record)
}

func commerceRecord(c Change, kind wire.Kind, id string, body any) (wire.Commerce, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return wire.Commerce{}, fmt.Errorf("outbox %s: %w", id, err)
	}
	return wire.Commerce{
		V: wire.CommerceVersion, Kind: kind, ID: id, Rev: c.Rev, CompanyID: c.CompanyID,
		AcceptedAt: c.At.UTC().Truncate(time.Microsecond), Actor: c.Actor, Body: raw,
	}, nil
}

// relayLock is the advisory lock of the one relay: any 64-bit number that no
// other lock of this database uses.
const relayLock int64 = 0x7472625f6f757462 // "trb_outb"

// Relay holds the outbox's lock on a connection of its own. It is not safe for
// concurrent use.
type Relay struct {
	conn *pgxpool.Conn
}

// AcquireRelay takes the outbox's lock. It waits for nothing: where another
// process has the lock, it returns commerce.ErrConflict. Close the relay; a lost
// connection frees the lock too.
func (s *Store) AcquireRelay(ctx context.Context) (account.OutboxRelay, error) {
	conn, err := s.db.Pool().Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("postgres: outbox lock: %w", postgres.Translate(err))
	}
	var got bool
	if err := conn.QueryRow(ctx, `select pg_try_advisory_lock($1)`, relayLock).Scan(&got); err != nil {
		conn.Release()
		return nil, fmt.Errorf("postgres: outbox lock: %w", postgres.Translate(err))
	}
	if !got {
		conn.Release()
		return nil, fmt.Errorf("postgres: outbox lock: %w", commerce.ErrConflict)
	}
	return &Relay{conn: conn}, nil
}

// Close frees the lock, so that the next relay has it at once, and closes the
// connection: back in the pool it might still hold the lock after an error.
func (r *Relay) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// Errors change nothing: the server frees the lock once the connection is gone.
	_, _ = r.conn.Exec(ctx, `select pg_advisory_unlock($1)`, relayLock)
	_ = r.conn.Conn().Close(ctx)
	r.conn.Release()
}

func recordColumns(r *account.OutboxRecord) postgres.Columns {
	return postgres.Columns{
		postgres.Into("outbox_id", &r.ID),
		postgres.Into("topic", &r.Topic),
		postgres.Into("key", &r.Key),
		postgres.Into("value", &r.Value),
	}
}

// Pending reads the oldest records not yet published, at most limit.
func (r *Relay) Pending(ctx context.Context, limit int) ([]account.OutboxRecord, error) {
	list, err := postgres.Collect(ctx, r.conn, postgres.Scan(recordColumns),
		`select `+postgres.List(recordColumns)+` from outbox order by outbox_id limit $1`, limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: outbox")
}

// Published deletes records that are on Kafka.
func (r *Relay) Published(ctx context.Context, ids []int64) error {
	_, err := r.conn.Conn().Exec(ctx, `delete from outbox where outbox_id = any($1)`, ids)
	return postgres.Wrapf(postgres.Translate(err), "postgres: outbox: delete published")
}

// OutboxWaits returns the id of the company's last record that waits to be published; 0 where none does. upTo leaves out
// records after that one; 0: none.
func (s *Store) OutboxWaits(ctx context.Context, companyID string, upTo int64) (id int64, err error) {
	err = s.db.Pool().QueryRow(ctx, `select coalesce(max(outbox_id), 0) from outbox
		where key = $1 and topic = $2 and ($3 = 0 or outbox_id <= $3)`, companyID, wire.TopicCommerce, upTo).Scan(&id)
	return id, postgres.Wrapf(postgres.Translate(err), "postgres: outbox of %s", companyID)
}

// OutboxSize returns how many records wait to be published, and since when the
// oldest waits; zero where none does.
func (s *Store) OutboxSize(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	err = s.db.Pool().QueryRow(ctx, `select count(*), min(created_at) from outbox`).Scan(&waiting, postgres.ZeroIfNull(&oldest))
	return waiting, oldest, postgres.Wrapf(postgres.Translate(err), "postgres: outbox")
}
