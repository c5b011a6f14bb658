package connect

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/tracing"
)

// visit is one turn of one connection. It has one goroutine, so that no order of a connection is fetched twice at a time.
type visit struct {
	*Server
	*session
	lease commerce.ConnectLease
	c     commerce.LeasedConnection // kept as the database has it
	key   string                    // the API key of its store
	// asked tells that the shop was asked in this turn who it is.
	asked bool
	// noticeAt is when the first of the notices is due that are tried again; zero: there is none.
	noticeAt time.Time
	// personsDone tells that notices of persons were looked at before all others.
	personsDone bool
}

// Waits of a connection.
const (
	leastRetry = 10 * time.Second // after a failure
	mostRetry  = 5 * time.Minute
	idleLook   = 24 * time.Hour // of one that has nothing to do
)

// run does what is due until nothing is, and returns when to look again. What a merchant waits for goes first. The others have
// turns, which go on in the next visit: notices that never end, or fail each time, keep nobody from reading what was not told.
func (v *visit) run(ctx context.Context) (next time.Time) {
	if span := v.Tracer.Root("visit", tracing.Internal, time.Now()); span != nil {
		span.Set(tracing.Platform(v.c.Platform), tracing.Company(v.c.CompanyID))
		defer func() { span.End(time.Now()) }()
		ctx = tracing.Within(ctx, span)
	}
	until := v.Now().Add(v.config.Slice)
	turns := []func(ctx context.Context) (did bool, err error){v.notices, v.poll, v.keepNotices, v.compare, v.backfill}
	for idle := 0; idle < len(turns); {
		did, err := false, error(nil)
		if idle == 0 { // at first, and after something was done
			did, err = v.urgent(ctx)
		}
		if err == nil && !did {
			do := turns[v.turn]
			v.turn = (v.turn + 1) % len(turns)
			did, err = do(ctx)
			idle++
		}
		if err == nil && idle == len(turns) && !did {
			err = v.sealAnew(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return v.Now()
		case err != nil:
			return v.failed(ctx, err)
		case did && v.Now().After(until):
			return v.Now() // others have their turn first
		case did:
			idle = 0
		}
	}
	v.failures = 0
	return v.nextDue()
}

// urgent does what somebody waits for: tasks, what persons ask for, and the beginning of a connection.
func (v *visit) urgent(ctx context.Context) (did bool, err error) {
	if v.key == "" && len(v.c.SealedAPIKey) > 0 {
		plain, err := v.Keys.Open(v.c.APIKeyKeyID, v.bound(account.SealAPIKey), v.c.SealedAPIKey)
		if err != nil {
			return false, &platform.Error{Reason: commerce.ShopNoService, Detail: "the service does not have the key of its API key"}
		}
		v.key = string(plain)
	}
	if did, err := v.tasks(ctx); did || err != nil {
		return did, err
	}
	if did, err := v.persons(ctx); did || err != nil {
		return did, err
	}
	return v.start(ctx)
}

// runs tells that the connection brings orders, and may be asked for them now.
func (v *visit) runs() bool {
	return brings(v.c.State) && v.key != "" && !v.Now().Before(v.retryAt)
}

// nextDue is when the connection has something to do again, beside what comes in.
func (v *visit) nextDue() time.Time {
	now := v.Now()
	soonest := func(next time.Time, others ...time.Time) time.Time {
		for _, at := range others {
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		return next
	}
	switch {
	case v.runs() && v.c.State == commerce.ConnectionLive:
		return soonest(v.c.PolledAt.Add(v.c.PollEvery), v.noticeAt, v.compareDue(), v.compared.due())
	case v.runs():
		return soonest(v.c.PolledAt.Add(v.c.PollEvery), v.noticeAt)
	case now.Before(v.retryAt):
		return soonest(v.retryAt, v.noticeAt)
	}
	return soonest(now.Add(idleLook), v.noticeAt)
}

// failed notes why the connection was not worked on to its end, and returns when it is tried again.
func (v *visit) failed(ctx context.Context, err error) time.Time {
	var shop *platform.Error
	var ours *apiError
	v.failures++
	wait := backOff(v.failures)
	switch {
	case errors.Is(err, commerce.ErrLeaseLost), errors.Is(err, commerce.ErrConnectionState), errors.Is(err, commerce.ErrNotFound):
		// Somebody else works on it, or the merchant paused or removed it: it is looked at as it is then.
		return v.Now()
	case errors.As(err, &shop):
		wait = max(wait, shop.RetryAfter)
		v.retryAt = v.Now().Add(wait)
		err = v.noteFailure(ctx, shop)
	case errors.As(err, &ours) && ours.keyRefused():
		v.retryAt = v.Now().Add(wait)
		err = v.noteFailure(ctx, &platform.Error{Reason: commerce.ShopOrderRefused, Detail: "the store does not take its API key: " + ours.code})
	}
	if err != nil && ctx.Err() == nil {
		v.metrics.ownFailures.Inc()
		v.Logger.Warn("a connection waits for this side", v.named("error", err)...)
	}
	return v.Now().Add(wait)
}

// backOff is how long to wait after so many failures in a row.
func backOff(failures int) time.Duration {
	wait := min(leastRetry<<min(failures-1, 10), mostRetry)
	return wait/2 + rand.N(wait) //nolint:gosec // spreads retries: nothing secret
}

// noteFailure stores why the shop cannot be read. One that refuses the keys for a day, or that removed the app, is not asked again.
func (v *visit) noteFailure(ctx context.Context, why *platform.Error) error {
	c := &v.c
	if !brings(c.State) && (c.State != commerce.ConnectionPaused || why.Reason != commerce.ShopUninstalled) {
		return nil // a merchant waits for a task, whose answer says why
	}
	change := commerce.ConnectStateChange{State: commerce.ConnectionFailing, Reason: why.Reason, Detail: cut(why.Detail)}
	refused := why.Reason == commerce.ShopRefusedKey && c.State == commerce.ConnectionFailing && c.Reason == commerce.ShopRefusedKey
	switch {
	case why.Reason == commerce.ShopUninstalled, refused && v.Now().Sub(c.Since) >= refusedLife:
		change.State = commerce.ConnectionEnded
	case why.Reason == commerce.ShopLimited && c.State != commerce.ConnectionFailing && v.Now().Sub(c.PolledAt) < limitedLife:
		return nil // it asked to wait, which is not long yet
	case c.State == commerce.ConnectionFailing && c.Reason == change.Reason && c.Detail == change.Detail:
		return nil
	}
	v.Logger.Warn("a shop cannot be read", v.named("state", change.State, "reason", change.Reason)...)
	return v.change(ctx, change)
}

const (
	refusedLife = 24 * time.Hour   // of a connection whose keys are refused
	limitedLife = 15 * time.Minute // how long a shop may ask to wait until that is a failure
)

// change stores what was found out, here and in the database.
func (v *visit) change(ctx context.Context, change commerce.ConnectStateChange) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if change.State != "" {
		change.From = v.c.State
	}
	if err := v.Database.SetConnectionState(ctx, v.lease, v.c.CompanyID, v.c.ID, change); err != nil {
		return err
	}
	c := &v.c
	if change.State != "" {
		if change.State != c.State || change.Reason != c.Reason {
			c.Since = v.Now()
		}
		c.State, c.Reason, c.Detail = change.State, change.Reason, change.Detail
	}
	if change.NoticesOn != nil {
		c.NoticesOn = *change.NoticesOn
	}
	for _, it := range []struct{ to, from *string }{
		{&c.Shop, &change.Shop}, {&c.ShopName, &change.ShopName}, {&c.ShopURL, &change.ShopURL}, {&c.Currency, &change.Currency},
	} {
		if *it.from != "" {
			*it.to = *it.from
		}
	}
	if len(change.Sealed) > 0 {
		c.Sealed, c.KeyID = change.Sealed, change.KeyID
	}
	if len(change.SealedAPIKey) > 0 {
		c.SealedAPIKey, c.APIKeyKeyID = change.SealedAPIKey, change.APIKeyKeyID
	}
	v.known.forget(c.ID)
	return nil
}

// named are attributes of a line of the log, with what names the connection. The whole id is the address of its notices, which
// only the platform should know.
func (v *visit) named(more ...any) []any { return append(v.names(), more...) }

func (v *visit) names() []any { return namesOf(v.c) }

func namesOf(c commerce.LeasedConnection) []any {
	return []any{"company", c.CompanyID, "connection", shownID(c.ID), "platform", c.Platform}
}

// shownID is as much of a connection's id as a log has.
func shownID(id string) string { return id[:min(len(id), 8)] }
