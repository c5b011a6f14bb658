package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Options of Run.
type Options struct {
	Wait     time.Duration           // at most so long until the recompute queue is empty; 0: not at all
	Keep     bool                    // the fresh schema stays, also after an error
	Progress func(p Progress)        // called after each part that was applied; nil: nobody
	Waiting  func(because error)     // called before each pause of Wait; nil: nobody
	Created  func(schemaName string) // called once the fresh schema is there; nil: nobody
	Connect  []postgres.Option       // of the connections that see the fresh schema
}

// Progress is how far a replay has come.
type Progress struct {
	Company, Companies        int // the number of the company that is replayed now, from 1 on; of how many
	Events, Decisions, Orders int // applied so far, of all companies; Orders are versions
}

// pause is the wait until a live schema with queued orders is looked at again.
const pause = time.Second

// Run applies the stored facts of the live schema to a fresh one, with apply, one
// company after the other, and then calls then. Both schemas are read in one snapshot:
// what comes meanwhile is in neither. The fresh schema is dropped at the end, also after
// an error or where ctx ends, unless Options.Keep. dsn is the connection string of live.
func Run(ctx context.Context, live *postgres.DB, dsn string, o Options,
	apply func(ctx context.Context, to *Schema, parts iter.Seq2[facts.Stored, error]) error,
	then func(s *Snapshot, fresh *Schema) error,
) error {
	deadline := time.Now().Add(o.Wait)
	for {
		err := InSnapshot(ctx, live, func(s *Snapshot) error { return s.replay(ctx, live, dsn, o, apply, then) })
		waits := errors.Is(err, ErrQueued) || errors.Is(err, ErrErasing) || errors.Is(err, ErrOutbox)
		if !waits || !time.Now().Add(pause).Before(deadline) {
			return err
		}
		if o.Waiting != nil {
			o.Waiting(err)
		}
		if !background.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// replay does what Run does on one snapshot.
func (s *Snapshot) replay(ctx context.Context, live *postgres.DB, dsn string, o Options,
	apply func(ctx context.Context, to *Schema, parts iter.Seq2[facts.Stored, error]) error,
	then func(s *Snapshot, fresh *Schema) error,
) (err error) {
	fresh, err := Create(ctx, live, dsn, time.Now(), o.Connect...)
	if err != nil {
		return err
	}
	defer func() {
		if o.Keep {
			fresh.Close()
		} else {
			err = errors.Join(err, fresh.Drop(ctx))
		}
	}()
	if o.Created != nil {
		o.Created(fresh.Name)
	}
	progress := Progress{Companies: len(s.Companies)}
	for i, company := range s.Companies {
		progress.Company = i + 1
		if err := s.CopyRules(ctx, company, fresh); err != nil {
			return err
		}
		if err := s.CopyEvidence(ctx, company, fresh); err != nil {
			return err
		}
		if err := s.CopyStatements(ctx, company, fresh); err != nil {
			return err
		}
		if err := apply(ctx, fresh, s.counted(ctx, company, &progress, o.Progress)); err != nil {
			return fmt.Errorf("company %s: %w", company, err)
		}
	}
	return then(s, fresh)
}

// counted returns a company's facts, and counts each part once it was applied.
func (s *Snapshot) counted(ctx context.Context, company string, p *Progress, report func(p Progress)) iter.Seq2[facts.Stored, error] {
	return func(yield func(facts.Stored, error) bool) {
		for part, err := range s.Facts(ctx, company) {
			if !yield(part, err) {
				return
			}
			p.Events, p.Decisions, p.Orders = p.Events+len(part.Events), p.Decisions+len(part.Decisions), p.Orders+len(part.Orders)
			if report != nil {
				report(*p)
			}
		}
	}
}
