package shop

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of the sender: attempts under way at once, and attempts that wait.
const (
	senders    = 4
	mostQueued = 200_000
)

// sender sends notices one attempt at a time in the order of their time, with the faults of the seed.
type sender struct {
	shop   *Shop
	client *http.Client
	work   sync.WaitGroup

	mu     sync.Mutex
	queue  []attempt // by due
	held   []attempt // reversed: sent after the next one
	flying int
	serial int64
	wake   chan struct{}
}

type attempt struct {
	Delivery
	due time.Time
}

func newSender(s *Shop) *sender {
	n := &sender{shop: s, wake: make(chan struct{}, senders), client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: senders},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for range senders {
		n.work.Go(n.run)
	}
	return n
}

// wait waits until the senders have ended; the shop's context must be over.
func (n *sender) wait() {
	n.work.Wait()
	n.client.CloseIdleConnections()
}

// about queues the notices of a change. The shop's lock is held.
func (n *sender) about(kind Kind, o Order) {
	topics := n.shop.platform.Topics(kind, o)
	event := ""
	for _, sub := range n.shop.subs {
		for _, topic := range topics {
			if sub.Disabled || n.shop.suspended || !slices.Contains(sub.Topics, topic) {
				continue
			}
			if event == "" {
				event = n.newID()
			}
			n.begin(Delivery{Event: event, Topic: topic, Order: o, At: n.shop.Now(), Subscription: sub}, n.shop.faults, n.shop.dice)
		}
	}
}

func (n *sender) newID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serial++
	digest := n.shop.options.Secret(fmt.Sprint("notice", n.serial), 32)
	return digest[:8] + "-" + digest[8:12] + "-" + digest[12:16] + "-" + digest[16:20] + "-" + digest[20:]
}

// begin queues the first attempt at a notice, or what the faults make of it.
func (n *sender) begin(d Delivery, faults Faults, dice *dice) {
	d.ID = n.newID()
	if dice.chance(faults.Forged) {
		n.shop.met("forged")
		forged := d
		forged.Forged = 1 + dice.n(3)
		n.push(forged, 0)
	}
	if dice.chance(faults.Lost) {
		n.shop.met("lost")
		return
	}
	if dice.chance(faults.Doubled) {
		n.shop.met("doubled")
		n.push(d, 0)
	}
	if dice.chance(faults.Reversed) {
		n.shop.met("reversed")
		n.mu.Lock()
		n.held = append(n.held, attempt{Delivery: d})
		n.mu.Unlock()
		return
	}
	n.push(d, 0)
	n.release()
}

// release queues what was held back.
func (n *sender) release() {
	n.mu.Lock()
	held := n.held
	n.held = nil
	n.mu.Unlock()
	for _, a := range held {
		n.push(a.Delivery, 0)
	}
}

