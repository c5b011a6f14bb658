package wire

import "time"

// Personal is the value of Order.Personal: the only place of raw personal data
// on Kafka.
type Personal struct {
	Customer  Optional[Customer] `json:"customer,omitzero"`
	UserAgent Optional[string]   `json:"userAgent,omitzero"`
	BrowserIP Optional[string]   `json:"browserIp,omitzero"`
	CartToken Optional[string]   `json:"cartToken,omitzero"`
	// only where the order names its visitor by a keyed digest, since it may name a person
	UserID Optional[string] `json:"userId,omitzero"`
}

// Customer is an order's customer, as sent.
type Customer struct {
	CustomerID   Optional[string]    `json:"customerId,omitzero"`
	Name         Optional[string]    `json:"name,omitzero"`
	Email        Optional[string]    `json:"email,omitzero"`
	Phone        Optional[string]    `json:"phone,omitzero"`
	ProvinceCode Optional[string]    `json:"provinceCode,omitzero"`
	CountryCode  Optional[string]    `json:"countryCode,omitzero"`
	Zip          Optional[string]    `json:"zip,omitzero"`
	City         Optional[string]    `json:"city,omitzero"`
	CreatedAt    Optional[time.Time] `json:"createdAt,omitzero"`
	UpdatedAt    Optional[time.Time] `json:"updatedAt,omitzero"`
	Birthdate    Optional[string]    `json:"birthdate,omitzero"`
}
