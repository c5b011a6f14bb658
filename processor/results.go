package processor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// reject writes records that come to nothing to rejected.v1, before their
// offsets are moved: an attempt that is repeated writes them again, none is lost.
func (o *owner) reject(ctx context.Context, rejected []rejection) error {
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

// redact keeps of a record only what names it: no field that a shopper or a
// merchant fills in. Not every record was written by the edge or the admin API, so
// an eventId that is no UUID is left out, and e-mails and phones are removed.
func redact(value []byte) (eventID, body string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return "", ""
	}
	kept := map[string]string{}
	for _, name := range []string{"companyId", "eventId", "event", "timestamp", "receivedAt", "kind", "acceptedAt", "actor", "via"} {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" && (name != "eventId" || commerce.IsUUID(text)) {
			kept[name] = bounded(identity.ScrubStrict(text))
		}
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return "", ""
	}
	return kept["eventId"], string(out)
}

// bounded cuts a name to what a name may need.
func bounded(text string) string { return text[:min(len(text), 128)] }

// hint says which of a company's orders have a new outcome.
type hint struct{ orders []orderRef }

// hint hands over orders for results.v1; where the queue is full they go
// unsaid: pages catch up by reading Postgres.
func (o *owner) hint(orders []orderRef) {
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
	ordersPerHint = 100 // wire.Result
	hintTimeout   = 2 * time.Second
)

// publishHints writes hints until ctx ends.
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
