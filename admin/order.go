package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/wire"
)

// postOrder is POST /order. The order is on Kafka, on all in-sync replicas,
// before the 200, and no query is made, but for keepNames.
func (s *Server) postOrder(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	taken, err := takeOrder(o, s.now(), c.keys, s.signer)
	if err != nil {
		return answer{}, err
	}
	return answer{}, s.acceptOrders(r.Context(), c, wire.TopicCommerce, []takenOrder{taken})
}

// takenOrder is an order that was read and checked, and is not accepted yet.
type takenOrder struct {
	order wire.Order
	utm   []string       // its UTM values as they were sent
	notes []wire.Warning // for people
}

// acceptOrders writes orders to a topic, in their order, with acks=all: all of them, or an error.
func (s *Server) acceptOrders(ctx context.Context, c caller, topic string, orders []takenOrder) error {
	if err := s.keepNames(ctx, c.companyID, orders); err != nil {
		return err
	}
	records := make([]wire.Commerce, len(orders))
	for i := range orders {
		raw, err := json.Marshal(&orders[i].order)
		if err != nil {
			return err
		}
		records[i] = s.recordOf(c, wire.KindOrder, orders[i].order.OrderID, raw)
		records[i].Warnings = orders[i].notes
	}
	if err := s.produce(ctx, topic, records...); err != nil {
		return err
	}
	for i := range orders {
		s.accepted.add(c.companyID, orders[i].order.OrderID)
	}
	return nil
}

// accept writes a commerce record, around a body that is JSON, as produce does.
func (s *Server) accept(ctx context.Context, c caller, kind wire.Kind, id string, body json.RawMessage) error {
	return s.produce(ctx, wire.TopicCommerce, s.recordOf(c, kind, id, body))
}

// recordOf is a commerce record of the caller that is accepted now.
func (s *Server) recordOf(c caller, kind wire.Kind, id string, body json.RawMessage) wire.Commerce {
	return wire.Commerce{V: wire.CommerceVersion, Kind: kind, ID: id, CompanyID: c.companyID, AcceptedAt: s.clock.next(),
		Actor: c.actor, Body: body}
}

// beginSend begins the span of the records that a request sends: it is their trace.
func (s *Server) beginSend(ctx context.Context, topic string, records []wire.Commerce) *tracing.Span {
	span := tracing.Of(ctx)
	if span == nil || len(records) == 0 {
		return nil
	}
	send := span.Child("send "+topic, tracing.Produce, s.now())
	send.Set(tracing.Kafka(), tracing.Topic(topic), tracing.Company(records[0].CompanyID), tracing.Records(len(records)))
	return send
}

