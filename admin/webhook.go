package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// Codes of errors about what messages are sent to.
const (
	codeWebhookDisabled = "webhook_disabled"
	codeWebhookFull     = "webhook_full"
	codeNetworkDisabled = "network_disabled"
	codeNetworkFull     = "network_full"
)

// receivers is a kind of what messages are sent to. Each kind has its own scopes, so the id of another kind is none of its.
type receivers struct {
	*Server
	path, prefix   string // of operations; of ids
	read, write    account.Scope
	states         []string // of messages
	noun           string
	disabled, full string // codes
	record         func(e *commerce.Endpoint) (any, error)
}

// webhookRoutes are the operations of webhook endpoints.
func (s *Server) webhookRoutes() []route {
	k := receivers{Server: s, path: "/webhooks", prefix: commerce.EndpointPrefix, read: account.ReadWebhooks, write: account.WriteWebhooks,
		states: commerce.MessageStates, noun: "webhook endpoint", disabled: codeWebhookDisabled, full: codeWebhookFull,
		record: func(e *commerce.Endpoint) (any, error) { return recordEndpoint(e), nil }}
	return append(k.routes(),
		route{http.MethodGet, k.path, k.read, ruleRate, s.reads(s.listEndpoints)},
		route{http.MethodPost, k.path, k.write, ruleRate, s.takes(s.addEndpoint)},
		route{http.MethodPut, k.one(), k.write, ruleRate, k.of(s.changeEndpoint)},
		route{http.MethodPost, k.one() + "/secret", k.write, ruleRate, k.of(s.rotateSecret)})
}

// one is the path of one.
func (k receivers) one() string { return k.path + "/{id}" }

// routes are the operations that all kinds have.
func (k receivers) routes() []route {
	one := k.one()
	return []route{
		{http.MethodGet, one, k.read, ruleRate, k.reads(k.get)},
		{http.MethodDelete, one, k.write, ruleRate, k.in(endpointSteps, k.removeEndpoint)},
		{http.MethodPost, one + "/test", k.write, ruleRate, k.of(k.testEndpoint)},
		{http.MethodPost, one + "/replay", k.write, ruleRate, k.in(endpointSteps, k.replayEndpoint)},
		{http.MethodGet, one + "/messages", k.read, ruleRate, k.reads(k.messages)},
		{http.MethodPost, one + "/messages/{sequence}/resend", k.write, ruleRate, k.resend},
	}
}

// endpointRecord is a webhook endpoint as it is read. Its secret is not: nobody can read it again.
type endpointRecord struct {
	ID    string               `json:"endpoint_id"`
	Name  string               `json:"name"`
	URL   string               `json:"url"`
	Types []commerce.EventType `json:"types"`
	receiverState
}

// receiverState is what somebody to whom messages are sent does.
type receiverState struct {
	State        string  `json:"state"`
	Reason       *string `json:"reason"` // why it is disabled
	Since        string  `json:"since"`  // it is enabled, or disabled
	CreatedAt    string  `json:"created_at"`
	FailingSince *string `json:"failing_since"`
	DeliveredAt  *string `json:"delivered_at"`
	Waiting      int64   `json:"waiting"`
	Parked       int64   `json:"parked"`
}

// endpointSecret is an endpoint with a secret that was made now. A repeated answer is without the secret: it is not kept.
type endpointSecret struct {
	ID     string `json:"endpoint_id"`
	Secret string `json:"secret,omitempty"`
}

// messageRecord is one event for an endpoint, with what became of it.
type messageRecord struct {
	Sequence  int64              `json:"sequence"`
	Type      commerce.EventType `json:"type"`
	Of        string             `json:"of"`
	At        string             `json:"at"`
	WebhookID string             `json:"webhook_id,omitempty"` // of webhooks
	Data      json.RawMessage    `json:"data"`
	State     string             `json:"state"`
	DueAt     *string            `json:"due_at"` // of the next attempt
	Attempts  []attemptRecord    `json:"attempts"`
}

// attemptRecord is one attempt to deliver a message.
type attemptRecord struct {
	At      string  `json:"at"`
	Status  *int    `json:"status"`  // of the answer
	Failure *string `json:"failure"` // null: it was delivered
	Answer  *string `json:"answer"`  // how one that was no 2xx begins
	TookMS  int64   `json:"took_ms"`
}

