package copied

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Moved is one change of a partition's stored offset that was committed.
type Moved struct {
	Topic     string
	Partition int
	Epoch     int64
	From, To  int64
	Process   string // application_name of the connection
}

// RecordMoves makes the database keep every committed change of a stored offset from now
// on. Changes of one offset are kept in the order of their commits: a change holds its
// row's lock until then.
func (d *Database) RecordMoves(ctx context.Context) error {
	_, err := d.conn.Exec(ctx, `
		create schema prove;
		create table prove.moved (number bigserial primary key, topic text, partition int, epoch bigint, was bigint, is_now bigint, process text);
		create function prove.keep() returns trigger language plpgsql as $$ begin
			insert into prove.moved (topic, partition, epoch, was, is_now, process)
			values (new.topic, new.partition, new.epoch, case tg_op when 'INSERT' then new.next
				else old.next end, new.next, current_setting('application_name'));
			return null;
		end $$;
		create trigger keep after insert or update on consumer_offset for each row execute function prove.keep()`)
	return err
}

// Moves returns what RecordMoves has kept, oldest first.
func (d *Database) Moves(ctx context.Context) ([]Moved, error) {
	rows, err := d.conn.Query(ctx, `select topic, partition, epoch, was, is_now, process from prove.moved order by number`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Moved])
}

// MovesSince counts the moves by others than a process of partitions that it had moved
// last, since so many moves had been kept.
func (d *Database) MovesSince(ctx context.Context, process string, kept int64) (n int, err error) {
	return n, d.conn.QueryRow(ctx, `
		select count(*) from prove.moved m where m.number > $2 and m.process <> $1 and m.was < m.is_now and $1 = (
			select b.process from prove.moved b where b.topic = m.topic and b.partition = m.partition and b.number <= $2 order by b.number desc
			limit 1)`,
		process, kept).Scan(&n)
}

// Kept is how many moves have been kept.
func (d *Database) Kept(ctx context.Context) (n int64, err error) {
	return n, d.conn.QueryRow(ctx, `select coalesce(max(number), 0) from prove.moved`).Scan(&n)
}

// OwnerProblems says where moves are not those of one owner at a time: an offset that
// does not go on where the move before ended, an epoch that comes after a later one, or
// that two processes have.
func OwnerProblems(moves []Moved) (problems []string) {
	type place struct {
		topic     string
		partition int
	}
	last := map[place]Moved{}
	for _, m := range moves {
		at := place{m.Topic, m.Partition}
		before, known := last[at]
		say := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%s/%d: ", m.Topic, m.Partition)+fmt.Sprintf(format, args...))
		}
		switch {
		case !known && m.From != 0, known && m.From != before.To:
			say("%s moved the offset from %d, where it was %d", m.Process, m.From, before.To)
		case m.To < m.From:
			say("%s moved the offset back from %d to %d", m.Process, m.From, m.To)
		case m.Epoch < before.Epoch:
			say("%s of epoch %d committed after %s of epoch %d", m.Process, m.Epoch, before.Process, before.Epoch)
		case known && m.Epoch == before.Epoch && m.Process != before.Process:
			say("%s and %s both committed in epoch %d", before.Process, m.Process, m.Epoch)
		}
		last[at] = m
	}
	return problems
}

// Blocked is the application_name of a connection to this database whose statement, with a
// text in it, waits for a lock; "": none does.
func Blocked(ctx context.Context, dsn, text string) (process string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	return process, conn.QueryRow(ctx, `
		select coalesce(min(application_name), '') from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
		and strpos(query, $1) > 0`, text).Scan(&process)
}

// CountedStored is how many events were counted as stored, each when it was stored.
func (d *Database) CountedStored(ctx context.Context) (events int64, err error) {
	return events, d.conn.QueryRow(ctx, `select coalesce(sum(events), 0)::bigint from delivery where outcome = 'stored'`).Scan(&events)
}
