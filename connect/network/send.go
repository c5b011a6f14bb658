package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/connect/conversion"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// target is the account that is told.
type target struct {
	commerce.LeasedDestination
	account commerce.NetworkAccount
	secret  string
}

// allOrders reports whether the account is told also of orders that nobody is proven to have brought.
func (t *target) allOrders() bool { return slices.Contains(t.Types, commerce.ConversionOther) }

// soon is when it is looked again whether somebody's erasure is done, or the database can be read.
const soon = time.Minute

// tell tells an account what a message is about, as it is now. running ends when the service stops.
func (s *Sender) tell(ctx, running context.Context, to *target, m commerce.Message) (r outgoing.Result) {
	if m.Type == commerce.ConversionTest {
		return s.test(ctx, running, to, m)
	}
	var about commerce.ConversionTold
	if err := m.Into(&about); err != nil {
		s.deps.Logger.Error("a message of a network cannot be read", "company", to.CompanyID, "account", to.ID, "error", err)
		return outgoing.Result{Try: commerce.Try{Failure: commerce.TryRefused}, Never: true}
	}
	access, refused := s.access(ctx, to) // before the order is looked at: it may take long
	took := processing(m)
	if refused != nil && took == nil {
		return s.unmade(running, to, refused)
	}
	key := commerce.ToldConversion{OrderID: about.OrderID, Network: to.Kind, Account: to.account.Told()}
	told, err := s.deps.Database.ToldConversion(ctx, to.CompanyID, key)
	if errors.Is(err, commerce.ErrNotFound) {
		told, err = key, nil
	}
	if took != nil && err == nil && told.BegunAt.IsZero() { // it was another account that took it
		took = nil
	}
	if took != nil && err == nil {
		var settled bool
		if r, settled = s.settle(ctx, running, to, access, *took, told); !settled {
			return r
		}
	}
	var p plan
	if err == nil {
		p, err = s.planOf(ctx, to, about.OrderID, told)
	}
	switch {
	case err != nil:
		return s.unread(running, to, err)
	case !p.wait.IsZero():
		return outgoing.Result{Later: p.wait}
	case p.skip != "" && took != nil: // it was told, and nothing has changed that could be told
		return r
	case p.skip == commerce.SkipTooOld && m.Attempts > 0: // it was tried in time
		return outgoing.Result{Try: commerce.Try{Failure: p.skip}, Never: true}
	case p.skip != "":
		return skipped(p.skip)
	case refused != nil:
		return s.unmade(running, to, refused)
	}
	request, err := s.request(to, access, p.conversion)
	if err != nil {
		return s.unmade(running, to, err)
	}
	if r = s.check(ctx, running, to, access, p.conversion); r.Try.Failure != "" || r.Ended || r.Skip {
		return r
	}
	if told.BegunAt.IsZero() {
		told.BegunAt, told.Value = s.now(), p.value
	}
	if may, err := s.deps.Database.BeginConversion(ctx, to.LeasedDestination, told); err != nil || !may {
		if err != nil {
			return s.unread(running, to, err)
		}
		return outgoing.Result{Later: s.now().Add(soon)}
	}
	if r = s.post(ctx, running, to, request); r.Ended || r.Try.Failure != "" && r.Taken.IsZero() {
		return r
	}
	if !r.Taken.IsZero() && p.conversion.Type == conversion.Refund {
		former := told.Value.Minor
		r.Try.Former = &former
	}
	told.SentAt, told.Value = s.now(), p.value
	// The network has it: also where the service stops now.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := s.deps.Database.StoreConversion(storing, to.CompanyID, told); err != nil {
		return s.unread(running, to, err) // it is sent again, and the network knows it by its id
	}
	if p.again && r.Taken.IsZero() {
		return outgoing.Result{Later: s.now()}
	}
	return r
}

// When Google is asked what became of a request (data-manager/api/devguides/diagnostics: after 30 minutes, then less and less often; it
// may take 24 hours).
const (
	firstAsked = 30 * time.Minute
	lastAsked  = 24 * time.Hour
)

// processing is the attempt by which the network took a message and has not said yet what became of it; nil: there is none. What failed
// on our side since says nothing of it.
func processing(m commerce.Message) *commerce.Try {
	for i := len(m.Tries) - 1; i >= 0; i-- {
		switch m.Tries[i].Failure {
		case commerce.TryProcessing:
			return &m.Tries[i]
		case commerce.TryNoSecret, commerce.TryAccount, commerce.TryUnread:
		default:
			return nil
		}
	}
	return nil
}

