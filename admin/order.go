package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// Sizes of buffers in bytes, so that encoding seldom has to grow them: for the
// personal part, for an order, and for a record around its body.
const (
	personalBytes = 512
	orderBytes    = 1024
	recordBytes   = 320
)

// postOrder is POST /order. The order is on Kafka, on all in-sync replicas,
// before the 200, and no query is made, but for keepNames.
func (s *Server) postOrder(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	order, person := readOrder(o)
	o.bad.AddAll(commerce.CheckOrder(&order, &person, s.now()))
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	sent := make([]string, 0, 5)
	for _, text := range utmValues(&order) {
		sent = append(sent, text.Value)
	}
	if err := conceal(&order, person, c.keys, s.signer); err != nil {
		return answer{}, err
	}
	if err := s.keepNames(r.Context(), c.companyID, &order, sent); err != nil {
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
// wrote, with acks=all. After an error the caller may retry: if the record was
// written all the same, both are the same version of the same thing.
func (s *Server) accept(ctx context.Context, c caller, kind wire.Kind, id string, body json.RawMessage) error {
	record := wire.Commerce{V: wire.CommerceVersion, Kind: kind, ID: id, CompanyID: c.companyID, AcceptedAt: s.clock.next(), Actor: c.actor, Body: body}
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

// readOrder reads an order as it was sent: its texts may still name the shopper,
// and conceal changes that. person is what names or describes the shopper.
func readOrder(o object) (order wire.Order, person wire.Personal) {
	order = wire.Order{
		OrderID:   required(o, "orderId", text),
		Status:    required(o, "orderStatus", choice),
		CreatedAt: required(o, "createdAt", timestamp),
		Currency:  required(o, "currency", text),
	}
	amount := money(order.Currency)
	order.TotalMinor = required(o, "totalPrice", amount)
	order.DiscountsMinor = optional(o, "totalDiscounts", amount)
	order.ShippingMinor = optional(o, "shippingPrice", amount)
	order.UpdatedAt = optional(o, "updatedAt", timestamp)
	order.DeliveredAt = optional(o, "deliveredAt", timestamp)
	order.Number = optional(o, "number", integer)
	order.Name = optional(o, "name", text)
	order.PaymentMethod = optional(o, "paymentMethod", choice)
	order.Installments = optional(o, "installments", small)
	order.DiscountCode = optional(o, "discountCode", text)
	order.ProvinceCode = optional(o, "provinceCode", text)
	order.CountryCode = optional(o, "countryCode", text)
	order.UTMSource = optional(o, "utmSource", text)
	order.UTMMedium = optional(o, "utmMedium", text)
	order.UTMCampaign = optional(o, "utmCampaign", text)
	order.UTMContent = optional(o, "utmContent", text)
	order.UTMTerm = optional(o, "utmTerm", text)
	order.VisitorID = optional(o, "userId", text)
	order.IsFirstOrder = optional(o, "isFirstOrder", boolean)
	order.Source = readSource(o)
	switch subscription := o.child("subscription"); {
	case subscription.Valid:
		order.IsRecurring = optional(subscription.Value, "isRecurring", boolean)
	case subscription.Present:
		order.IsRecurring = wire.Null[bool]()
	}
	order.Items = readItems(o)
	return order, readPerson(o)
}

// readSource reads the order's source, which may have three names: the
// specification does not say which is the right one.
func readSource(o object) wire.Optional[int] {
	var source wire.Optional[int]
	for _, name := range []string{"origin", "orderSource", "source"} {
		if got := optional(o, name, choice); got.Present {
			if source.Valid && got.Valid && source.Value != got.Value {
				o.bad.Add(name, commerce.CodeConflict, "differs from the source under its other name")
			}
			source = got
		}
	}
	return source
}

func readItems(o object) wire.Optional[[]wire.Item] {
	field := o.children("items", commerce.MaxItems)
	if !field.Valid {
		return wire.Optional[[]wire.Item]{Present: field.Present}
	}
	items := make([]wire.Item, 0, len(field.Value))
	for _, item := range field.Value {
		id, alias := optional(item, "item_id", text), optional(item, "itemId", text)
		if id.Valid && alias.Valid && id.Value != alias.Value {
			item.bad.Add(item.at("itemId"), commerce.CodeConflict, "differs from item_id")
		}
		items = append(items, wire.Item{
			ItemID:    id.Or(alias.Value),
			ProductID: optional(item, "productId", text).Value,
			VariantID: optional(item, "variantId", text).Value,
			// Without a quantity it is 1.
			Quantity:  optional(item, "quantity", integer).Or(1),
			Price:     optional(item, "price", price).Value,
			Discount:  optional(item, "discount", price).Value,
			CreatedAt: instantText(optional(item, "createdAt", timestamp)),
			UpdatedAt: instantText(optional(item, "updatedAt", timestamp)),
		})
	}
	return wire.Some(items)
}

// instantText writes a timestamp as the specification says, "" for none.
func instantText(t wire.Optional[time.Time]) string {
	if !t.Valid {
		return ""
	}
	return t.Value.Format(timestampFormat)
}

// ipText reads an IPv4 or IPv6 address.
func ipText(value any) (string, *fault) {
	s, f := text(value)
	if f != nil {
		return "", f
	}
	address, err := netip.ParseAddr(s)
	if err != nil || address.Zone() != "" {
		return "", &fault{commerce.CodeInvalidFormat, "must be an IPv4 or IPv6 address"}
	}
	return address.String(), nil
}
