package vtex

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// Bounds of the feed.
const (
	mostLot       = 10
	mostReads     = 100
	mostRetention = 1_209_600 // seconds
	keep          = 345_600   // seconds, when the configuration says nothing
)

// anyChange is the topic of a hook that an expression chooses.
const anyChange = "any change"

// filter is what feed and hook are told.
type filter struct {
	Type              string   `json:"type"`
	Status            []string `json:"status,omitempty"`
	Expression        string   `json:"expression,omitempty"`
	DisableSingleFire bool     `json:"disableSingleFire"`
}

type feed struct {
	filter                filter
	visibility, retention time.Duration
	events                []*event
	fired                 map[int64]bool
}

type event struct {
	id, handle, state, last, order string
	lastChange, change             time.Time
	hidden                         time.Time // until when it is not given again
	reads                          int
}

// states lists the states that a change passes, oldest first.
func (p *Platform) states(kind shop.Kind, o shop.Order) []string {
	switch kind {
	case shop.Placed:
		return []string{"order-created", "payment-pending"}
	case shop.PaidNow:
		return []string{"payment-approved", "ready-for-handling"}
	case shop.Shipped, shop.Delivered:
		return []string{"invoiced"}
	case shop.Cancelled:
		if o.State == shop.Voided && !o.Cancelled {
			return []string{"payment-denied", "canceled"}
		}
		return []string{"cancel", "canceled"}
	}
	return nil
}

// before is the state that usually comes before one.
var before = map[string]string{
	"payment-pending": "order-created", "payment-approved": "payment-pending", "ready-for-handling": "payment-approved",
	"invoiced":       "handling",
	"payment-denied": "payment-pending", "cancel": "ready-for-handling", "canceled": "cancel",
}

var statusIs = regexp.MustCompile(`status\s*=\s*["']([a-z-]+)["']`)

// wants says whether an expression is true of an order: see the package's comment.
func (p *Platform) wants(f filter, o shop.Order) bool {
	if named := statusIs.FindAllStringSubmatch(f.Expression, -1); len(named) > 0 {
		return slices.ContainsFunc(named, func(match []string) bool { return match[1] == p.Status(o) })
	}
	switch {
	case strings.Contains(f.Expression, "isAllDelivered"):
		return !o.DeliveredAt.IsZero()
	case strings.Contains(f.Expression, "restitutions.Refund"):
		return len(o.Refunds) > 0
	}
	return true
}

// Topics puts a change into the feed, and lists what the hook is told.
func (p *Platform) Topics(kind shop.Kind, o shop.Order) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := p.states(kind, o)
	if p.feed != nil {
		switch f := p.feed; {
		case f.filter.Type == "FromWorkflow":
			for _, state := range states {
				if slices.Contains(f.filter.Status, state) {
					p.put(state, before[state], o)
				}
			}
		case p.wants(f.filter, o) && (f.filter.DisableSingleFire || !f.fired[o.ID]):
			f.fired[o.ID] = true
			p.put(p.Status(o), before[p.Status(o)], o)
		}
	}
	if p.hook.Type == "FromOrders" {
		if !p.wants(p.hook, o) || !p.hook.DisableSingleFire && p.fired[o.ID] {
			return nil
		}
		p.fired[o.ID] = true
		return []string{anyChange}
	}
	return states
}

func (p *Platform) put(state, last string, o shop.Order) {
	p.events++
	p.feed.events = append(p.feed.events, &event{
		id: strings.ToUpper(p.options.Secret(fmt.Sprint("event", p.events), 32)), state: state, last: last, order: p.OrderID(o),
		lastChange: o.CreatedAt, change: o.UpdatedAt,
	})
}

// Policy: 5 s for an answer, tried again with growing waits.
func (p *Platform) Policy() shop.Policy {
	policy := shop.Policy{Timeout: 5 * time.Second, Success: func(status int) bool { return status == http.StatusOK }}
	for wait := time.Minute; len(policy.Waits) < 9; wait *= 2 {
		policy.Waits = append(policy.Waits, wait)
	}
	return policy
}

