package admin

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/netip"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of an order.
const (
	maxID        = 255
	maxText      = 512
	maxUserAgent = 2048
	maxItems     = 500
	maxQuantity  = 1_000_000

	// Room for what is usual, in bytes, so that encoding seldom grows its buffer:
	// the personal part, an order, and a record around its body.
	personalBytes = 512
	orderBytes    = 1024
	recordBytes   = 320

	// maxAhead is how far updatedAt may lie in the future (docs/attribution.md,
	// "Facts"): further would make it win over every later version.
	maxAhead = 24 * time.Hour
)

// postOrder is POST /order: the order is on Kafka, on all in-sync replicas,
// before the 200. No query is made on the way.
func (s *Server) postOrder(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	order := s.readOrder(o, c.keys)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	raw, err := order.AppendJSON(make([]byte, 0, orderBytes))
	if err != nil {
		return answer{}, err
	}
	if err := s.accept(r.Context(), c, wire.KindOrder, order.OrderID, raw); err != nil {
		return answer{}, err
	}
	s.accepted.add(c.companyID, order.OrderID)
	return answer{}, nil
}

// accept writes a commerce record, around a body that wire or encoding/json
// wrote, with acks=all. Whatever the producer says against it, the caller may
// retry: a record that was written all the same is the same version of the
// same thing.
func (s *Server) accept(ctx context.Context, c caller, kind, id string, body json.RawMessage) error {
	record := wire.Commerce{V: 1, Kind: kind, ID: id, CompanyID: c.companyID, AcceptedAt: s.stamp.next(), Actor: c.actor, Body: body}
	value, err := record.AppendJSON(make([]byte, 0, len(body)+recordBytes))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	if err := s.deps.Producer.Produce(ctx, wire.TopicCommerce, wire.Record{Key: []byte(c.companyID), Value: value}); err != nil {
		return &causedProblem{problem: unavailable(), cause: err}
	}
	return nil
}

func (s *Server) readOrder(o object, keys identity.Keys) wire.Order {
	order := wire.Order{
		OrderID:   required(o, "orderId", filled(maxID)),
		Status:    required(o, "orderStatus", oneOf(commerce.OrderApproved, commerce.OrderPending, commerce.OrderCancelled)),
		CreatedAt: required(o, "createdAt", timestamp),
		Currency:  required(o, "currency", currencyCode),
	}
	order.TotalMinor = required(o, "totalPrice", money(order.Currency))
	order.DiscountsMinor = optional(o, "totalDiscounts", money(order.Currency))
	order.ShippingMinor = optional(o, "shippingPrice", money(order.Currency))
	order.UpdatedAt = optional(o, "updatedAt", timestamp)
	// What the processor could not record must not be answered with 200.
	if !order.CreatedAt.IsZero() && !commerce.Recordable(order.CreatedAt) {
		o.bad.add("createdAt", "out_of_range", "must lie between 1970 and 2199")
	}
	if order.UpdatedAt.Valid && !commerce.Recordable(order.UpdatedAt.Value) {
		o.bad.add("updatedAt", "out_of_range", "must lie between 1970 and 2199")
	} else if order.UpdatedAt.Value.After(s.now().Add(maxAhead)) {
		o.bad.add("updatedAt", "out_of_range", "is more than 24 hours ahead")
	}
	order.Number = optional(o, "number", integer(math.MinInt64, math.MaxInt64))
	order.Name = optional(o, "name", scrubbed(maxID))
	order.PaymentMethod = optional(o, "paymentMethod", oneOf(1, 2, 3, 4, 15))
	order.Installments = optional(o, "installments", func(value any) (int, *fault) {
		n, f := integer(0, 1000)(value)
		return int(n), f
	})
	order.DiscountCode = optional(o, "discountCode", scrubbed(maxText))
	order.ProvinceCode = optional(o, "provinceCode", capitals)
	order.CountryCode = optional(o, "countryCode", country)
	order.UTMSource = optional(o, "utmSource", scrubbed(maxText))
	order.UTMMedium = optional(o, "utmMedium", scrubbed(maxText))
	order.UTMCampaign = optional(o, "utmCampaign", scrubbed(maxText))
	order.UTMContent = optional(o, "utmContent", scrubbed(maxText))
	order.UTMTerm = optional(o, "utmTerm", scrubbed(maxText))
	order.IsFirstOrder = optional(o, "isFirstOrder", boolean)
	order.Source = readSource(o)
	switch subscription := o.child("subscription"); {
	case subscription.Valid:
		order.IsRecurring = optional(subscription.Value, "isRecurring", boolean)
	case subscription.Present:
		order.IsRecurring = wire.Null[bool]()
	}
	order.Items = readItems(o, order.Currency)
	readPerson(o, keys, &order)
	return order
}

// scrubbed reads a text that is no place for personal data: e-mails and phones
// found in it are removed before it is written anywhere.
func scrubbed(max int) reader[string] {
	return func(value any) (string, *fault) {
		s, f := text(max)(value)
		return identity.Scrub(s), f
	}
}

// readSource reads the order's source under its name or an alias of it; the
// specification does not show the name.
func readSource(o object) wire.Optional[int] {
	var source wire.Optional[int]
	for _, name := range []string{"origin", "orderSource", "source"} {
		if got := optional(o, name, oneOf(commerce.SourceWeb, commerce.SourceMarketplace, commerce.SourceApp, commerce.SourceOther)); got.Present {
			if source.Valid && got.Valid && source.Value != got.Value {
				o.bad.add(name, "conflict", "differs from the source under its other name")
			}
			source = got
		}
	}
	return source
}

func readItems(o object, currency string) wire.Optional[[]wire.Item] {
	field := o.children("items", maxItems)
	if !field.Valid {
		return wire.Optional[[]wire.Item]{Present: field.Present}
	}
	items := make([]wire.Item, 0, len(field.Value))
	amount := price(currency)
	for _, item := range field.Value {
		id, alias := optional(item, "item_id", text(maxID)), optional(item, "itemId", text(maxID))
		if id.Valid && alias.Valid && id.Value != alias.Value {
			item.bad.add(item.at("itemId"), "conflict", "differs from item_id")
		}
		items = append(items, wire.Item{
			ItemID:    id.Or(alias.Value),
			ProductID: optional(item, "productId", text(maxID)).Value,
			VariantID: optional(item, "variantId", text(maxID)).Value,
			// A line without a quantity is one of it.
			Quantity:  optional(item, "quantity", integer(0, maxQuantity)).Or(1),
			Price:     optional(item, "price", amount).Value,
			Discount:  optional(item, "discount", amount).Value,
			CreatedAt: instantText(optional(item, "createdAt", timestamp)),
			UpdatedAt: instantText(optional(item, "updatedAt", timestamp)),
		})
	}
	return wire.Some(items)
}

// instantText is a timestamp as the specification writes it, "" where there is none.
func instantText(t wire.Optional[time.Time]) string {
	if !t.Valid {
		return ""
	}
	return t.Value.Format(timestampFormat)
}

// ipText reads an IPv4 or IPv6 address.
func ipText(value any) (string, *fault) {
	s, f := text(maxID)(value)
	if f != nil {
		return "", f
	}
	address, err := netip.ParseAddr(s)
	if err != nil || address.Zone() != "" {
		return "", &fault{"invalid_format", "must be an IPv4 or IPv6 address"}
	}
	return address.String(), nil
}
