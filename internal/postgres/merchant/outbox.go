package merchant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// put adds a record to the outbox, in the transaction of the change it tells
// of. The caller holds the company's row lock (bumpRules), so rows of one
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
type outboxBatch struct {
	topics, keys []string
	values       [][]byte
}

func (b *outboxBatch) add(topic, key string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("outbox %s %s: %w", topic, key, err)
	}
	b.topics, b.keys, b.values = append(b.topics, topic), append(b.keys, key), append(b.values, body)
	return nil
}

// tombstone adds a record that deletes a key of a compacted topic.
func (b *outboxBatch) tombstone(topic, key string) {
	b.topics, b.keys, b.values = append(b.topics, topic), append(b.keys, key), append(b.values, nil)
}

// rule adds a rule record of commerce.v1; id is the rule's own.
func (b *outboxBatch) rule(c Change, id string, rule wire.Rule) error {
	rule.At = c.At.UTC()
	record, err := commerceRecord(c, wire.KindRule, string(rule.Type)+"/"+id, rule)
	if err != nil {
		return err
	}
	return b.add(wire.TopicCommerce, c.CompanyID, record)
}

func (b *outboxBatch) insert(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		insert into outbox (topic, key, value)
		select topic, key, value from unnest($1::text[], $2::text[], $3::bytea[]) with ordinality as o (topic, key, value, n) order by n`,
		b.topics, b.keys, b.values)
	return err
}

func putDirectoryCompany(ctx context.Context, tx pgx.Tx, companyID string, keyCheck func(string) string) error {
	c, err := directoryCompany(ctx, tx, companyID, keyCheck)
	if err != nil {
		return err
	}
	return put(ctx, tx, wire.TopicDirectory, wire.CompanyKeyPrefix+companyID, c)
}

// putCommerce adds a record of commerce.v1 that tells of a change.
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
		V: 1, Kind: kind, ID: id, Rev: c.Rev, CompanyID: c.CompanyID,
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

// AcquireRelay takes the outbox's lock, or gives commerce.ErrConflict at once
// where another process has it. Close it; a lost connection frees the lock too.
func (s *Store) AcquireRelay(ctx context.Context) (commerce.OutboxRelay, error) {
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

// Close frees the lock, so that the next relay has it at once, and ends the
// connection: giving that back to the pool could leave the lock behind on an error.
func (r *Relay) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = r.conn.Exec(ctx, `select pg_advisory_unlock($1)`, relayLock) // else the server frees it soon
	r.conn.Conn().Close(ctx)
	r.conn.Release()
}

// Pending reads the oldest records not yet published, at most limit.
func (r *Relay) Pending(ctx context.Context, limit int) ([]commerce.OutboxRecord, error) {
	rows, err := r.conn.Conn().Query(ctx, `select outbox_id, topic, key, value from outbox order by outbox_id limit $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("postgres: outbox: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o commerce.OutboxRecord, err error) {
		return o, row.Scan(&o.ID, &o.Topic, &o.Key, &o.Value)
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: outbox: %w", postgres.Translate(err))
	}
	return list, nil
}

// Published deletes records that are on Kafka.
func (r *Relay) Published(ctx context.Context, ids []int64) error {
	if _, err := r.conn.Conn().Exec(ctx, `delete from outbox where outbox_id = any($1)`, ids); err != nil {
		return fmt.Errorf("postgres: outbox: delete published: %w", postgres.Translate(err))
	}
	return nil
}

// Directory calls f with every record of directory.v1 as the tables have it
// now: companies first, then live links. It reads in pages, so that any number fits.
func (r *Relay) Directory(ctx context.Context, keyCheck func(string) string, f func(page []commerce.OutboxRecord) error) error {
	const page = 500
	conn := r.conn.Conn()
	for after := ""; ; {
		var records []commerce.OutboxRecord
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `select company_id from company where company_id > $1 order by company_id limit $2`, after, page)
			if err != nil {
				return err
			}
			ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			for _, id := range ids {
				c, err := directoryCompany(ctx, tx, id, keyCheck)
				if err != nil {
					return err
				}
				value, err := json.Marshal(c)
				if err != nil {
					return err
				}
				records = append(records, commerce.OutboxRecord{Topic: wire.TopicDirectory, Key: wire.CompanyKeyPrefix + id, Value: value})
				after = id
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("postgres: directory of companies: %w", postgres.Translate(err))
		}
		if len(records) == 0 {
			break
		}
		if err := f(records); err != nil {
			return err
		}
	}
	for after := ""; ; {
		rows, err := conn.Query(ctx, directoryLinks+` and s.code > $1 order by s.code limit $2`, after, page)
		if err != nil {
			return fmt.Errorf("postgres: directory of links: %w", postgres.Translate(err))
		}
		records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o commerce.OutboxRecord, err error) {
			code, link, err := scanDirectoryLink(row)
			if err != nil {
				return o, err
			}
			after = code
			value, err := json.Marshal(link)
			return commerce.OutboxRecord{Topic: wire.TopicDirectory, Key: wire.LinkKeyPrefix + code, Value: value}, err
		})
		if err != nil {
			return fmt.Errorf("postgres: directory of links: %w", postgres.Translate(err))
		}
		if len(records) == 0 {
			return nil
		}
		if err := f(records); err != nil {
			return err
		}
	}
}

// OutboxSize tells how many records wait to be published, and since when the
// oldest; oldest is zero where none waits.
func (s *Store) OutboxSize(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	var at *time.Time
	if err := s.db.Pool().QueryRow(ctx, `select count(*), min(created_at) from outbox`).Scan(&waiting, &at); err != nil {
		return 0, time.Time{}, fmt.Errorf("postgres: outbox: %w", postgres.Translate(err))
	}
	if at != nil {
		oldest = *at
	}
	return waiting, oldest, nil
}

// directoryLinks selects what scanDirectoryLink reads.
const directoryLinks = `
	select s.code, l.company_id, l.link_id::text, l.influencer_id::text, l.campaign_id, l.url, i.name, c.name, greatest(l.rev, i.rev, c.rev)
	from short_code s
	join link l on l.company_id = s.company_id and l.link_id = s.link_id
	join influencer i on i.company_id = l.company_id and i.influencer_id = l.influencer_id
	join campaign c on c.company_id = l.company_id and c.campaign_id = l.campaign_id
	where l.archived_at is null`

func scanDirectoryLink(row pgx.Row) (code string, l wire.Link, err error) {
	l.V = 1
	err = row.Scan(&code, &l.CompanyID, &l.LinkID, &l.InfluencerID, &l.CampaignID, &l.URL, &l.Influencer, &l.Campaign, &l.Rev)
	return code, l, err
}
