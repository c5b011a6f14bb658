package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lenient"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// readPerson reads what names or describes the shopper, but for userId.
func readPerson(o object) wire.Personal {
	p := wire.Personal{
		UserAgent: doubtful(o, "userAgent", text),
		BrowserIP: doubtful(o, "browserIp", ipText),
		CartToken: doubtful(o, "cartToken", label),
	}
	switch field := doubtful(o, "customer", o.below("customer")); {
	case field.Valid:
		p.Customer = wire.Some(readCustomer(field.Value))
	case field.Present:
		p.Customer = wire.Null[wire.Customer]()
	}
	return p
}

func readCustomer(o object) wire.Customer {
	return wire.Customer{
		CustomerID:   doubtful(o, "customerId", label),
		Name:         doubtful(o, "name", text),
		Email:        doubtful(o, "email", text),
		Phone:        doubtful(o, "phone", label),
		ProvinceCode: doubtful(o, "provinceCode", text),
		CountryCode:  doubtful(o, "countryCode", country),
		Zip:          doubtful(o, "zip", label),
		City:         doubtful(o, "city", text),
		CreatedAt:    doubtful(o, "createdAt", timestamp),
		UpdatedAt:    doubtful(o, "updatedAt", timestamp),
		Birthdate:    doubtful(o, "birthdate", day),
	}
}

// withoutShownToken leaves out a cart's token that is in the order's id or name: reports,
// explanations and statements show these, and whoever knows the token can claim the sale.
func withoutShownToken(o object, order *wire.Order, person *wire.Personal) {
	token := strings.ToLower(identity.NormalID(person.CartToken.Value))
	shown := strings.ToLower(order.OrderID + "\n" + order.Name.Value)
	if token != "" && strings.Contains(shown, token) && scrub.SecretToken(person.CartToken.Value) {
		o.warn("cartToken", commerce.CodeConflict, "is in the order's id or name, which others read, so it proves nothing")
		person.CartToken = wire.Optional[string]{}
	}
}

// utmValues are the UTM values of an order.
func utmValues(order *wire.Order) []*wire.Optional[string] {
	return []*wire.Optional[string]{&order.UTMSource, &order.UTMMedium, &order.UTMCampaign, &order.UTMContent, &order.UTMTerm}
}

// keepNames puts back those UTM values of orders that were scrubbed although they are
// names of the company's influencers or campaigns. A query is made only where scrubbing changed one.
func (s *Server) keepNames(ctx context.Context, companyID string, orders []takenOrder) error {
	var changed []string
	for i := range orders {
		for k, text := range utmValues(&orders[i].order) {
			if sent := orders[i].utm[k]; text.Value != sent {
				changed = append(changed, fold.Name(sent))
			}
		}
	}
	if len(changed) == 0 || s.deps.Names == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	known, err := s.deps.Names.KnownNames(ctx, companyID, changed)
	if err != nil {
		return err
	}
	for i := range orders {
		for k, text := range utmValues(&orders[i].order) {
			if sent := orders[i].utm[k]; text.Value != sent && slices.Contains(known, fold.Name(sent)) {
				text.Value = sent
			}
		}
	}
	return nil
}

// conceal removes what names the shopper from an order that was checked. Keyed
// hashes replace ids, e-mails and phones; e-mails and phones in other texts are
// removed, but for the discount code, which a shop may write as it likes; the raw
// values are in the personal part only. Of doubtful are the values that can be no key: they
// count as absent.
func conceal(order *wire.Order, person wire.Personal, keys identity.Keys,
	signer *identity.Signer) (doubtful commerce.Violations, err error) {
	for _, text := range append(utmValues(order), &order.Name) {
		text.Value = scrub.Text(text.Value)
	}
	for i := range order.Items.Value {
		item := &order.Items.Value[i]
		// As the edge does it for items of events: the two still join.
		item.ItemID, item.ProductID, item.VariantID = scrub.Text(item.ItemID), scrub.Text(item.ProductID), scrub.Text(item.VariantID)
	}
	concealRefunds(order)
	userID := order.VisitorID
	doubtful = name(order, &person, &userID, keys)
	if former, rotates := keys.Former(); rotates {
		addFormer(order, person, userID, former)
	}
	order.UserIDMAC = userIDMAC(userID.Or(""), signer)
	// An id that is no UUID may name a person.
	if order.VisitorID.Valid && !uuidtext.Is(order.VisitorID.Value) {
		person.UserID = userID
	}
	if person == (wire.Personal{}) {
		return doubtful, nil
	}
	if order.Personal, err = json.Marshal(&person); err != nil {
		return doubtful, fmt.Errorf("an order's personal part: %w", err)
	}
	return doubtful, nil
}