// sentMessage names a message that waits to be sent.
type sentMessage struct {
	Sequence int64 `json:"sequence"`
}

// replayedRecord is what a replay did.
type replayedRecord struct {
	Messages int    `json:"messages"`
	Until    string `json:"until"`
	More     bool   `json:"more"`
}

// listEndpoints is GET /webhooks: all of them, at most commerce.MaxEndpoints.
func (s *Server) listEndpoints(ctx context.Context, _ *http.Request, c caller) (answer, error) {
	list, err := s.deps.Database.Endpoints(ctx, c.companyID)
	if err != nil {
		return answer{}, err
	}
	records := make([]endpointRecord, len(list))
	for i := range list {
		records[i] = recordEndpoint(&list[i])
	}
	return answer{data: records}, nil
}

// get is GET /webhooks/{id}.
func (k receivers) get(ctx context.Context, r *http.Request, c caller) (answer, error) {
	e, err := k.endpoint(ctx, c, r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	record, err := k.record(&e)
	return answer{data: record}, err
}

// has reports whether an id may be one of this kind.
func (k receivers) has(id string) bool { return commerce.IsID(id) && strings.HasPrefix(id, k.prefix) }

func (k receivers) endpoint(ctx context.Context, c caller, id string) (commerce.Endpoint, error) {
	if !k.has(id) {
		return commerce.Endpoint{}, k.none()
	}
	e, err := k.deps.Database.Endpoint(ctx, c.companyID, id)
	return e, k.problem(err)
}

func recordEndpoint(e *commerce.Endpoint) endpointRecord {
	return endpointRecord{ID: e.ID, Name: e.Name, URL: e.URL, Types: e.Types, receiverState: recordState(e)}
}

func recordState(e *commerce.Endpoint) receiverState {
	return receiverState{State: e.State(), Reason: orNull(e.Reason),
		Since: e.Since.UTC().Format(timestampFormat), CreatedAt: e.CreatedAt.UTC().Format(timestampFormat),
		FailingSince: instantOrNull(e.FailingSince), DeliveredAt: instantOrNull(e.DeliveredAt), Waiting: e.Waiting, Parked: e.Parked}
}

// instantOrNull is null for the zero time.
func instantOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return orNull(t.UTC().Format(timestampFormat))
}

// problem is the problem of an error about one.
func (k receivers) problem(err error) error {
	code, message := k.disabled, "the "+k.noun+" is disabled, so nothing is sent to it: enable it first"
	switch {
	case errors.Is(err, commerce.ErrNotFound):
		return k.none()
	case errors.Is(err, commerce.ErrEndpointFull):
		code, message = k.full, "too many messages of the "+k.noun+" wait: replay when they are delivered, or a shorter time"
	case !errors.Is(err, commerce.ErrEndpointDisabled):
		return err
	}
	return &problem{status: http.StatusConflict, code: code, message: message}
}

func (k receivers) none() *problem {
	return notFound("there is no " + k.noun + " with that id, or no message of it with that sequence")
}

// eventTypes reads names of events. commerce checks them.
func eventTypes(value any) ([]commerce.EventType, *fault) {
	elements, f := array(len(commerce.EventTypes))(value)
	if f != nil {
		return nil, f
	}
	types := make([]commerce.EventType, len(elements))
	for i, element := range elements {
		name, f := text(element)
		if f != nil {
			return nil, wrongType("an array of strings", value)
		}
		types[i] = commerce.EventType(name)
	}
	return types, nil
}

// addEndpoint is POST /webhooks.
func (s *Server) addEndpoint(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	e := commerce.Endpoint{Name: strings.TrimSpace(required(o, "name", text)), URL: required(o, "url", text),
		Types: optional(o, "types", eventTypes).Or(commerce.EventTypes), Active: true}
	e.Check(o.bad)
	err := o.broken()
	if err == nil {
		e.ID, err = commerce.NewID(s.random, commerce.EndpointPrefix)
	}
	if err != nil {
		return answer{}, err
	}
	return s.withSecret(ctx, c, e.ID, func(sealed commerce.SealedSecret) error {
		err := s.deps.Database.AddEndpoint(ctx, c.author(s.now()), e, sealed)
		if errors.Is(err, commerce.ErrTooManyEndpoints) {
			return o.refuse("url", commerce.CodeTooMany, "is of one endpoint too many: a store has at most %d", commerce.MaxEndpoints)
		}
		return err
	})
}

