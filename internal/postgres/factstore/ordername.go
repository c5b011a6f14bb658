package factstore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// namesText returns the digests of an outcome's keys of facts.NameKinds, as the text of
// an array: an array of arrays has rows of one length. nil: it has none.
func namesText(companyID string, o *facts.Outcome) *string {
	var digests []int64
	for _, k := range o.FoundBy {
		if slices.Contains(facts.NameKinds, k.Kind) {
			digests = append(digests, facts.NameDigest(companyID, k.Key))
		}
	}
	if digests == nil {
		return nil
	}
	slices.Sort(digests)
	text := []byte("{")
	for i, d := range slices.Compact(digests) {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, d, 10)
	}
	list := string(append(text, '}'))
	return &list
}

// nameSpan asks for the orders that have a key of facts.NameKinds and are of a span of
// days.
type nameSpan struct {
	digest   int64
	from, to time.Time
}

var nameSpanRows = postgres.Rows[nameSpan]{
	postgres.Col("digest", "bigint", func(s *nameSpan) int64 { return s.digest }),
	postgres.Col("lo", "date", func(s *nameSpan) time.Time { return s.from }),
	postgres.Col("hi", "date", func(s *nameSpan) time.Time { return s.to }),
}

// zones is more than a store's day differs from one of UTC.
const zones = 24 * time.Hour

// namesOf takes the spans of facts.NameKinds out of a list.
func namesOf(companyID string, spans []facts.KeySpan) (names []nameSpan, others []facts.KeySpan) {
	for _, s := range spans {
		if slices.Contains(facts.NameKinds, s.Kind) {
			names = append(names, nameSpan{facts.NameDigest(companyID, s.Key), s.From.Add(-zones), s.To.Add(zones)})
		} else {
			others = append(others, s)
		}
	}
	return names, others
}

// ordersOfNames finds orders by the index payout_names, name by name. Other keys may have
// the same digest: such orders are computed in vain.
var ordersOfNames = strings.TrimSpace(`
	select x.company_id, x.order_id from ` + nameSpanRows.Unnest("k") + `
	cross join lateral (
		select company_id, order_id from payout
		where company_id = @company_id and names @> array[k.digest] and day between k.lo and k.hi offset 0) x`)