// settle asks the network what became of a message that it took; not where access is "". settled is true where it has it, or where it
// did not say for a day; else r is what becomes of the message.
func (s *Sender) settle(ctx, running context.Context, to *target, access string, took commerce.Try, told commerce.ToldConversion,
) (r outgoing.Result, settled bool) {
	of, o := conversion.Purchase, conversion.Outcome{Verdict: conversion.Later}
	if took.Former != nil {
		of = conversion.Refund
	}
	if access != "" {
		status, _, body, failure := s.ask(ctx, conversion.StatusRequest(took.Answer, conversion.Account{Secret: access}))
		if failure == "" {
			o = conversion.StatusOf(of, status, body)
		}
		if r.Try.Status = status; status == http.StatusUnauthorized {
			s.tokens.forget(to.secret)
		}
	}
	now, ends := s.now(), took.At.Add(lastAsked)
	switch {
	case o.Verdict == conversion.Taken:
		return r, true
	case running.Err() != nil:
		return outgoing.Result{Ended: true}, false
	case o.Words != "":
		return s.dropped(ctx, to, r, o, took, told), false
	case now.Before(ends):
		return outgoing.Result{Later: commerce.Earlier(ends, now.Add(max(firstAsked, now.Sub(took.At))))}, false
	}
	r.Aside = true
	return r, true
}

// dropped is what becomes of a message that the network took and did not count: it has what it had before.
func (s *Sender) dropped(ctx context.Context, to *target, r outgoing.Result, o conversion.Outcome, took commerce.Try,
	told commerce.ToldConversion) outgoing.Result {
	told.SentAt, told.Value.Minor = time.Time{}, 0
	if took.Former != nil {
		told.SentAt, told.Value.Minor = took.At, *took.Former
	}
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := s.deps.Database.StoreConversion(storing, to.CompanyID, told); err != nil {
		s.deps.Logger.Warn("what a network dropped is not stored", "company", to.CompanyID, "account", to.ID, "error", err)
		return outgoing.Result{Later: s.now().Add(soon)}
	}
	r.Try.Failure, r.Try.Answer = commerce.TryStatus, printable(o.Words) // it is sent again
	if o.Verdict == conversion.Refused {
		r.Try.Failure, r.Never = commerce.TryRefused, true
	}
	return r
}

// printable is a network's words as they are kept.
func printable(words string) string {
	return outgoing.Printable([]byte(words[:min(len(words), keptWords)]))
}

// checkEvery is how often a conversion of an account at GA4 is checked before it is sent. GA4 says of nothing that it takes whether it is
// right: the address that checks does.
const checkEvery = 24 * time.Hour

// mostChecked is of how many accounts it is remembered when they were checked.
const mostChecked = 1000

// check has GA4 look at a conversion where none of the account was found right for a day. Other networks say what is wrong when they are
// told.
func (s *Sender) check(ctx, running context.Context, to *target, access string, c conversion.Conversion) (r outgoing.Result) {
	if to.Kind != commerce.ToGA4 || to.account.Test != "" {
		return r
	}
	account := to.CompanyID + " " + to.ID + " " + to.account.ID
	s.mu.Lock()
	last := s.checked[account]
	s.mu.Unlock()
	if s.now().Sub(last) < checkEvery {
		return r
	}
	checked := *to
	checked.account.Test = commerce.NetworkCheck
	request, err := s.request(&checked, access, c)
	if err != nil {
		return s.unmade(running, to, err)
	}
	if r = s.post(ctx, running, &checked, request); r.Try.Failure != "" || r.Ended {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.checked) >= mostChecked {
		clear(s.checked)
	}
	s.checked[account] = s.now()
	return r
}

// storeTime bounds what is stored of an answer.
const storeTime = 5 * time.Second

func skipped(why string) outgoing.Result {
	return outgoing.Result{Skip: true, Try: commerce.Try{Failure: why}}
}

// unread is what becomes of a message whose order cannot be read, or of which nothing can be stored: it is tried again, as one that fails,
// and says nothing of the account.
func (s *Sender) unread(running context.Context, to *target, err error) outgoing.Result {
	if running.Err() != nil {
		return outgoing.Result{Ended: true}
	}
	s.deps.Logger.Warn("an order for a network cannot be read or stored", "company", to.CompanyID, "account", to.ID, "error", err)
	return outgoing.Result{Try: commerce.Try{Failure: commerce.TryUnread}, Aside: true}
}

// access is what lets us in at the network: of Google an access token, else the secret. A *refusal where there is none.
func (s *Sender) access(ctx context.Context, to *target) (string, error) {
	if to.Kind == commerce.ToGoogle {
		return s.tokens.of(ctx, to.secret)
	}
	return to.secret, nil
}

