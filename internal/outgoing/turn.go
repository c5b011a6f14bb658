package outgoing

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	struggling  = 5   // attempts that failed in a row, from which on one message alone is tried
	deadTries   = 7   // attempts for one message over 17 hours, or
	deadInARow  = 100 // for all, some hours: fewer in commerce.DeadAfter do not say that a destination is dead
	longestRest = 5 * time.Minute
	blockedLook = 2 * time.Second // at least, where what waits is behind something that is tried again later
)

// turn sends a destination's messages until none is due or its turn is over, and gives it back.
func (e *Engine) turn(ctx context.Context, lease commerce.ConnectLease, d commerce.LeasedDestination) {
	health := commerce.DestinationHealth{FailingSince: d.FailingSince, Failures: d.Failures}
	send := e.deps.Transport.Begin(d)
	ends := e.now().Add(e.config.Slice)
	least := e.now().Add(blockedLook)
	for ctx.Err() == nil {
		more, rest, err := e.round(ctx, lease, d, send, &health)
		if errors.Is(err, commerce.ErrLeaseLost) {
			e.deps.Logger.Warn("another sender works on a destination now", "company", d.CompanyID, "destination", d.ID)
			return
		}
		if err != nil {
			if ctx.Err() == nil {
				e.deps.Logger.Warn("messages of a destination are not sent", "company", d.CompanyID, "destination", d.ID, "error", err)
			}
			break
		}
		if rest > 0 {
			least = e.now().Add(rest)
			break
		}
		if !more {
			break
		}
		if e.now().After(ends) {
			least = e.now() // its messages are due: others have their turn before
			break
		}
	}
	giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := e.deps.Database.ReleaseDestination(giving, lease, d, least, e.now().Add(e.config.IdleLook))
	if err != nil && !errors.Is(err, commerce.ErrLeaseLost) {
		e.deps.Logger.Warn("a destination is not given back: it is free when its lease ends", "destination", d.ID, "error", err)
	}
}

// round sends what is due, stores what became of it, and returns whether more may be due and how long the destination is to be left alone.
func (e *Engine) round(ctx context.Context, lease commerce.ConnectLease, d commerce.LeasedDestination, send Send,
	health *commerce.DestinationHealth) (more bool, rest time.Duration, err error) {
	limit := e.config.PerRound
	if health.Failures >= struggling {
		limit = 1
	}
	asking, cancel := context.WithTimeout(ctx, storeTime)
	held := time.Now() // of this process's own clock: the lease has at least its time from here on
	due, active, err := e.deps.Database.DueMessages(asking, lease, d, e.now(), limit)
	cancel()
	if err != nil || !active || len(due) == 0 {
		return false, 0, err
	}
	groups := e.together(due)
	var sent []commerce.Sent
	failed, tried, attempts := 0, 0, 0
	for i, r := range e.sendAll(ctx, held, send, groups) {
		if r == nil || r.Ended {
			continue
		}
		group := make([]commerce.Sent, 0, len(groups[i]))
		for _, m := range groups[i] {
			group = append(group, become(e.now(), m, r))
			if r.Try.Failure != "" && !r.Skip && r.Taken.IsZero() {
				tried = max(tried, m.Attempts+1)
			}
		}
		sent = append(sent, stayTogether(group)...)
		if !r.Later.IsZero() || !r.Taken.IsZero() || r.Never || r.Skip || r.Aside { // it says nothing of the destination
			continue
		}
		attempts++
		if r.Try.Failure == "" {
			health.DeliveredAt = e.now()
			continue
		}
		failed++
		if r.Gone {
			health.Disable = commerce.EndpointGone
		}
		if r.Slow || r.Wait > 0 {
			rest = max(rest, r.Wait, time.Second)
		}
	}
	if len(sent) == 0 {
		return false, 0, ctx.Err()
	}
	rest = max(rest, e.judge(health, attempts, failed, tried))
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := e.deps.Database.StoreSent(storing, lease, d, sent, *health); err != nil {
		return false, 0, err
	}
	if health.Disable != "" {
		e.deps.Logger.Warn("a destination is disabled", "company", d.CompanyID, "destination", d.ID, "reason", health.Disable)
		return false, 0, nil
	}
	return true, rest, nil
}

// become is what becomes of a message by the result of its attempt.
func become(now time.Time, m commerce.Message, r *Result) commerce.Sent {
	one := commerce.Sent{Number: m.Number, Try: r.Try, State: commerce.MessageDelivered}
	switch {
	case r.Skip:
		one.State = commerce.MessageSkipped
	case !r.Later.IsZero():
		one.State, one.DueAt, one.Untried = commerce.MessageWaiting, r.Later, true
	case !r.Taken.IsZero():
		one.State, one.DueAt = commerce.MessageWaiting, r.Taken
	case r.Try.Failure != "":
		at, goesOn := again(now, m.Attempts+1, r.Wait)
		one.State, one.DueAt = commerce.MessageWaiting, at
		if !goesOn || r.Never {
			one.State, one.DueAt = commerce.MessageParked, time.Time{}
		}
	}
	return one
}

// stayTogether has the messages of a group that wait tried again at one time, the latest of theirs.
func stayTogether(group []commerce.Sent) []commerce.Sent {
	var latest time.Time
	for i := range group {
		if group[i].DueAt.After(latest) {
			latest = group[i].DueAt
		}
	}
	for i := range group {
		if group[i].State == commerce.MessageWaiting {
			group[i].DueAt = latest
		}
	}
	return group
}

// judge brings a destination's health up to a round, and returns how long the destination is to be left alone. tried is how often the
// message was tried that failed most.
func (e *Engine) judge(health *commerce.DestinationHealth, attempts, failed, tried int) (rest time.Duration) {
	switch {
	case attempts == 0:
		return 0
	case failed < attempts:
		health.FailingSince, health.Failures = time.Time{}, 0
		return 0
	}
	health.Failures += failed
	if health.FailingSince.IsZero() {
		health.FailingSince = e.now()
	}
	if e.config.Mortal && e.now().Sub(health.FailingSince) > commerce.DeadAfter && (tried >= deadTries || health.Failures >= deadInARow) &&
		health.Disable == "" {
		health.Disable = commerce.EndpointDead
	}
	if health.Failures >= struggling {
		rest = min(time.Second<<min(health.Failures-struggling, 20), longestRest)
	}
	return rest
}

// together cuts messages into those that are sent as one, in their order.
func (e *Engine) together(due []commerce.Message) (groups [][]commerce.Message) {
	var names []string
	for _, m := range due {
		name := e.deps.Transport.Together(m)
		if i := slices.Index(names, name); name != "" && i >= 0 {
			groups[i] = append(groups[i], m)
			continue
		}
		names, groups = append(names, name), append(groups, []commerce.Message{m})
	}
	return groups
}

// sendAll sends groups of messages, some at once, while the lease has longer to run than an attempt may take; nil: it was not sent.
func (e *Engine) sendAll(ctx context.Context, held time.Time, send Send, groups [][]commerce.Message) []*Result {
	results := make([]*Result, len(groups))
	free := make(chan struct{}, e.config.Parallel)
	var sending sync.WaitGroup
	for i := range groups {
		free <- struct{}{}
		if ctx.Err() != nil || time.Since(held) > e.config.Lease-e.config.Timeout-storeTime {
			break
		}
		sending.Go(func() {
			began := e.now()
			r := send(ctx, groups[i])
			r.Try.At, r.Try.TookMS = began.UTC(), e.now().Sub(began).Milliseconds()
			results[i] = &r
			<-free
		})
	}
	sending.Wait()
	return results
}
