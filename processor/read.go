package processor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Codes of rejected.v1 beside those of internal/facts.
const (
	codeUnknownCompany = "unknown_company"
	codeUnstorable     = "unstorable"
	codeCharacter      = "invalid_character" // U+0000, which no text in Postgres can hold
)

// rejection is a record that comes to nothing.
type rejection struct {
	record record
	code   string
	reason string // never quotes the record
}

// read makes a batch of records, by company. What cannot be read is a
// rejection and never holds up the rest.
func (o *owner) readBatch(ctx context.Context, records []record) (batch, []rejection, error) {
	b := batch{clusterID: o.clusterID, now: o.Now().UTC()}
	var rejected []rejection
	companies := map[string]*companyBatch{}
	recordsOf := map[string][]record{}
	for _, r := range records {
		company := string(r.Key)
		if !utf8.Valid(r.Key) || hasNUL(r.Key) {
			company = "" // nothing that a company could be called
		}
		if companies[company] == nil {
			companies[company] = &companyBatch{rejected: map[deliveryDay]int64{}}
		}
		if err := readInto(r, company, companies[company]); err != nil {
			code := codeOf(err)
			rejected = append(rejected, rejection{r, code, code})
			companies[company].rejected[deliveryDay{facts.DayOf(b.now), facts.DeliveryRejected + code}]++
			continue
		}
		recordsOf[company] = append(recordsOf[company], r)
	}
	ids := slices.Sorted(maps.Keys(companies)) // one order, so that row locks never cross
	rules, err := o.rulesOf(ctx, ids)
	if err != nil {
		return batch{}, nil, fmt.Errorf("rules: %w", err)
	}
	var months []time.Time
	for _, id := range ids {
		c := companies[id]
		if c.index = rules[id]; c.index == nil {
			for _, r := range recordsOf[id] {
				rejected = append(rejected, rejection{r, codeUnknownCompany, "no such company"})
			}
			continue
		}
		for _, e := range c.events {
			months = append(months, e.IDTime)
		}
		b.companies = append(b.companies, *c)
	}
	if err := o.Store.MakeMonths(ctx, b.now, oneOfEachMonth(months)); err != nil {
		return batch{}, nil, err
	}
	return b, rejected, nil
}

// oneOfEachMonth is one instant of each month among the times.
func oneOfEachMonth(times []time.Time) []time.Time {
	var out []time.Time
	seen := map[string]bool{}
	for _, t := range times {
		if month := t.Format("2006-01"); !seen[month] {
			seen[month] = true
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b time.Time) int { return a.Compare(b) })
	return out
}

// readInto reads one record into its company's part of the batch.
func readInto(r record, company string, into *companyBatch) error {
	if company == "" {
		return facts.ErrNoCompany
	}
	if hasNUL(r.Value) {
		return errCharacter
	}
	if r.topic == wire.TopicEvents {
		e, err := facts.ParseEvent(r.Value)
		if err != nil {
			return err
		}
		if e.CompanyID != company {
			return facts.ErrOtherCompany
		}
		into.events = append(into.events, e)
		return nil
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

func readCommerce(c wire.Commerce, into *companyBatch) error {
	switch c.Kind {
	case wire.KindOrder:
		v, err := facts.ParseOrder(c)
		if err != nil {
			return err
		}
		into.orders = append(into.orders, v)
	case wire.KindProduct:
		p, err := facts.ParseProduct(c)
		if err != nil {
			return err
		}
		into.products = append(into.products, p)
	case wire.KindRule, wire.KindSettings:
		change, err := facts.ParseChange(c)
		if err != nil {
			return err
		}
		into.changes = append(into.changes, change)
	default:
		return facts.ErrUnknownKind
	}
	return nil
}

var errCharacter = errors.New(codeCharacter)

// codeOf is the stable code of a reading error: the text of its sentinel.
func codeOf(err error) string {
	for _, known := range []error{
		facts.ErrEventID, facts.ErrNoCompany, facts.ErrOtherCompany, facts.ErrTime, facts.ErrUnknownKind,
		facts.ErrNoID, facts.ErrLongID, facts.ErrCurrency, errCharacter,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return facts.ErrNotJSON.Error()
}

// hasNUL finds a NUL, raw or as a JSON escape that is not itself escaped.
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

// compareRefs orders hints by company and order.
func compareRefs(a, b orderRef) int {
	return cmp.Or(cmp.Compare(a.companyID, b.companyID), cmp.Compare(a.orderID, b.orderID))
}
