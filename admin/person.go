package admin

import (
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// readPerson reads what names or describes the shopper: keyed hashes into the
// order, the raw values into its personal part alone.
func readPerson(o object, keys identity.Keys, order *wire.Order) {
	p := wire.Personal{
		UserAgent: optional(o, "userAgent", text(maxUserAgent)),
		BrowserIP: optional(o, "browserIp", ipText),
		CartToken: optional(o, "cartToken", text(maxID)),
	}
	order.CartKey = hashed(p.CartToken, keys.Cart)

	userID := optional(o, "userId", text(maxID))
	order.VisitorID = hashed(userID, keys.VisitorID)
	// What is no UUID may name a person: as it came, it stays in the personal part.
	if order.VisitorID.Valid && !commerce.IsUUID(order.VisitorID.Value) {
		p.UserID = userID
	}

	switch field := o.child("customer"); {
	case field.Valid:
		c := readCustomer(field.Value)
		p.Customer = wire.Some(c)
		order.EmailKey = hashed(c.Email, keys.Email)
		order.PhoneKey = hashed(c.Phone, keys.Phone)
		order.CustomerKey = hashed(c.CustomerID, keys.Customer)
	case field.Present:
		p.Customer = wire.Null[wire.Customer]()
		order.EmailKey, order.PhoneKey, order.CustomerKey = wire.Null[string](), wire.Null[string](), wire.Null[string]()
	}
	if p != (wire.Personal{}) {
		// Strings, and times in years that timestamp took: it cannot fail.
		order.Personal, _ = p.AppendJSON(make([]byte, 0, personalBytes))
	}
}

func readCustomer(o object) wire.Customer {
	return wire.Customer{
		CustomerID:   optional(o, "customerId", text(maxID)),
		Name:         optional(o, "name", text(maxText)),
		Email:        optional(o, "email", text(maxText)),
		Phone:        optional(o, "phone", text(maxID)),
		ProvinceCode: optional(o, "provinceCode", text(maxID)),
		CountryCode:  optional(o, "countryCode", text(maxID)),
		Zip:          optional(o, "zip", text(maxID)),
		City:         optional(o, "city", text(maxText)),
		CreatedAt:    optional(o, "createdAt", timestamp),
		UpdatedAt:    optional(o, "updatedAt", timestamp),
		Birthdate:    optional(o, "birthdate", date),
	}
}

// hashed is a raw value's key. Junk ("null", "0") is no key, and clears one
// that was known, as null does: the shop says that it does not know.
func hashed(raw wire.Optional[string], key func(string) string) wire.Optional[string] {
	if !raw.Present {
		return wire.Optional[string]{}
	}
	if !raw.Valid {
		return wire.Null[string]()
	}
	if k := key(raw.Value); k != "" {
		return wire.Some(k)
	}
	return wire.Null[string]()
}
