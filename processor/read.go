package processor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
	"github.com/tributary-io/tributary/internal/wire"
)

// Codes of rejected.v1, besides those of internal/facts.
const (
	codeUnknownCompany = "unknown_company"
	codeUnstorable     = "unstorable"
	codeExpired        = "expired"           // older than the company's retention: counted, and in no record of rejected.v1
	codeErased         = "erased"            // of an erased person, from before the erasure: likewise
	codeCharacter      = "invalid_character" // U+0000, which no text in Postgres can hold
)

// rejection is a record that is rejected, and why.
type rejection struct {
	record record
	code   string
	reason string // for people; never contains a part of the record
}

// grouped are records' facts by company.
type grouped struct {
	records   []record
	companies map[string]*companyBatch
	parsed    map[string][]int // by company: the places of the records of which there are facts
	rejected  []rejection      // that cannot be parsed
}

// group parses records and groups their facts by company. It reads nothing else.
func (o *owner) group(records []record) *grouped {
	g := &grouped{records: records, companies: map[string]*companyBatch{}, parsed: map[string][]int{}}
	now := o.Now().UTC()
	for i, r := range records {
		company := string(r.Key)
		if !utf8.Valid(r.Key) || hasNUL(r.Key) {
			company = "" // no company's id looks like this
		}
		if g.companies[company] == nil {
			g.companies[company] = &companyBatch{}
			if len(g.companies) == 1 { // as in most batches: events are large, and growing a list copies them
				g.companies[company].events = make([]facts.Event, 0, eventsIn(records[i:]))
			}
		}
		if err := readInto(r, company, g.companies[company]); err != nil {
			code := codeOf(err)
			g.rejected = append(g.rejected, rejection{r, code, code})
			g.companies[company].rejected = append(g.companies[company].rejected,
				delivery.RejectedRecord(o.clusterID, r.topic, o.partition, r.Offset, code, now))
			continue
		}
		g.parsed[company] = append(g.parsed[company], i)
	}
	return g
}

// readBatch makes a batch of records by the rules as they are now. A record that cannot
// be parsed, or whose company is unknown, is returned as a rejection; the others are
// applied all the same.
func (o *owner) readBatch(ctx context.Context, g *grouped) (batch, []rejection, error) {
	b := batch{clusterID: o.clusterID, now: o.Now().UTC()}
	rejected := g.rejected
	ids := slices.Sorted(maps.Keys(g.companies)) // a fixed order, so that transactions cannot deadlock
	rules, err := o.rulesOf(ctx, ids)
	if err != nil {
		return batch{}, nil, fmt.Errorf("rules: %w", err)
	}
	var months []time.Time
	for _, id := range ids {
		c := g.companies[id]
		if c.index = rules[id]; c.index == nil {
			for _, i := range g.parsed[id] {
				rejected = append(rejected, rejection{g.records[i], codeUnknownCompany, "no such company"})
			}
			continue
		}
		c.refuseExpired(b.now)
		for i := range c.events {
			months = append(months, c.events[i].IDTime)
		}
		b.companies = append(b.companies, *c)
	}
	if err := o.Store.MakeMonths(ctx, b.now, oneOfEachMonth(months)); err != nil {
		return batch{}, nil, err
	}
	return b, rejected, nil
}

// refuseExpired leaves out events that the company's retention would remove at once, such
// as an imported history that is older, and counts them.
func (c *companyBatch) refuseExpired(now time.Time) {
	from, came := c.index.RetainFrom(now), len(c.events)
	c.events = slices.DeleteFunc(c.events, func(e facts.Event) bool {
		expired := attribution.Expired(&e, from)
		if expired {
			c.rejected = append(c.rejected, delivery.RejectedEvent("expired", &e, codeExpired))
		}
		return expired
	})
	if len(c.events) < came {
		c.prepared = nil
	}
}

// oneOfEachMonth returns one of the times for each month, oldest first.
func oneOfEachMonth(times []time.Time) []time.Time {
	var out []time.Time
	seen := map[int]bool{}
	for _, t := range times {
		if month := 12*t.Year() + int(t.Month()); !seen[month] {
			seen[month] = true
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b time.Time) int { return a.Compare(b) })
	return out
}

