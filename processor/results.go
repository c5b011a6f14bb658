package processor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// publishRejected writes rejected records to rejected.v1, before the transaction
// that moves their offsets. So none is lost, and one may be written twice.
func (o *owner) publishRejected(ctx context.Context, rejected []rejection) error {
	for _, r := range rejected {
		out := wire.Rejected{
			V: 1, Topic: r.record.topic, Code: r.code, Reason: r.reason,
			Partition: &o.partition, Offset: &r.record.Offset, At: o.Now().UTC().Truncate(time.Millisecond),
		}
		if utf8.Valid(r.record.Key) {
			out.CompanyID = bounded(string(r.record.Key))
		}
		out.EventID, out.Body = redact(r.record.Value)
		value, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("rejected record: %w", err)
		}
		if err := o.Results.Publish(ctx, wire.TopicRejected, []byte(out.CompanyID), value); err != nil {
			return fmt.Errorf("produce to %s: %w", wire.TopicRejected, err)
		}
		o.metrics.rejected.WithLabelValues(r.code).Inc()
		o.Logger.Warn("record rejected", "topic", r.record.topic, "partition", o.partition, "offset", r.record.Offset, "code", r.code)
	}
	return nil
}

// redact returns the record's event id, and a JSON object of the fields that say
// which record it is. Fields with content of shoppers or merchants are left out.
// Not every record was written by the edge or the admin API, so an eventId that
// is no UUID is left out too, and e-mails and phones are removed.
func redact(value []byte) (eventID, body string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return "", ""
	}
	kept := map[string]string{}
	for _, name := range []string{"companyId", "eventId", "event", "timestamp", "receivedAt", "kind", "acceptedAt", "actor", "via"} {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" && (name != "eventId" || uuidtext.Is(text)) {
			kept[name] = bounded(scrub.Strict(text))
		}
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return "", ""
	}
	return kept["eventId"], string(out)
}

// maxName bounds an id or a name in rejected.v1, in bytes: as long as the edge's
// longest id (docs/edge.md, "Bounds").
const maxName = 128

// bounded cuts an id or a name to maxName bytes.
func bounded(text string) string { return text[:min(len(text), maxName)] }

// hint names orders whose outcome was computed. They may be of several companies.
type hint struct{ orders []orderRef }

// sendHint queues a hint for results.v1. Where the queue is full the hint is
// dropped: the pages read Postgres from time to time as well.
func (o *owner) sendHint(orders []orderRef) {
	if len(orders) == 0 {
		return
	}
	select {
	case o.hints <- hint{orders}:
	default:
		o.metrics.hintsDropped.Inc()
	}
}

const (
	ordersPerHint = 100             // orders of one record, as wire.Result says
	hintTimeout   = 2 * time.Second // of publishing one hint
)

// publishHints publishes hints until ctx ends.
func (p *Processor) publishHints(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-p.hints:
			p.publishHint(ctx, h)
		}
	}
}

// publishHint publishes one hint, by company. After an error the rest of it is
// dropped.
func (p *Processor) publishHint(ctx context.Context, h hint) {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	byCompany := map[string][]string{}
	slices.SortFunc(h.orders, compareRefs)
	for _, ref := range slices.Compact(h.orders) {
		byCompany[ref.companyID] = append(byCompany[ref.companyID], ref.orderID)
	}
	for company, ids := range byCompany {
		for chunk := range slices.Chunk(ids, ordersPerHint) {
			value, err := json.Marshal(wire.Result{V: 1, CompanyID: company, OrderIDs: chunk, At: p.Now().UTC()})
			if err == nil {
				err = p.Results.Publish(ctx, wire.TopicResults, []byte(company), value)
			}
			if err != nil {
				p.metrics.hintsDropped.Inc()
				p.Logger.Debug("hint not published", "company", company, "error", err)
				return
			}
		}
	}
}

// compareRefs orders by company id, then by order id.
func compareRefs(a, b orderRef) int {
	return cmp.Or(cmp.Compare(a.companyID, b.companyID), cmp.Compare(a.orderID, b.orderID))
}
