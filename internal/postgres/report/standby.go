package report

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

const (
	// mostAge is how old a standby may be that reports are read from.
	mostAge = time.Minute
	// lookEvery is how often the primary's place in its log is asked for, and the standby's.
	lookEvery = time.Second
	// lookTime bounds each of these questions. It is less than half of what the admin API waits for PostgreSQL: where the standby
	// does not answer, there is time for the primary.
	lookTime = 500 * time.Millisecond
	// mostPlaces is how many of the primary's places are kept: those of mostAge.
	mostPlaces = int(mostAge/lookEvery) + 2
)

// Why a standby is not read from.
var (
	errNoStandby    = errors.New("the server is not a standby")
	errNoPrimary    = errors.New("the primary did not tell yet which database it is")
	errOtherStandby = errors.New("the server is a standby of another database")
	errDiverged     = errors.New("the standby has what the primary does not have: it did not follow a failover")
	errOldStandby   = fmt.Errorf("the standby is more than %v behind, or it is not known", mostAge)
)

// Standby reads reports from a streaming standby of the database, and from the primary where the standby is away, more than a minute
// old, or none of this database. It tells how old a report is by places in the write-ahead log: each second it asks the primary where
// it is, and before each report the standby how far it has come. So an idle primary does not make a standby look old, nor one that is
// cut off look new. Nothing but reports can be read through it. Safe for concurrent use.
type Standby struct {
	primary, copied          *Reader
	log                      *slog.Logger
	mostAge                  time.Duration
	fromStandby, fromPrimary atomic.Int64

	mu     sync.Mutex
	is     identity
	places []place // of the primary, the oldest first
	ahead  int64   // where a standby was that was ahead of the primary; 0: none was
	newest time.Time
	reason error // why the standby is not read from; nil: it is
}

// identity tells databases apart.
type identity struct {
	system   int64 // of the server and its standbys
	database string
}

// place is where a server was in its log: what was committed before is in front of it.
type place struct {
	lsn  int64     // bytes of log
	at   time.Time // by its clock
	seen time.Time // by ours, before it was asked
	// standby says that it is the place up to which a standby has replayed.
	standby bool
}

// OpenStandby makes a pool for a standby of primary's database. Nothing is dialled until Run, and the standby may be away. Close it
// when done.
func OpenStandby(ctx context.Context, dsn string, primary *Reader, log *slog.Logger, options ...postgres.Option) (*Standby, error) {
	db, err := postgres.Open(ctx, dsn, options...)
	if err != nil {
		return nil, fmt.Errorf("standby: %w", err)
	}
	copied := New(db)
	copied.known = primary.known
	return &Standby{primary: primary, copied: copied, log: log, mostAge: mostAge, newest: time.Now(),
		reason: errors.New("it was not asked yet")}, nil
}

// Close waits for connections in use and closes all.
func (s *Standby) Close() { s.copied.db.Close() }

// Run looks at the standby each second until ctx ends, and logs when reports begin to be read from the other server.
func (s *Standby) Run(ctx context.Context) error {
	for {
		before := s.problem()
		_, err := s.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (before == nil || before.Error() != err.Error()):
			s.log.WarnContext(ctx, "reports are read from the primary: the standby cannot be used", "error", err)
		case err == nil && before != nil:
			s.log.InfoContext(ctx, "reports are read from the standby")
		}
		if !background.Sleep(ctx, lookEvery) {
			return nil
		}
	}
}