// withSecret makes a secret of an endpoint, lets store keep it sealed, and answers it.
func (s *Server) withSecret(ctx context.Context, c caller, id string, store func(sealed commerce.SealedSecret) error) (answer, error) {
	offer, err := s.runningOffer(ctx)
	if err != nil {
		return answer{}, err
	}
	text, sealed, err := account.NewWebhookSecret(s.random, offer, c.companyID, id)
	if err == nil {
		err = store(sealed)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{data: endpointSecret{id, text}, kept: endpointSecret{ID: id}}, nil
}

// runningOffer is what the connect service offers, which alone can keep a secret; 503 where none runs.
func (s *Server) runningOffer(ctx context.Context) (commerce.ConnectOffer, error) {
	offer, err := s.deps.Database.ConnectOffer(ctx)
	if err == nil && !offer.Runs(s.now()) {
		return offer, &problem{status: http.StatusServiceUnavailable, code: codeUnavailable, retryAfter: time.Minute,
			message: "the connect service does not run, which alone can keep a secret and send webhooks and conversions: " +
				"whoever runs this installation starts it"}
	}
	return offer, err
}

// endpointDo does something with an endpoint: o is the body. It has an end.
type endpointDo func(ctx context.Context, c caller, id string, o object) (answer, error)

// endpointSteps bounds what is done with an endpoint in many steps, each of which may wait for Postgres. It is below attemptLease.
const endpointSteps = 8 * time.Second

// of is the handler of a route that does something with one of this kind. A body without fields may be left out.
func (k receivers) of(do endpointDo) handler {
	return k.in(0, do)
}

// in is of, of what may take longer than a wait for a dependency.
func (k receivers) in(limit time.Duration, do endpointDo) handler {
	return func(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
		o, err := readMaybe(w, r)
		if err != nil {
			return answer{}, err
		}
		id := r.PathValue("id")
		if !k.has(id) {
			return answer{}, k.none()
		}
		ctx, cancel := context.WithTimeout(r.Context(), max(limit, k.config.DependencyTimeout))
		defer cancel()
		a, err := do(ctx, c, id, o)
		return a, k.problem(err)
	}
}

// changeEndpoint is PUT /webhooks/{id}: the fields that are sent change; the others stay.
func (s *Server) changeEndpoint(ctx context.Context, c caller, id string, o object) (answer, error) {
	name, url := optional(o, "name", text), optional(o, "url", text)
	types, enabled := optional(o, "types", eventTypes), optional(o, "enabled", boolean)
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	return answer{}, s.deps.Database.ChangeEndpoint(ctx, c.author(s.now()), id, func(e *commerce.Endpoint) error {
		e.Name, e.URL, e.Types = strings.TrimSpace(name.Or(e.Name)), url.Or(e.URL), types.Or(e.Types)
		e.Active = enabled.Or(e.Active)
		e.Check(o.bad)
		return brokenRules(o.bad)
	})
}

// removeEndpoint is DELETE /webhooks/{id}.
func (s *Server) removeEndpoint(ctx context.Context, c caller, id string, o object) (answer, error) {
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	return answer{}, s.deps.Database.RemoveEndpoint(ctx, c.author(s.now()), id)
}

// rotateSecret is POST /webhooks/{id}/secret: the one before signs beside the new one for commerce.SecretOverlap.
func (s *Server) rotateSecret(ctx context.Context, c caller, id string, o object) (answer, error) {
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	return s.withSecret(ctx, c, id, func(sealed commerce.SealedSecret) error {
		return s.deps.Database.RotateSecret(ctx, c.author(s.now()), id, sealed)
	})
}

// testEndpoint is POST /webhooks/{id}/test.
func (s *Server) testEndpoint(ctx context.Context, c caller, id string, o object) (answer, error) {
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	number, err := s.deps.Database.TestEndpoint(ctx, c.author(s.now()), id)
	if errors.Is(err, commerce.ErrNetworkTestCode) {
		return answer{}, o.refuse("test_code", commerce.CodeEmpty, "is needed: the network would count a test without it")
	}
	return answer{data: sentMessage{number}}, err
}

// replayEndpoint is POST /webhooks/{id}/replay: what changed from a moment on, as it is now.
func (s *Server) replayEndpoint(ctx context.Context, c caller, id string, o object) (answer, error) {
	now := s.now()
	from := required(o, "from", timestamp)
	to, ok := commerce.ReplayRange(from, optional(o, "to", timestamp).Or(now), now)
	if !o.bad.Any() && !ok {
		o.bad.Add("from", commerce.CodeOutOfRange, "must be less than 5 minutes after to, which is now unless it is sent")
	}
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	done, err := s.deps.Database.ReplayEndpoint(ctx, c.author(now), id, from, to)
	return answer{data: replayedRecord{done.Messages, done.Until.UTC().Format(time.RFC3339Nano), done.More}}, err
}

// resend is POST /webhooks/{id}/messages/{sequence}/resend.
func (k receivers) resend(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	return k.of(func(ctx context.Context, c caller, id string, o object) (answer, error) {
		if err := o.broken(); err != nil {
			return answer{}, err
		}
		number, err := strconv.ParseInt(r.PathValue("sequence"), 10, 64)
		if err != nil {
			return answer{}, k.none()
		}
		return answer{data: sentMessage{number}}, k.deps.Database.ResendMessage(ctx, c.author(k.now()), id, number)
	})(w, r, c)
}

// messages is GET /webhooks/{id}/messages: the newest first.
func (k receivers) messages(ctx context.Context, r *http.Request, c caller) (answer, error) {
	q := readListQuery(r, parseSequence)
	state := optional(q.object, "state", word).Value
	if state != "" {
		q.bad.Word("state", state, k.states...)
	}
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	e, err := k.endpoint(ctx, c, r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	list, err := k.deps.Database.Messages(ctx, c.companyID, e.ID, state, q.after, q.limit+1)
	if err != nil {
		return answer{}, err
	}
	list, paging := pageOf(list, q.limit, func(m commerce.Message) string { return orderCursor(strconv.FormatInt(m.Number, 10)) })
	records := make([]messageRecord, len(list))
	lines := make([][]string, len(list))
	for i := range list {
		records[i] = recordMessage(&list[i])
		m, last := &records[i], attemptRecord{}
		if len(m.Attempts) > 0 {
			last = m.Attempts[len(m.Attempts)-1]
		}
		lines[i] = []string{strconv.FormatInt(m.Sequence, 10), string(m.Type), reports.CSVText(m.Of), m.At, m.WebhookID, m.State,
			cell(m.DueAt), strconv.Itoa(len(m.Attempts)), last.At, cell(last.Status), cell(last.Failure)}
	}
	header := []string{"sequence", "type", "of", "at", "webhook_id", "state", "due_at", "attempts", "last_attempt_at", "last_status",
		"last_failure"}
	if k.prefix != commerce.EndpointPrefix { // the id is Standard Webhooks'
		header = slices.Delete(header, 4, 5)
		for i := range lines {
			lines[i], records[i].WebhookID = slices.Delete(lines[i], 4, 5), ""
		}
	}
	return q.answer(records, paging, header, lines), nil
}

// parseSequence reads a cursor of messages: those below it come.
func parseSequence(text string) (int64, error) {
	digits, err := parseOrderCursor(text)
	n, wrong := strconv.ParseInt(digits, 10, 64)
	if err != nil || wrong != nil || n < 1 {
		return 0, commerce.ErrBadCursor
	}
	return n, nil
}

func recordMessage(m *commerce.Message) messageRecord {
	record := messageRecord{Sequence: m.Number, Type: m.Type, Of: m.Key, At: m.At.UTC().Format(timestampFormat), WebhookID: m.ID,
		Data: bytes.TrimSpace(m.Data), State: m.State, Attempts: []attemptRecord{}}
	if m.State == commerce.MessageWaiting {
		record.DueAt = instantOrNull(m.DueAt)
	}
	for _, t := range m.Tries {
		a := attemptRecord{At: t.At.UTC().Format(timestampFormat), Failure: orNull(t.Failure), Answer: orNull(t.Answer), TookMS: t.TookMS}
		if t.Status != 0 {
			a.Status = &t.Status
		}
		record.Attempts = append(record.Attempts, a)
	}
	return record
}