// name sets the keyed hashes of an order's shopper. Values that can be no key become absent.
func name(order *wire.Order, person *wire.Personal, userID *wire.Optional[string], keys identity.Keys) (doubtful commerce.Violations) {
	// Of a token one of the two is null: so it replaces the other kind's as well.
	order.CartKey = hashed(&doubtful, "cartToken", &person.CartToken, keys.Cart, lenient.Placeholder)
	order.CartNoKey = wire.Optional[string]{Present: person.CartToken.Present}
	if !scrub.SecretToken(person.CartToken.Value) {
		order.CartKey, order.CartNoKey = order.CartNoKey, order.CartKey
	}
	order.NetKey = hashed(&doubtful, "browserIp", &person.BrowserIP, func(text string) string {
		address, err := netip.ParseAddr(text) // ipText has checked it
		if err != nil {
			return ""
		}
		return keys.Network(address)
	}, lenient.Placeholder)
	if c := &person.Customer; c.Valid {
		order.EmailKey = hashed(&doubtful, "customer.email", &c.Value.Email, keys.Email, lenient.NoEmail)
		order.PhoneKey = hashed(&doubtful, "customer.phone", &c.Value.Phone, keys.Phone, lenient.NoPhone)
		order.CustomerKey = hashed(&doubtful, "customer.customerId", &c.Value.CustomerID, keys.Customer, lenient.Placeholder)
	} else if c.Present {
		order.EmailKey, order.PhoneKey, order.CustomerKey = wire.Null[string](), wire.Null[string](), wire.Null[string]()
	}
	order.VisitorID = hashed(&doubtful, "userId", userID, keys.VisitorID, lenient.Placeholder)
	return doubtful
}

// addFormer adds the same keyed hashes by the former hashing secret to an order.
func addFormer(order *wire.Order, person wire.Personal, userID wire.Optional[string], keys identity.Keys) {
	var was wire.Order
	name(&was, &person, &userID, keys) // what is doubtful is said already
	former := wire.Former{
		EmailKey: was.EmailKey.Value, PhoneKey: was.PhoneKey.Value, CustomerKey: was.CustomerKey.Value,
		CartKey: was.CartKey.Value, CartNoKey: was.CartNoKey.Value, NetKey: was.NetKey.Value,
	}
	if was.VisitorID.Value != order.VisitorID.Value { // a UUID is not hashed
		former.UserKey = was.VisitorID.Value
	}
	if former != (wire.Former{}) {
		order.Former = []wire.Former{former}
	}
}

// userIDMAC tells whether a userId is the edge's signed cookie. Only the raw
// userId can say it: of <UUID>.<mac> the UUID alone is kept.
func userIDMAC(raw string, signer *identity.Signer) wire.UserIDMAC {
	raw = strings.TrimSpace(raw)
	id, _, signed := wire.CutMAC(raw)
	if !signed || !uuidtext.Is(id) {
		return wire.MACNone
	}
	if _, _, ours := signer.Verify(identity.SignedCookie, raw); ours {
		return wire.MACValid
	}
	return wire.MACInvalid
}

// hashed returns the keyed hash of a value. One that can be no key, such as "undefined", counts
// as absent, and is doubtful, but for zeros: platforms write them for a guest.
func hashed(doubtful *commerce.Violations, name string, raw *wire.Optional[string], key func(string) string,
	wrong string) wire.Optional[string] {
	if !raw.Present {
		return wire.Optional[string]{}
	}
	if !raw.Valid {
		return wire.Null[string]()
	}
	if k := key(raw.Value); k != "" {
		return wire.Some(k)
	}
	if strings.Trim(raw.Value, "0 ") != "" {
		doubtful.Add(name, commerce.CodeInvalidValue, "%s", wrong)
	}
	*raw = wire.Optional[string]{}
	return *raw
}