// produce writes records of one company to a topic with acks=all. After an error the caller may retry: if a record was
// written all the same, both are the same version of the same thing.
func (s *Server) produce(ctx context.Context, topic string, records ...wire.Commerce) error {
	list := make([]wire.Record, len(records))
	for i := range records {
		value, err := json.Marshal(&records[i])
		if err != nil {
			return err
		}
		list[i] = wire.Record{Key: []byte(records[i].CompanyID), Value: value}
	}
	send := s.beginSend(ctx, topic, records)
	if send != nil {
		defer func() { send.End(s.now()) }()
	}
	for i := range list {
		list[i].Trace = send.Trace()
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	err := s.deps.Producer.Produce(ctx, topic, list...)
	if err != nil {
		send.Fail()
		return &causedProblem{problem: unavailable(), cause: err}
	}
	return nil
}

// takeOrder reads an order, checks it and conceals who the shopper is.
func takeOrder(o object, now time.Time, keys identity.Keys, signer *identity.Signer) (takenOrder, error) {
	order, person := readOrder(o)
	o.check(commerce.CheckOrder(&order, &person, now))
	checkCodes(o, &order)
	checkTax(o, &order)
	checkCreated(o, &order, now)
	taken := takenOrder{order: order}
	for _, text := range utmValues(&order) {
		taken.utm = append(taken.utm, text.Value)
	}
	if !o.bad.Any() {
		doubtful, err := conceal(&taken.order, person, keys, signer)
		if err != nil {
			return taken, err
		}
		o.check(commerce.Violations{}, doubtful)
	}
	err := o.broken()
	taken.notes = o.notes.forPeople()
	return taken, err
}

// readOrder reads an order as it was sent: its texts may still name the shopper,
// and conceal changes that. person is what names or describes the shopper.
func readOrder(o object) (order wire.Order, person wire.Personal) {
	order = wire.Order{
		OrderID:   required(o, "orderId", label),
		Status:    required(o, "orderStatus", orderStatus),
		CreatedAt: required(o, "createdAt", timestamp),
		Currency:  required(o, "currency", capitals),
	}
	amount := money(order.Currency)
	order.TotalMinor = required(o, "totalPrice", amount)
	order.DiscountsMinor = sent(o, "totalDiscounts", amount)
	order.ShippingMinor = sent(o, "shippingPrice", amount)
	order.UpdatedAt = sent(o, "updatedAt", timestamp)
	order.DeliveredAt = doubtful(o, "deliveredAt", timestamp)
	order.Number = doubtful(o, "number", integer)
	order.Name = doubtful(o, "name", label)
	order.PaymentMethod = doubtful(o, "paymentMethod", choice)
	order.Installments = doubtful(o, "installments", small)
	order.DiscountCode = doubtful(o, "discountCode", label)
	if isEmpty(o.values["discountCode"]) { // as null: the order has no code any more
		order.DiscountCode = wire.Null[string]()
	}
	order.ProvinceCode = doubtful(o, "provinceCode", capitals)
	order.CountryCode = doubtful(o, "countryCode", country)
	order.UTMSource = doubtful(o, "utmSource", label)
	order.UTMMedium = doubtful(o, "utmMedium", label)
	order.UTMCampaign = doubtful(o, "utmCampaign", label)
	order.UTMContent = doubtful(o, "utmContent", label)
	order.UTMTerm = doubtful(o, "utmTerm", label)
	order.VisitorID = doubtful(o, "userId", label)
	order.IsFirstOrder = doubtful(o, "isFirstOrder", boolean)
	order.Source = readSource(o)
	switch subscription := doubtful(o, "subscription", o.below("subscription")); {
	case subscription.Valid:
		order.IsRecurring = doubtful(subscription.Value, "isRecurring", boolean)
	case subscription.Present:
		order.IsRecurring = wire.Null[bool]()
	}
	order.Items = readItems(o, order.Currency)
	readExtensions(o, &order)
	person = readPerson(o)
	withoutShownToken(o, &order, &person)
	return order, person
}

// readSource reads the order's source, which may have three names (docs/api.md,
// "Send one"). Where two names have different sources, none counts.
func readSource(o object) wire.Optional[int] {
	var source wire.Optional[int]
	differs := false
	for _, name := range []string{"origin", "orderSource", "source"} {
		if got := doubtful(o, name, choice); got.Present {
			if source.Valid && got.Valid && source.Value != got.Value {
				o.warn(name, commerce.CodeConflict, "differs from the source under its other name")
				differs = true
			}
			source = got
		}
	}
	if differs {
		return wire.Optional[int]{}
	}
	return source
}

func readItems(o object, currency string) wire.Optional[[]wire.Item] {
	field := o.doubtfulChildren("items", commerce.MaxItems)
	if !field.Valid {
		return wire.Optional[[]wire.Item]{Present: field.Present}
	}
	amount := price(currency)
	items := make([]wire.Item, 0, len(field.Value))
	for _, item := range field.Value {
		id, alias := sent(item, "item_id", label), sent(item, "itemId", label)
		if id.Valid && alias.Valid && id.Value != alias.Value {
			item.bad.Add(item.at("itemId"), commerce.CodeConflict, "differs from item_id")
		}
		count := doubtful(item, "quantity", readQuantity).Or(quantity{whole: 1}) // without one it is 1
		items = append(items, wire.Item{
			ItemID:    id.Or(alias.Value),
			ProductID: sent(item, "productId", label).Value,
			VariantID: sent(item, "variantId", label).Value,
			Quantity:  count.whole,
			Measure:   count.exact,
			Price:     sent(item, "price", amount).Value,
			Discount:  sent(item, "discount", amount).Value,
			CreatedAt: instantText(doubtful(item, "createdAt", timestamp)),
			UpdatedAt: instantText(doubtful(item, "updatedAt", timestamp)),
		})
	}
	return wire.Some(items)
}

// instantText writes a timestamp as docs/api.md says, "" for none.
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