// readInto parses one record and adds its facts to its company's part of the
// batch. An error is one of those that codeOf knows.
func readInto(r record, company string, into *companyBatch) error {
	if company == "" {
		return facts.ErrNoCompany
	}
	if r.topic == wire.TopicEvents {
		e := r.event
		if e == nil {
			e = readEvent(r.Value)
		}
		if e.err != nil {
			return e.err
		}
		if e.notice != nil {
			if e.notice.CompanyID != company {
				return facts.ErrOtherCompany
			}
			into.notices = append(into.notices, *e.notice)
			return nil
		}
		if e.CompanyID != company {
			return facts.ErrOtherCompany
		}
		into.events = append(into.events, e.Event)
		return nil
	}
	if hasNUL(r.Value) {
		return errCharacter
	}
	var c wire.Commerce
	if err := json.Unmarshal(r.Value, &c); err != nil {
		return fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
	}
	if c.CompanyID != company {
		return facts.ErrOtherCompany
	}
	return readCommerce(c, into)
}

// readEvent parses a record of events.v1, and packs it as it is stored.
func readEvent(value []byte) *parsedEvent {
	if hasNUL(value) {
		return &parsedEvent{err: errCharacter}
	}
	if wire.IsNotice(value) {
		n, err := facts.ParseNotice(value)
		return &parsedEvent{notice: &n, err: err}
	}
	e, err := facts.ParseEvent(value)
	if err == nil {
		e.Pack()
	}
	return &parsedEvent{Event: e, err: err}
}

// readCommerce adds a record of commerce.v1 to its company's part of the batch.
func readCommerce(c wire.Commerce, into *companyBatch) error {
	switch c.Kind {
	case wire.KindOrder:
		return add(&into.orders, facts.ParseOrder, c)
	case wire.KindProduct:
		return add(&into.products, facts.ParseProduct, c)
	case wire.KindEvidence:
		return add(&into.decisions, facts.ParseDecision, c)
	case wire.KindStatement:
		return add(&into.statements, statements.Parse, c)
	case wire.KindPayment:
		return add(&into.payments, statements.ParsePayment, c)
	case wire.KindWithholding:
		return add(&into.withheld, statements.ParseWithholding, c)
	case wire.KindEntry:
		return add(&into.entries, statements.ParseEntry, c)
	case wire.KindErasure:
		into.erasures = append(into.erasures, c.ID)
		return nil
	case wire.KindRule, wire.KindSettings:
		return add(&into.changes, facts.ParseChange, c)
	default:
		return facts.ErrUnknownKind
	}
}

// add parses a record of commerce.v1 and adds it to a list.
func add[T any](to *[]T, parse func(wire.Commerce) (T, error), c wire.Commerce) error {
	v, err := parse(c)
	if err == nil {
		*to = append(*to, v)
	}
	return err
}

var errCharacter = errors.New(codeCharacter)

// knownFaults are the errors of records that cannot be parsed, but for
// facts.ErrNotJSON, which stands for all others. Their texts are codes.
var knownFaults = []error{
	facts.ErrEventID, facts.ErrNoCompany, facts.ErrOtherCompany, facts.ErrTime, facts.ErrUnknownKind,
	facts.ErrNoID, facts.ErrLongID, facts.ErrCurrency, errCharacter,
}

// codeOf returns the code of a record's error in rejected.v1. It is the text of one
// of the errors below and never changes.
func codeOf(err error) string {
	for _, known := range knownFaults {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return facts.ErrNotJSON.Error()
}

// hasNUL reports whether JSON text has the character U+0000, as a byte or as the
// escape \u0000. An escaped backslash before "u0000" is not that escape.
func hasNUL(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return true
	}
	for rest := b; ; {
		i := bytes.Index(rest, []byte(`\u0000`))
		if i < 0 {
			return false
		}
		slashes := 0
		for j := i - 1; j >= 0 && rest[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		rest = rest[i+1:]
	}
}
