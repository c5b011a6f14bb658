package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// How often the relay looks for records. It publishes what this process commits
// at once; it polls for what others commit (the command line, another admin).
const (
	relayPoll    = 250 * time.Millisecond
	relayRetry   = time.Second
	relayBatch   = 500 // records
	relayTimeout = 10 * time.Second
	republishPer = 10 * time.Minute // so that a record that the topic lost comes back
)

// outboxMeasure is how often the outbox is measured, by every process: one that
// does not hold the lock must see that nobody publishes.
const outboxMeasure = 5 * time.Second

// measureOutbox sets the metrics of the outbox.
func (s *Server) measureOutbox(ctx context.Context) error {
	waiting, oldest, err := s.deps.Database.OutboxSize(ctx)
	if err != nil {
		return err
	}
	age := 0.0
	if waiting > 0 {
		age = max(0, s.now().Sub(oldest).Seconds())
	}
	s.metrics.outboxWaiting.Set(float64(waiting))
	s.metrics.outboxAge.Set(age)
	return nil
}

// relay publishes the outbox whenever this process holds the lock.
func (s *Server) relay(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.relayWhileHeld(ctx)
		s.metrics.relaying.Set(0)
		if err != nil && ctx.Err() == nil && !errors.Is(err, commerce.ErrConflict) {
			s.log.Warn("the outbox could not be published; trying again", "error", err)
		}
		background.Sleep(ctx, relayRetry)
	}
}

// relayWhileHeld takes the lock and publishes until an error or the end of ctx.
// It begins with the whole directory, since Kafka may be new or restored from a
// backup.
func (s *Server) relayWhileHeld(ctx context.Context) error {
	right, err := s.deps.Database.AcquireRelay(ctx)
	if err != nil {
		return err
	}
	defer right.Close()
	if s.deps.BeforePublishing != nil {
		if err := s.deps.BeforePublishing(ctx); err != nil {
			return err
		}
	}
	s.metrics.relaying.Set(1)
	for republishAt := s.now(); ; {
		if !s.now().Before(republishAt) {
			if err := s.republish(ctx, right); err != nil {
				return err
			}
			republishAt = s.now().Add(republishPer)
		}
		published, err := s.publishPending(ctx, right)
		if err != nil {
			return err
		}
		if published == relayBatch {
			continue
		}
		if !background.SleepOr(ctx, relayPoll, s.wake) {
			return nil
		}
	}
}

func (s *Server) republish(ctx context.Context, right account.OutboxRelay) error {
	n := 0
	err := right.Directory(ctx, strings.TrimSuffix(s.config.ShortBase, "/"), s.deps.Hasher.Check, func(page []account.OutboxRecord) error {
		n += len(page)
		return s.publish(ctx, page)
	})
	if err == nil {
		s.log.Info("directory published", "records", n)
	}
	return err
}

// publishPending publishes the oldest records in order, then deletes them. After
// a crash between the two they are published again, which is harmless: readers
// keep the higher revision.
func (s *Server) publishPending(ctx context.Context, right account.OutboxRelay) (int, error) {
	limited, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	records, err := right.Pending(limited, relayBatch)
	if err != nil {
		return 0, err
	}
	if len(records) == 0 {
		return 0, nil
	}
	if err := s.publish(ctx, records); err != nil {
		return 0, err
	}
	if err := s.publishRevisions(ctx, right, records); err != nil {
		return 0, err
	}
	ids := make([]int64, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	if err := right.Published(limited, ids); err != nil {
		return 0, err
	}
	s.metrics.published.Add(float64(len(records)))
	return len(records), nil
}

// publishRevisions publishes anew the companies of which something is on commerce.v1 now. So the directory always
// has a company's newest revision: a database that has an older one was restored from a backup.
func (s *Server) publishRevisions(ctx context.Context, right account.OutboxRelay, published []account.OutboxRecord) error {
	var records []account.OutboxRecord
	seen := map[string]bool{}
	for _, r := range published {
		if r.Topic != wire.TopicCommerce || seen[r.Key] {
			continue
		}
		seen[r.Key] = true
		company, err := right.Company(ctx, r.Key, s.deps.Hasher.Check)
		if errors.Is(err, commerce.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		records = append(records, company)
	}
	return s.publish(ctx, records)
}

// publish writes records with acks=all. It writes those of one topic that follow
// each other together, so that the order of all records is kept.
func (s *Server) publish(ctx context.Context, records []account.OutboxRecord) error {
	ctx, cancel := context.WithTimeout(ctx, relayTimeout)
	defer cancel()
	for len(records) > 0 {
		run := 1
		for run < len(records) && records[run].Topic == records[0].Topic {
			run++
		}
		batch := make([]wire.Record, run)
		for i, r := range records[:run] {
			batch[i] = wire.Record{Key: []byte(r.Key), Value: s.withKeyChecks(r)}
		}
		if err := s.deps.Producer.Produce(ctx, records[0].Topic, batch...); err != nil {
			return err
		}
		records = records[run:]
	}
	return nil
}

// withKeyChecks is a record's value; a company's gets the key checks of this process here: the
// command line has no hashing secret, and while the secret is being rotated, who publishes may
// have others than who made the change.
func (s *Server) withKeyChecks(r account.OutboxRecord) []byte {
	id, isCompany := strings.CutPrefix(r.Key, wire.CompanyKeyPrefix)
	if r.Topic != wire.TopicDirectory || !isCompany || r.Value == nil {
		return r.Value
	}
	var c wire.Company
	if err := json.Unmarshal(r.Value, &c); err != nil {
		return r.Value
	}
	c.KeyCheck, c.FormerKeyCheck = s.deps.Hasher.Check(id), s.deps.Hasher.FormerCheck(id)
	value, err := json.Marshal(c)
	if err != nil { // a struct of texts and numbers: cannot be
		return r.Value
	}
	return value
}

// The waits of OnKafka, between two looks and altogether.
const (
	firstLook   = 2 * time.Millisecond
	longestLook = 100 * time.Millisecond
	mostLooking = 5 * time.Second
)

// OnKafka waits until what is stored of a company now is on Kafka: whoever pays or decides is told so only then, since a
// database that is restored from a backup has it no more. It returns commerce.ErrNotOnKafka after 5 seconds.
func (s *Server) OnKafka(ctx context.Context, companyID string) error {
	background.Wake(s.wake)
	ctx, cancel := context.WithTimeout(ctx, mostLooking)
	defer cancel()
	last, err := s.deps.Database.OutboxWaits(ctx, companyID, 0)
	for look := firstLook; err == nil && last > 0; look = min(2*look, longestLook) {
		background.Sleep(ctx, look)
		if ctx.Err() != nil {
			break
		}
		last, err = s.deps.Database.OutboxWaits(ctx, companyID, last)
	}
	if err != nil || ctx.Err() != nil {
		return fmt.Errorf("%w: %w", commerce.ErrNotOnKafka, errors.Join(err, ctx.Err()))
	}
	return nil
}
