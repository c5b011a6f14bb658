package admin

import (
	"encoding/json"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// personal is wire.Order.Personal: the only place of raw personal data on Kafka.
type personal struct {
	Customer  wire.Optional[customer] `json:"customer,omitzero"`
	UserAgent wire.Optional[string]   `json:"userAgent,omitzero"`
	BrowserIP wire.Optional[string]   `json:"browserIp,omitzero"`
	CartToken wire.Optional[string]   `json:"cartToken,omitzero"`
	UserID    wire.Optional[string]   `json:"userId,omitzero"` // only where it is no visitor's id but names a person
}

// customer is the specification's Customer, as sent.
type customer struct {
	CustomerID   wire.Optional[string]    `json:"customerId,omitzero"`
	Name         wire.Optional[string]    `json:"name,omitzero"`
	Email        wire.Optional[string]    `json:"email,omitzero"`
	Phone        wire.Optional[string]    `json:"phone,omitzero"`
	ProvinceCode wire.Optional[string]    `json:"provinceCode,omitzero"`
	CountryCode  wire.Optional[string]    `json:"countryCode,omitzero"`
	Zip          wire.Optional[string]    `json:"zip,omitzero"`
	City         wire.Optional[string]    `json:"city,omitzero"`
	CreatedAt    wire.Optional[time.Time] `json:"createdAt,omitzero"`
	UpdatedAt    wire.Optional[time.Time] `json:"updatedAt,omitzero"`
	Birthdate    wire.Optional[string]    `json:"birthdate,omitzero"`
}

// readPerson reads what names or describes the shopper: keyed hashes into the
// order, the raw values into its personal part alone.
func readPerson(o object, keys identity.Keys, order *wire.Order) {
	p := personal{
		UserAgent: optional(o, "userAgent", text(maxUserAgent)),
		BrowserIP: optional(o, "browserIp", ipText),
		CartToken: optional(o, "cartToken", text(maxID)),
	}
	order.CartKey = hashed(p.CartToken, keys.Cart)

	userID := optional(o, "userId", text(maxID))
	order.VisitorID = userID
	if userID.Valid && identity.Scrub(userID.Value) != userID.Value {
		// An e-mail or phone in the visitor's place: it must not leave the personal part.
		order.VisitorID, p.UserID = wire.Null[string](), userID
	} else if userID.Valid && identity.NormalID(userID.Value) == "" {
		order.VisitorID = wire.Null[string]()
	}

	switch field := o.child("customer"); {
	case field.Valid:
		c := readCustomer(field.Value)
		p.Customer = wire.Some(c)
		order.EmailKey = hashed(c.Email, keys.Email)
		order.PhoneKey = hashed(c.Phone, keys.Phone)
		order.CustomerKey = hashed(c.CustomerID, keys.Customer)
	case field.Present:
		p.Customer = wire.Null[customer]()
		order.EmailKey, order.PhoneKey, order.CustomerKey = wire.Null[string](), wire.Null[string](), wire.Null[string]()
	}
	if p != (personal{}) {
		// Plain strings and times: it cannot fail.
		order.Personal, _ = json.Marshal(p)
	}
}

func readCustomer(o object) customer {
	return customer{
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