func (n *sender) push(d Delivery, wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= mostQueued {
		return
	}
	a := attempt{Delivery: d, due: time.Now().Add(wait)}
	at, _ := slices.BinarySearchFunc(n.queue, a, func(x, y attempt) int { return cmp.Or(x.due.Compare(y.due), -1) })
	n.queue = slices.Insert(n.queue, at, a)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run sends what is due until the shop ends.
func (n *sender) run() {
	for {
		n.mu.Lock()
		var a attempt
		wait := time.Hour
		if len(n.queue) > 0 {
			if wait = time.Until(n.queue[0].due); wait <= 0 {
				a, n.queue = n.queue[0], n.queue[1:]
				n.flying++
			}
		}
		n.mu.Unlock()
		if wait <= 0 {
			n.send(a.Delivery)
			n.mu.Lock()
			n.flying--
			n.mu.Unlock()
			if n.shop.ctx.Err() != nil {
				return
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-n.wake:
		case <-timer.C:
		case <-n.shop.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// send does one attempt and decides about the next.
func (n *sender) send(d Delivery) {
	s := n.shop
	sub, ok := s.Subscription(d.Subscription.ID)
	if d.Subscription.ID != 0 && (!ok || sub.Disabled) {
		return
	}
	if d.Subscription.ID == 0 {
		sub = d.Subscription // an address that is set on the app
	}
	d.Subscription = sub
	policy := s.platform.Policy()
	status := n.post(d, policy)
	success := status >= 200 && status < 300
	if policy.Success != nil {
		success = policy.Success(status)
	}
	s.stat(func(stats *Stats) {
		switch {
		case d.Forged != NotForged:
			stats.Forged++
			if success {
				stats.ForgedTaken++
			}
		case success:
			stats.Notices++
			stats.Accepted++
		default:
			stats.Notices++
			stats.Refused++
		}
	})
	if d.Forged != NotForged || s.ctx.Err() != nil {
		return
	}
	if s.delivered(sub.ID, success, policy) || success || d.Attempt >= len(policy.Waits) {
		return
	}
	wait := time.Duration(float64(policy.Waits[d.Attempt]) * s.options.RetryScale)
	d.Attempt++
	n.push(d, wait)
}

// post sends the request and gives the answer's status, 0 when there was none in time.
func (n *sender) post(d Delivery, policy Policy) int {
	ctx, cancel := context.WithTimeout(n.shop.ctx, policy.Timeout)
	defer cancel()
	header, body := n.shop.platform.Request(n.shop, d)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Subscription.URL, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header = header
	answer, err := n.client.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody))
	return answer.StatusCode
}

// delivered counts failures in a row, and ends a subscription that has too many; true when it ended.
func (s *Shop) delivered(id int64, success bool, policy Policy) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.subs, func(sub Subscription) bool { return sub.ID == id })
	if at < 0 {
		return false
	}
	s.subs = slices.Clone(s.subs)
	if success {
		s.subs[at].Failures = 0
		return false
	}
	s.subs[at].Failures++
	if policy.EndAfter == 0 || s.subs[at].Failures < policy.EndAfter || s.subs[at].Disabled {
		return false
	}
	if policy.Disable {
		s.subs[at].Disabled = true
		s.subs[at].UpdatedAt = s.Now()
	} else {
		s.subs = slices.Delete(s.subs, at, at+1)
	}
	s.stat(func(stats *Stats) { stats.Ended++ })
	return true
}

// Settle waits until no notice is under way or waits to be sent (again), or ctx is over.
func (s *Shop) Settle(ctx context.Context) error {
	for {
		s.notices.release()
		s.notices.mu.Lock()
		waiting := len(s.notices.queue) + s.notices.flying
		s.notices.mu.Unlock()
		if waiting == 0 {
			return nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d notices are not settled: %w", waiting, ctx.Err())
		}
	}
}

// Notify sends a notice that is about no order to all that subscribed to the topic, and to the address that SetAddress
// gave for it.
func (s *Shop) Notify(topic string, extra any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Delivery{Event: s.notices.newID(), Topic: topic, At: s.Now(), Extra: extra}
	for _, sub := range s.subs {
		if !sub.Disabled && slices.Contains(sub.Topics, topic) {
			d.Subscription = sub
			s.notices.begin(d, s.faults, s.dice)
		}
	}
	if url := s.private[topic]; url != "" {
		d.Subscription = Subscription{URL: url, Topics: []string{topic}}
		s.notices.begin(d, s.faults, s.dice)
	}
}

// Forge sends a forged notice about an order to all subscriptions of the topic: how is ForgedKey, ForgedNone or ForgedBody.
func (s *Shop) Forge(topic string, o Order, how int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if !sub.Disabled && slices.Contains(sub.Topics, topic) {
			s.notices.push(Delivery{
				ID: s.notices.newID(), Event: s.notices.newID(), Topic: topic, Order: o, At: s.Now(), Subscription: sub, Forged: how,
			}, 0)
		}
	}
}

// SetAddress sets the address for notices that are set on the app, not subscribed to: privacy requests.
func (s *Shop) SetAddress(topic, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.private[topic] = url
}

// Subscribe adds a subscription. A first request to try the address is the platform's own, by Ping.
func (s *Shop) Subscribe(sub Subscription) Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.ID = s.nextID()
	sub.CreatedAt = s.Now()
	sub.UpdatedAt = sub.CreatedAt
	s.subs = append(slices.Clone(s.subs), sub)
	return sub
}

// Subscription finds a subscription; false when there is none.
func (s *Shop) Subscription(id int64) (Subscription, bool) {
	for _, sub := range s.Subscriptions() {
		if sub.ID == id {
			return sub, true
		}
	}
	return Subscription{}, false
}

// Subscriptions lists the subscriptions, oldest first, disabled ones too.
func (s *Shop) Subscriptions() []Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subs // a change makes a new slice
}

// ChangeSubscription lets change alter a subscription; false when there is none.
func (s *Shop) ChangeSubscription(id int64, change func(*Subscription)) (Subscription, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.subs, func(sub Subscription) bool { return sub.ID == id })
	if at < 0 {
		return Subscription{}, false
	}
	s.subs = slices.Clone(s.subs)
	change(&s.subs[at])
	s.subs[at].UpdatedAt = s.Now()
	return s.subs[at], true
}

// Unsubscribe removes a subscription; false when there is none.
func (s *Shop) Unsubscribe(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.subs)
	s.subs = slices.DeleteFunc(slices.Clone(s.subs), func(sub Subscription) bool { return sub.ID == id })
	return len(s.subs) < before
}

// UnsubscribeAll removes all subscriptions: the app is uninstalled.
func (s *Shop) UnsubscribeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = nil
}

// Ping posts one request outside of the queue, and gives the answer's status (0: none in time).
func (s *Shop) Ping(ctx context.Context, url string, header http.Header, body []byte, timeout time.Duration) int {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header = header
	answer, err := s.notices.client.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody))
	return answer.StatusCode
}