// Request makes a notification. It has no signature: only the hook's own headers, and the origin, say who sends it.
func (p *Platform) Request(_ *shop.Shop, d shop.Delivery) (http.Header, []byte) {
	account, state := p.account, d.Topic
	if state == anyChange {
		state = p.Status(d.Order)
	}
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	for name, value := range d.Subscription.Headers {
		switch d.Forged {
		case shop.ForgedKey:
			value = "forged"
		case shop.ForgedNone:
			continue
		}
		header.Set(name, value)
	}
	if d.Forged == shop.ForgedBody {
		account = "another"
	}
	from, _ := origin(d.Order)
	return header, shop.JSON(shop.O("Domain", from, "OrderId", p.OrderID(d.Order), "State", state, "LastState", before[state],
		"LastChange", d.Order.CreatedAt.UTC().Format(time.RFC3339Nano), "CurrentChange", d.Order.UpdatedAt.UTC().Format(time.RFC3339Nano),
		"Origin", shop.O("Account", account, "Key", p.appKey)))
}

// valid refuses a filter that is none, and one of another type than the other of feed and hook has.
func valid(w http.ResponseWriter, f filter, other string) bool {
	switch {
	case f.Type == "FromWorkflow" && len(f.Status) == 0, f.Type == "FromOrders" && f.Expression == "", f.Type != "FromWorkflow" &&
		f.Type != "FromOrders":
		refuse(w, http.StatusBadRequest, "OMS010", "filter: type must be FromWorkflow with status, or FromOrders with expression")
	case other != "" && other != f.Type:
		refuse(w, http.StatusConflict, "OMS011", "It is not possible to use different filter types")
	default:
		return true
	}
	return false
}

func (p *Platform) setFeed(_ *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Filter filter `json:"filter"`
		Queue  struct {
			Visibility int `json:"visibilityTimeoutInSeconds"`
			Retention  int `json:"MessageRetentionPeriodInSeconds"`
		} `json:"queue"`
	}
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, "1", err.Error())
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !valid(w, body.Filter, p.hook.Type) {
		return
	}
	if body.Queue.Visibility == 0 {
		body.Queue.Visibility = 30
	}
	if body.Queue.Retention == 0 {
		body.Queue.Retention = keep
	}
	if body.Queue.Retention > mostRetention || body.Queue.Visibility < 0 {
		refuse(w, http.StatusBadRequest, "OMS012", "queue: MessageRetentionPeriodInSeconds may be 1209600 at most")
		return
	}
	next := &feed{filter: body.Filter, fired: map[int64]bool{}, visibility: time.Duration(body.Queue.Visibility) * time.Second,
		retention: time.Duration(body.Queue.Retention) * time.Second}
	if p.feed != nil {
		next.events = p.feed.events
	}
	p.feed = next
	w.WriteHeader(http.StatusOK)
}

func (p *Platform) feedConfig(_ *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.feed == nil {
		refuse(w, http.StatusNotFound, "OMS013", "Feed not configured")
		return
	}
	age := 0.0
	if len(p.feed.events) > 0 {
		age = time.Since(p.feed.events[0].change).Seconds()
	}
	answer(w, http.StatusOK, shop.O("filter", p.feed.filter, "queue", shop.O("visibilityTimeoutInSeconds", int(p.feed.visibility.Seconds()),
		"messageRetentionPeriodInSeconds", int(p.feed.retention.Seconds())), "quantity", len(p.feed.events),
		"approximateAgeOfOldestMessageInSeconds", age))
}

func (p *Platform) deleteFeed(_ *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.feed = nil
	w.WriteHeader(http.StatusNoContent)
}