// request makes the request that tells of a conversion.
func (s *Sender) request(to *target, access string, c conversion.Conversion) (conversion.Request, error) {
	a := conversion.Account{ID: to.account.ID, Action: to.account.Action, Login: to.account.Login, Secret: access, Test: to.account.Test}
	return conversion.RequestOf(conversion.Network(to.Kind), c, a, s.now())
}

// unmade is what becomes of a message for which there is no request.
func (s *Sender) unmade(running context.Context, to *target, err error) outgoing.Result {
	var refused *refusal
	switch {
	case errors.Is(err, conversion.ErrNoRefund):
		return skipped(commerce.SkipNoRefund)
	case errors.Is(err, conversion.ErrNobody):
		return skipped(commerce.SkipNobody)
	case errors.As(err, &refused):
		if running.Err() != nil {
			return outgoing.Result{Ended: true}
		}
		return refused.result
	}
	s.deps.Logger.Error("a conversion cannot be told", "company", to.CompanyID, "account", to.ID, "error", err)
	return outgoing.Result{Try: commerce.Try{Failure: commerce.TryRefused, Answer: outgoing.Printable([]byte(err.Error()))}, Never: true}
}

// test tells an account of a sale that is made up, where the network can take one without counting it.
func (s *Sender) test(ctx, running context.Context, to *target, m commerce.Message) outgoing.Result {
	c := conversion.Conversion{Type: conversion.Purchase, OrderID: "tributary-test-" + fmt.Sprint(m.Number), At: s.now(),
		Value:  commerce.Amount{Minor: 100, Currency: commerce.BRL},
		Items:  []conversion.Item{{ID: "tributary-test", Quantity: 1, Price: "1.00"}},
		Person: conversion.Person{Email: "test@example.com", UserAgent: "Tributary test"},
		Clicks: conversion.Clicks{Client: "1.1"}, PageURL: "https://example.com/"}
	checked := *to
	if checked.account.Test == "" {
		checked.account.Test = commerce.NetworkCheck
	}
	if to.account.TestCounts(to.Kind) {
		return outgoing.Result{Try: commerce.Try{Failure: commerce.TryRefused,
			Answer: "set the code of tests that the network shows first"}, Never: true}
	}
	access, err := s.access(ctx, to)
	var request conversion.Request
	if err == nil {
		request, err = s.request(&checked, access, c)
	}
	if err != nil {
		return s.unmade(running, to, err)
	}
	return s.post(ctx, running, &checked, request)
}

// post makes one request, and says what became of it.
func (s *Sender) post(ctx, running context.Context, to *target, request conversion.Request) (r outgoing.Result) {
	status, header, body, failure := s.ask(ctx, request)
	r.Ended = failure != "" && running.Err() != nil
	if r.Try.Status, r.Try.Failure = status, failure; failure != "" {
		return r
	}
	outcome := conversion.AnswerOf(conversion.Network(to.Kind), status, body)
	r.Try.Answer = printable(outcome.Words)
	switch outcome.Verdict {
	case conversion.Taken:
		r.Try.Answer = ""
		if outcome.Request != "" && to.account.Test == "" { // of one that was only checked Google says no more
			r.Try.Failure, r.Try.Answer, r.Taken = commerce.TryProcessing, printable(outcome.Request), s.now().Add(firstAsked)
		}
	case conversion.Refused:
		r.Try.Failure, r.Never = commerce.TryRefused, true
	case conversion.Stopped:
		r.Try.Failure = commerce.TryAccount
		s.tokens.forget(to.secret)
	default:
		r.Try.Failure, r.Wait, r.Slow = commerce.TryStatus, platform.RetryAfter(header, s.now()), status == http.StatusTooManyRequests
	}
	return r
}

// ask makes one request, and reads the answer, at most maxAnswer of it. failure is commerce.Try… where none came.
func (s *Sender) ask(ctx context.Context, q conversion.Request) (status int, header http.Header, body []byte, failure string) {
	method := http.MethodPost
	if q.Body == nil {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, s.config.Options.Rewritten(q.URL), bytes.NewReader(q.Body))
	if err != nil {
		return 0, nil, nil, commerce.TryAddress
	}
	request.Header = q.Header.Clone()
	request.Header.Set("User-Agent", s.config.Options.UserAgent)
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, nil, outgoing.FailureOf(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return response.StatusCode, nil, nil, commerce.TryNoAnswer
	}
	return response.StatusCode, response.Header, body, ""
}