// Look asks both servers where they are, and returns how old the standby is, or why reports are not read from it. The standby is asked
// before the primary too: one that is ahead of a primary that is asked later has diverged.
func (s *Standby) Look(ctx context.Context) (age time.Duration, err error) {
	before, _, err := where(ctx, s.copied.db.Pool(), standbyPlace)
	primary, failed := s.lookAtPrimary(ctx)
	if failed != nil {
		// What is known of the primary's places ages.
		s.log.DebugContext(ctx, "the primary did not tell its place", "error", failed)
	}
	var p place
	if err == nil {
		if failed == nil {
			s.compare(before, primary)
		}
		p, err = s.ask(ctx, s.copied.db.Pool())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reason = err
	if err == nil {
		s.newest = p.seen
	}
	return time.Since(s.newest), err
}

// compare keeps where a standby is that is ahead of the primary, which was asked later.
func (s *Standby) compare(standby, primary place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if standby.lsn > primary.lsn {
		s.ahead = standby.lsn
	}
}

// lookAtPrimary keeps where the primary is, and returns it.
func (s *Standby) lookAtPrimary(ctx context.Context) (p place, err error) {
	p, is, err := where(ctx, s.primary.db.Pool(), primaryPlace)
	if err != nil {
		return p, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is, s.places = is, append(s.places, p)
	if len(s.places) > mostPlaces {
		s.places = s.places[1:]
	}
	return p, nil
}

// What servers are asked for: is it a standby, the time, the place, and which database it is.
const (
	primaryPlace = `
		select false, now(), (pg_current_wal_lsn() - '0/0')::bigint, (select system_identifier from pg_control_system()), current_database()`
	standbyPlace = `
		select pg_is_in_recovery(), now(), coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint,
			(select system_identifier from pg_control_system()), current_database()`
)

// where asks a server by one of these statements, for lookTime at most.
func where(ctx context.Context, q postgres.Querier, statement string) (p place, is identity, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	p.seen = time.Now()
	_, err = postgres.Collect(ctx, q, func(row pgx.CollectableRow) (none struct{}, err error) {
		return none, row.Scan(&p.standby, &p.at, &p.lsn, &is.system, &is.database)
	}, statement)
	return p, is, postgres.Translate(err)
}

// ask asks a connection to the standby how far it has come. What is read there afterwards has all that was committed before the
// place. The error says why nothing is read there.
func (s *Standby) ask(ctx context.Context, q postgres.Querier) (place, error) {
	standby, is, err := where(ctx, q, standbyPlace)
	if err != nil {
		return place{}, err
	}
	return s.passed(standby, is)
}

// passed returns the newest of the primary's places that the standby has passed.
func (s *Standby) passed(standby place, is identity) (p place, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !standby.standby:
		return p, errNoStandby
	case len(s.places) == 0:
		return p, errNoPrimary
	case is != s.is:
		return p, errOtherStandby
	case standby.lsn == s.ahead && s.ahead != 0: // it stays there: the primary comes past it with other log
		return p, errDiverged
	}
	for _, known := range s.places {
		if known.lsn <= standby.lsn {
			p = known
		}
	}
	if time.Since(p.seen) > s.mostAge {
		return p, errOldStandby
	}
	return p, nil
}

func (s *Standby) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Report is as Reader.Report. Where it was read from the standby, AsOf is the moment up to which the standby has everything.
func (s *Standby) Report(ctx context.Context, q reports.Query) (*reports.Report, error) {
	if s.problem() == nil {
		var p place
		report, err := s.copied.reportAfter(ctx, q, func(ctx context.Context, conn postgres.Querier) (err error) {
			p, err = s.ask(ctx, conn)
			return err
		})
		if err == nil {
			s.fromStandby.Add(1)
			report.FromStandby, report.AsOf = true, p.at
			return report, nil
		}
		if errors.Is(err, reports.ErrTooManyRows) || errors.Is(err, reports.ErrTooManyChannels) || ctx.Err() != nil {
			return nil, err
		}
		s.log.WarnContext(ctx, "a report is read from the primary: the standby failed", "error", err)
	}
	s.fromPrimary.Add(1)
	return s.primary.Report(ctx, q)
}

// Age is how old the standby was at the last look that succeeded, and the time since.
func (s *Standby) Age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.newest)
}

// Counts are how many reports were read from the standby, and how many from the primary.
func (s *Standby) Counts() (fromStandby, fromPrimary int64) {
	return s.fromStandby.Load(), s.fromPrimary.Load()
}
