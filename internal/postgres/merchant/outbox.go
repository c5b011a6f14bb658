package merchant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
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
	_ = r.conn.Conn().Close(ctx)
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

// directoryPage is how many records Directory reads and hands over at once.
const directoryPage = 500

// Directory calls f with every record of directory.v1 as the tables have it
// now: companies, then each company's links. What is there no more comes as a
// tombstone, in case the one that was published before was lost: archived
// links, and the codes and companies that short_code still knows of companies
// that are gone.
func (r *Relay) Directory(ctx context.Context, keyCheck func(string) string, f func(page []commerce.OutboxRecord) error) error {
	pages := &directoryPages{f: f}
	for _, part := range []struct {
		name string
		walk func() error
	}{
		{"companies", func() error {
			return r.eachText(ctx, `select company_id from company where company_id > $1 order by company_id limit $2`, func(id string) error {
				c, err := directoryCompany(ctx, r.conn.Conn(), id, keyCheck)
				if err != nil {
					return err
				}
				return pages.add(wire.CompanyKeyPrefix+id, c)
			})
		}},
		{"gone companies", func() error {
			return r.eachText(ctx, `
				select distinct s.company_id from short_code s
				where s.company_id > $1 and not exists (select from company c where c.company_id = s.company_id)
				order by s.company_id limit $2`, func(id string) error { return pages.add(wire.CompanyKeyPrefix+id, nil) })
		}},
		{"links", func() error {
			return r.eachText(ctx, `select company_id from company where company_id > $1 order by company_id limit $2`, func(id string) error {
				return r.directoryLinks(ctx, id, pages)
			})
		}},
		{"links of gone companies", func() error {
			return r.eachText(ctx, `
				select s.code from short_code s
				where s.code > $1 and not exists (select from company c where c.company_id = s.company_id)
				order by s.code limit $2`, func(code string) error { return pages.add(wire.LinkKeyPrefix+code, nil) })
		}},
	} {
		err := part.walk()
		if err == nil {
			err = pages.flush()
		}
		if err != nil {
			return fmt.Errorf("postgres: directory of %s: %w", part.name, postgres.Translate(err))
		}
	}
	return nil
}

// directoryPages collects records and hands them over in pages.
type directoryPages struct {
	f    func(page []commerce.OutboxRecord) error
	page []commerce.OutboxRecord
}

// add takes the record of a key; a nil value is a tombstone.
func (p *directoryPages) add(key string, value any) error {
	record := commerce.OutboxRecord{Topic: wire.TopicDirectory, Key: key}
	if value != nil {
		var err error
		if record.Value, err = json.Marshal(value); err != nil {
			return err
		}
	}
	if p.page = append(p.page, record); len(p.page) < directoryPage {
		return nil
	}
	return p.flush()
}

func (p *directoryPages) flush() error {
	page := p.page
	if p.page = nil; len(page) == 0 {
		return nil
	}
	return p.f(page)
}

// eachText calls f with each text of a query, which takes the text to begin
// after and how many to read at once.
func (r *Relay) eachText(ctx context.Context, query string, f func(text string) error) error {
	for after := ""; ; {
		rows, err := r.conn.Query(ctx, query, after, directoryPage)
		if err != nil {
			return err
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, text := range texts {
			if err := f(text); err != nil {
				return err
			}
			after = text
		}
		if len(texts) < directoryPage {
			return nil
		}
	}
}

// directoryLink is a link as the directory has it, or had it before it was archived.
type directoryLink struct {
	wire.Link
	code     string
	archived bool
}

func directoryLinkColumns(l *directoryLink) postgres.Columns {
	return postgres.Columns{
		postgres.Into("l.code", &l.code),
		postgres.Into("l.archived_at is not null", &l.archived),
		postgres.Into("l.company_id", &l.CompanyID),
		postgres.Into("l.link_id", &l.LinkID),
		postgres.Into("l.influencer_id", &l.InfluencerID),
		postgres.Into("l.campaign_id", &l.CampaignID),
		postgres.Into("l.url", &l.URL),
		postgres.Into("i.name", &l.Influencer),
		postgres.Into("c.name", &l.Campaign),
		postgres.Into("greatest(l.rev, i.rev, c.rev)", &l.Rev),
	}
}

// directoryLinks adds every link of a company, the archived ones as tombstones.
func (r *Relay) directoryLinks(ctx context.Context, companyID string, pages *directoryPages) error {
	for after := uuid.Nil.String(); ; {
		rows, err := r.conn.Query(ctx, `
			select `+postgres.List(directoryLinkColumns)+` from link l
			join influencer i on i.company_id = l.company_id and i.influencer_id = l.influencer_id
			join campaign c on c.company_id = l.company_id and c.campaign_id = l.campaign_id
			where l.company_id = @company_id and l.link_id > @after
			order by l.link_id limit @most`, pgx.NamedArgs{"company_id": companyID, "after": after, "most": directoryPage})
		if err != nil {
			return err
		}
		links, err := pgx.CollectRows(rows, postgres.Scan(directoryLinkColumns))
		if err != nil {
			return err
		}
		for _, l := range links {
			var value any
			if l.V = 1; !l.archived {
				value = l.Link
			}
			if err := pages.add(wire.LinkKeyPrefix+l.code, value); err != nil {
				return err
			}
			after = l.LinkID
		}
		if len(links) < directoryPage {
			return nil
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
