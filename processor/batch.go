package processor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// batch reads records into facts by company. What cannot be read is a
// rejection and never holds up the rest.
func (o *owner) batch(ctx context.Context, records []record) (facts.Batch, []rejection, error) {
	var rejected []rejection
	companies := map[string]*facts.CompanyBatch{}
	of := func(id string) *facts.CompanyBatch {
		c := companies[id]
		if c == nil {
			c = &facts.CompanyBatch{}
			companies[id] = c
		}
		return c
	}
	recordsOf := map[string][]record{}
	var idTimes []time.Time
	for _, r := range records {
		company := string(r.key)
		if !utf8.Valid(r.key) || hasNUL(r.key) {
			company = "" // nothing that a company could be called
		}
		err := o.readInto(r, company, of(company), &idTimes)
		if err != nil {
			code := codeOf(err)
			rejected = append(rejected, rejection{r, code, code})
			of(company).Rejected = append(of(company).Rejected, facts.Rejection{Code: code, At: o.Now()})
			continue
		}
		recordsOf[company] = append(recordsOf[company], r)
	}
	ids := make([]string, 0, len(companies))
	for id := range companies {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	rules, err := o.rulesOf(ctx, ids)
	if err != nil {
		return facts.Batch{}, nil, fmt.Errorf("rules: %w", err)
	}
	out := facts.Batch{ClusterID: o.clusterID, Now: o.Now().UTC()}
	for _, id := range ids {
		r := rules[id]
		if r == nil {
			for _, rec := range recordsOf[id] {
				rejected = append(rejected, rejection{rec, codeUnknownCompany, "no such company"})
			}
			continue
		}
		c := companies[id]
		c.Rules, c.Decide = r.rules, r.index.Decide
		out.Companies = append(out.Companies, *c)
	}
	if err := o.Store.MakeMonths(ctx, out.Now, newMonths(idTimes)); err != nil {
		return facts.Batch{}, nil, err
	}
	return out, rejected, nil
}

// newMonths is one instant of each month among the times.
func newMonths(times []time.Time) []time.Time {
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
func (o *owner) readInto(r record, company string, into *facts.CompanyBatch, idTimes *[]time.Time) error {
	if company == "" {
		return facts.ErrNoCompany
	}
	if hasNUL(r.value) {
		return errCharacter
	}
	if r.topic == wire.TopicEvents {
		e, err := facts.ParseEvent(r.value)
		if err != nil {
			return err
		}
		if e.CompanyID != company {
			return facts.ErrOtherCompany
		}
		into.Events = append(into.Events, e)
		*idTimes = append(*idTimes, e.IDTime)
		return nil
	}
	var c wire.Commerce
	if err := json.Unmarshal(r.value, &c); err != nil {
		return fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
	}
	if c.CompanyID != company {
		return facts.ErrOtherCompany
	}
	switch c.Kind {
	case wire.KindOrder:
		v, err := facts.ParseOrder(c)
		if err != nil {
			return err
		}
		into.Orders = append(into.Orders, v)
	case wire.KindProduct:
		p, err := facts.ParseProduct(c)
		if err != nil {
			return err
		}
		into.Products = append(into.Products, p)
	case wire.KindRule, wire.KindSettings:
		change := facts.Change{Rev: c.Rev}
		if err := json.Unmarshal(c.Body, &change.Rule); err != nil && c.Kind == wire.KindRule {
			return fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
		}
		if c.Kind == wire.KindSettings {
			change.Type = facts.ChangeSettings
		}
		into.Changes = append(into.Changes, change)
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
		facts.ErrNoID, facts.ErrCurrency, errCharacter,
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
func compareRefs(a, b facts.OrderRef) int {
	return cmp.Or(cmp.Compare(a.CompanyID, b.CompanyID), cmp.Compare(a.OrderID, b.OrderID))
}