// read gives events that are not hidden, and hides them; those read too often or kept too long are dropped.
func (p *Platform) read(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	lot, err := strconv.Atoi(r.URL.Query().Get("maxlot"))
	if err != nil || lot < 1 || lot > mostLot {
		refuse(w, http.StatusBadRequest, "OMS014", "maxlot must be between 1 and 10")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.feed == nil {
		refuse(w, http.StatusNotFound, "OMS013", "Feed not configured")
		return
	}
	now, list := time.Now(), []shop.Object{}
	p.feed.events = slices.DeleteFunc(p.feed.events, func(e *event) bool {
		return e.reads > mostReads ||
			s.Now().Sub(e.change) > p.feed.retention
	})
	for _, e := range p.feed.events {
		if len(list) == lot {
			break
		}
		if now.Before(e.hidden) {
			continue
		}
		p.handles++
		e.reads++
		e.hidden = now.Add(time.Duration(float64(p.feed.visibility) * s.Options().RetryScale))
		e.handle = base64.StdEncoding.EncodeToString([]byte(p.options.Secret(fmt.Sprint("handle", p.handles), 64)))
		list = append(list, shop.O("eventId", e.id, "handle", e.handle, "domain", "Marketplace", "state", e.state, "lastState", e.last,
			"orderId", e.order,
			"lastChange", stamp(e.lastChange), "currentChange", stamp(e.change)))
	}
	answer(w, http.StatusOK, list)
}

// commit takes events out of the feed. A handle of an earlier reading does nothing.
func (p *Platform) commit(_ *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Handles []string `json:"handles"`
	}
	if err := shop.ReadJSON(r, &body); err != nil || len(body.Handles) == 0 || len(body.Handles) > mostLot {
		refuse(w, http.StatusBadRequest, "OMS015", "handles: want 1 to 10")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.feed != nil {
		p.feed.events = slices.DeleteFunc(p.feed.events, func(e *event) bool { return e.handle != "" && slices.Contains(body.Handles, e.handle) })
	}
	answer(w, http.StatusOK, []any{})
}

// setHook asks the address for its consent (a ping that wants 200), and keeps it.
func (p *Platform) setHook(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Filter filter `json:"filter"`
		Hook   struct {
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		} `json:"hook"`
	}
	if err := shop.ReadJSON(r, &body); err != nil {
		refuse(w, http.StatusBadRequest, "1", err.Error())
		return
	}
	p.mu.Lock()
	other := ""
	if p.feed != nil {
		other = p.feed.filter.Type
	}
	p.mu.Unlock()
	if !valid(w, body.Filter, other) {
		return
	}
	at, err := url.Parse(body.Hook.URL)
	if err != nil || at.Host == "" || p.options.StrictURLs && at.Scheme != "https" {
		refuse(w, http.StatusBadRequest, "OMS016", "hook: url is not valid")
		return
	}
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	for name, value := range body.Hook.Headers {
		header.Set(name, value)
	}
	if status := s.Ping(r.Context(), body.Hook.URL, header, []byte(`{"hookConfig":"ping"}`), 5*time.Second); status != http.StatusOK {
		refuse(w, http.StatusBadRequest, "OMS017", fmt.Sprintf("hook: the ping was answered with status %d", status))
		return
	}
	topics := body.Filter.Status
	if body.Filter.Type == "FromOrders" {
		topics = []string{anyChange}
	}
	s.UnsubscribeAll() // one hook for each key
	sub := s.Subscribe(shop.Subscription{Topics: topics, URL: body.Hook.URL, Headers: body.Hook.Headers})
	p.mu.Lock()
	p.hook, p.hookSub, p.hookURL, p.hookHeaders, p.fired = body.Filter, sub.ID, body.Hook.URL, body.Hook.Headers, map[int64]bool{}
	p.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

func (p *Platform) hookConfig(_ *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hook.Type == "" {
		refuse(w, http.StatusNotFound, "OMS018", "Hook not configured")
		return
	}
	answer(w, http.StatusOK, shop.O("filter", p.hook, "hook", shop.O("url", p.hookURL, "headers", p.hookHeaders)))
}

func (p *Platform) deleteHook(s *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	p.hook = filter{}
	p.mu.Unlock()
	s.UnsubscribeAll()
	w.WriteHeader(http.StatusNoContent)
}
