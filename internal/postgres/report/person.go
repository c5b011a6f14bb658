package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
)

// This file writes what is stored about one person.

// Bounds of what is written of one person. Anybody may send any number of events with an e-mail.
const (
	mostPersonOrders   = 5_000
	mostPersonVisitors = 1_000
	mostPersonEvents   = 50_000
	mostPersonBytes    = 64 << 20
	personsAtOnce      = 200 // orders, or events, that are read at once
)

// personOrder is an order of the person.
type personOrder struct {
	Order     *wire.Order      `json:"order"` // the current one
	Personal  *wire.Personal   `json:"personal,omitempty"`
	State     string           `json:"state,omitempty"` // of its commission (facts.PayoutState)
	Reason    string           `json:"reason,omitempty"`
	Evidence  string           `json:"evidence,omitempty"`
	Decisions []personDecision `json:"decisions,omitempty"`
}

// personDecision is a decision about an order of the person.
type personDecision struct {
	Decision string    `json:"decision"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
}

// personVisitor is a browser with which the person was seen. Where others were seen with it too, Alone is
// false: of its events those are written that name the person.
type personVisitor struct {
	id    string
	N     int       `json:"visitor"` // its number in this file
	Alone bool      `json:"alone"`
	First time.Time `json:"first_seen_with_the_person"`
	Last  time.Time `json:"last_seen_with_the_person"`
}

// personEvent is an event of one of these browsers.
type personEvent struct {
	Event      string          `json:"event"`
	At         time.Time       `json:"at"`
	Visitor    int             `json:"visitor"`
	NamedBy    []facts.KeyKind `json:"named_by,omitempty"` // how the event names a person
	Payload    json.RawMessage `json:"payload,omitempty"`
	Context    wire.Context    `json:"context,omitzero"`
	IP         string          `json:"ip,omitempty"`
	Bot        wire.Bot        `json:"bot,omitempty"`
	Consent    wire.Consent    `json:"consent,omitempty"`
	Via        wire.Via        `json:"via,omitempty"`
	ReceivedAt time.Time       `json:"received_at"`
}

// heldBack says what is stored of the person and not written: whoever reads it could claim a sale (docs/security.md, "What proves").
const heldBack = "ids of browsers, cart tokens, keyed hashes and the last part of IP addresses: " +
	"who knows them could claim the person's purchases"

// WritePerson writes as one JSON object what is stored about the person whom keys name: the orders that have one of them now, earlier
// versions of orders that had one, the browsers that were seen with one, and their events. "complete" says at the end whether there
// was room for all. After an error the text is not whole.
func (r *Reader) WritePerson(ctx context.Context, p commerce.PersonFile, keys []facts.Key, to io.Writer) error {
	f := &personFile{w: bufio.NewWriterSize(to, 64<<10), left: cmp.Or(p.MostBytes, mostPersonBytes), whole: true}
	f.text(`{"company_id":`)
	f.json(p.CompanyID)
	f.text(`,"made_at":`)
	f.json(p.At.UTC())
	f.text(`,"named_by":`)
	f.json(p.Kinds)
	f.text(`,"held_back":`)
	f.json(heldBack)
	written, err := r.writeOrders(ctx, p.CompanyID, keys, f)
	if err == nil {
		err = r.writeVersions(ctx, p.CompanyID, keys, written, f)
	}
	var visitors []personVisitor
	if err == nil {
		visitors, err = r.writeVisitors(ctx, p.CompanyID, keys, f)
	}
	if err == nil {
		err = r.writeEvents(ctx, p.CompanyID, keys, visitors, f)
	}
	if err != nil {
		return fmt.Errorf("postgres: what is stored about a person: %w", postgres.Translate(err))
	}
	f.text(`,"complete":`)
	f.json(f.whole)
	f.text("}\n")
	if f.err == nil {
		f.err = f.w.Flush()
	}
	return f.err
}

// personFile is the text while it is written.
type personFile struct {
	w     *bufio.Writer
	left  int  // bytes
	whole bool // nothing was left out
	first bool // of a list
	err   error
}

func (f *personFile) text(text string) {
	if f.err == nil {
		_, f.err = f.w.WriteString(text)
	}
}

func (f *personFile) json(value any) {
	text, err := json.Marshal(value)
	if f.err == nil {
		f.err = err
	}
	f.text(string(text))
}

func (f *personFile) begin(list string) {
	f.first = true
	f.text(`,"` + list + `":[`)
}

// add adds an element of a list, and reports whether the list goes on.
func (f *personFile) add(value any) (more bool) { return f.addText(json.Marshal(value)) }

// addText is add of a JSON text.
func (f *personFile) addText(text []byte, err error) (more bool) {
	if f.err == nil {
		f.err = err
	}
	if f.left -= len(text); f.left < 0 {
		f.whole = false
	}
	if f.err != nil || f.left < 0 {
		return false
	}
	if !f.first {
		f.text(",\n")
	}
	f.first = false
	f.text(string(text))
	return f.err == nil
}

var personKeys = postgres.Rows[facts.Key]{
	postgres.Col("kind", "smallint", func(k *facts.Key) int16 { return k.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *facts.Key) []byte { return k.Pack() }),
}

var ordersOfPerson = `
	select distinct k.order_id
	from (select kind, key, ` + postgres.KeyDigest("kind", "key") + ` as digest from ` + personKeys.Unnest("u") + ` offset 0) p
	join order_key k on ` + postgres.OfKey("k", "p.digest", "p.kind", "p.key") + `
	where k.company_id = @company_id order by k.order_id limit @most`

const readPersonOrders = `
	select o.order_id, o.body, n.body, coalesce(p.state, ''), coalesce(p.reason, ''), coalesce(p.evidence, '')
	from orders o
	left join order_personal n on n.company_id = o.company_id and n.order_id = o.order_id
	left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
	where o.company_id = @company_id and o.order_id = any(@order_ids) order by o.order_id`

const readPersonDecisions = `
	select order_id, decision, reason, accepted_at from evidence_decision
	where company_id = @company_id and order_id = any(@order_ids) order by order_id, rev`

// writeOrders writes the orders that have one of the keys now, and returns their ids.
func (r *Reader) writeOrders(ctx context.Context, companyID string, keys []facts.Key, f *personFile) (written map[string]bool, err error) {
	f.begin("orders")
	defer f.text("]")
	ids, err := postgres.Collect(ctx, r.db.Pool(), pgx.RowTo[string], ordersOfPerson,
		personKeys.Args(keys, pgx.NamedArgs{"company_id": companyID, "most": mostPersonOrders + 1}))
	if err != nil {
		return nil, err
	}
	written = map[string]bool{}
	for _, id := range ids {
		written[id] = true
	}
	if len(ids) > mostPersonOrders {
		ids, f.whole = ids[:mostPersonOrders], false
	}
	for page := range slices.Chunk(ids, personsAtOnce) {
		list, err := r.personOrders(ctx, companyID, page)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if !f.add(&list[i]) {
				return written, f.err
			}
		}
	}
	return written, f.err
}

func (r *Reader) personOrders(ctx context.Context, companyID string, ids []string) (list []personOrder, err error) {
	args := pgx.NamedArgs{"company_id": companyID, "order_ids": ids}
	decisions := map[string][]personDecision{}
	if _, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (d personDecision, err error) {
		var id string
		if err = row.Scan(&id, &d.Decision, &d.Reason, &d.At); err == nil {
			decisions[id] = append(decisions[id], d)
		}
		return d, err
	}, readPersonDecisions, args); err != nil {
		return nil, err
	}
	return postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (o personOrder, err error) {
		var id string
		var body []byte
		if err := row.Scan(&id, &body, &o.Personal, &o.State, &o.Reason, &o.Evidence); err != nil {
			return o, err
		}
		order, err := facts.UnpackOrder(body)
		if err != nil {
			return o, err
		}
		o.Order, o.Decisions = withoutProofs(order), decisions[id]
		if n := o.Personal; n != nil {
			n.CartToken, n.UserID = wire.Optional[string]{}, wire.Optional[string]{}
			n.BrowserIP.Value = networkOf(n.BrowserIP.Value)
		}
		return o, nil
	}, readPersonOrders, args)
}

// withoutProofs is an order without its keys.
func withoutProofs(o wire.Order) *wire.Order {
	for _, key := range []*wire.Optional[string]{&o.VisitorID, &o.EmailKey, &o.PhoneKey, &o.CustomerKey, &o.CartKey, &o.CartNoKey, &o.NetKey} {
		*key = wire.Optional[string]{}
	}
	o.UserIDMAC, o.Former, o.Personal = wire.MACNone, nil, nil
	return &o
}

// networkOf is an IP address without its last part; empty where it is none.
func networkOf(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	bits := 48
	if address = address.Unmap(); address.Is4() {
		bits = 24
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return ""
	}
	return network.String()
}

// visitorsOfPerson counts of each visitor how many customers, e-mails or phones it was seen with: of the kind of which it has most.
var visitorsOfPerson = `
	select v.visitor, min(v.first), max(v.last), (
		select coalesce(max(n), 0) from unnest('{6,7,8}'::smallint[]) as k (kind) cross join lateral ` + postgres.CountByOneSecret(`
			select key from observation s
			where s.company_id = @company_id and s.visitor = v.visitor and s.kind = k.kind limit @most_observations`) + ` c (n))
	from (
		select s.visitor, to_timestamp(s.slot::bigint * 3600 + s.first_ms / 1000) as first,
			to_timestamp(s.slot::bigint * 3600 + s.last_ms / 1000) as last
		from ` + personKeys.Unnest("p") + ` join observation s on s.company_id = @company_id and s.kind = p.kind and s.key = p.key) v
	group by v.visitor order by v.visitor limit @most`

// writeVisitors writes the visitors that were seen with the person's keys, and returns them.
func (r *Reader) writeVisitors(ctx context.Context, companyID string, keys []facts.Key, f *personFile) ([]personVisitor, error) {
	f.begin("visitors")
	defer f.text("]")
	list, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (v personVisitor, err error) {
		var id []byte
		var identities int
		if err := row.Scan(&id, &v.First, &v.Last, &identities); err != nil {
			return v, err
		}
		v.First, v.Last = v.First.UTC(), v.Last.UTC()
		v.id, err = packed.Text(id)
		// Who was seen with a second e-mail may be a second person: what that one did is not the first one's to read.
		v.Alone = facts.IsSecretID(v.id) && identities <= 1
		return v, err
	}, visitorsOfPerson,
		personKeys.Args(keys, pgx.NamedArgs{"company_id": companyID, "most": mostPersonVisitors + 1, "most_observations": 10_000}))
	if err != nil {
		return nil, err
	}
	if len(list) > mostPersonVisitors {
		list, f.whole = list[:mostPersonVisitors], false
	}
	for i := range list {
		if list[i].N = i + 1; !f.add(&list[i]) {
			break
		}
	}
	return list, f.err
}

var eventsOfVisitor = `
	select ` + cases.StoredColumns + ` from event_fact f
	where f.company_id = @company_id and f.visitor = @visitor and (f.at, f.event_id) > (@after_at::timestamptz, @after_id::uuid)
	order by f.at, f.event_id limit @most`

func (r *Reader) writeEvents(ctx context.Context, companyID string, keys []facts.Key, visitors []personVisitor, f *personFile) error {
	f.begin("events")
	defer f.text("]")
	looked := 0
	for _, v := range visitors {
		after, id := beginning, uuid.UUID{}
		for {
			events, err := postgres.Collect(ctx, r.db.Pool(), cases.ScanEvent, eventsOfVisitor, pgx.NamedArgs{
				"company_id": companyID, "visitor": packed.ID(v.id), "after_at": after, "after_id": [16]byte(id), "most": personsAtOnce})
			if err != nil {
				return err
			}
			if looked += len(events); looked > mostPersonEvents {
				f.whole = false
				return f.err
			}
			for i := range events {
				e := &events[i]
				after, id = e.At, e.ID
				if (v.Alone || names(e, keys)) && !f.addText(v.event(e)) {
					return f.err
				}
			}
			if len(events) < personsAtOnce {
				break
			}
		}
	}
	return f.err
}

// names reports whether an event names the person itself.
func names(e *facts.Event, keys []facts.Key) bool {
	return slices.ContainsFunc(e.ErasureKeys(), func(k facts.Key) bool { return slices.Contains(keys, k) })
}

// event is an event of the visitor, without what proves whose it is, in whatever text that stands.
func (v *personVisitor) event(e *facts.Event) ([]byte, error) {
	out := personEvent{Event: e.Event.Event, At: e.At.UTC(), Visitor: v.N, Payload: e.Payload, Context: e.Context, IP: e.IP, Bot: e.Bot,
		Consent: e.Consent, Via: e.Via, ReceivedAt: e.ReceivedAt.UTC()}
	for _, k := range e.ErasureKeys() {
		if (k.Kind == facts.KeyCustomer || k.Kind == facts.KeyEmail || k.Kind == facts.KeyPhone) && !slices.Contains(out.NamedBy, k.Kind) {
			out.NamedBy = append(out.NamedBy, k.Kind)
		}
	}
	text, err := json.Marshal(&out)
	return longWords.ReplaceAllFunc(text, func(word []byte) []byte {
		if word[0] != '\\' && (scrub.SecretToken(string(word)) || facts.IsSecretID(string(word))) {
			return []byte("(id)")
		}
		return word
	}), err
}

// longWords are what may be a cart's token or a browser's id in JSON, and escapes, which are part of none.
var longWords = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\.|[0-9A-Za-z_+%~.-]{16,}`)
