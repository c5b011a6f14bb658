package vtex

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// order is what Get order answers. Amounts are whole cents, whatever the currency.
// Source: vtex/openapi-schemas, "VTEX - Orders API.json", /api/oms/pvt/orders/{orderId}.
type order struct {
	OrderID    string `json:"orderId"`
	Sequence   string `json:"sequence"`
	Origin     string `json:"origin"`
	Status     string `json:"status"`
	Value      cents  `json:"value"`
	Created    string `json:"creationDate"`
	Changed    string `json:"lastChange"`
	Authorized string `json:"authorizedDate"`
	Totals     []struct {
		ID    string `json:"id"`
		Value cents  `json:"value"`
	} `json:"totals"`
	Preferences struct {
		Currency string `json:"currencyCode"`
	} `json:"storePreferencesData"`
	Subscription *struct {
		Subscriptions []struct {
			Count json.Number `json:"ExecutionCount"`
		} `json:"Subscriptions"`
	} `json:"subscriptionData"`
	CallCentre json.RawMessage `json:"callCenterOperatorData"`
	Packages   struct {
		Packages []parcel `json:"packages"`
	} `json:"packageAttachment"`
	Payment struct {
		Transactions []struct {
			Payments []struct {
				Group        string      `json:"group"`
				Name         string      `json:"paymentSystemName"`
				Installments json.Number `json:"installments"`
			} `json:"payments"`
		} `json:"transactions"`
	} `json:"paymentData"`
	Shipping struct {
		Address *struct {
			State string `json:"state"`
		} `json:"address"`
	} `json:"shippingData"`
	Marketing *struct {
		Source   string `json:"utmSource"`
		Medium   string `json:"utmMedium"`
		Campaign string `json:"utmCampaign"`
		Coupon   string `json:"coupon"`
	} `json:"marketingData"`
	Client *struct {
		Email     string `json:"email"`
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
		Phone     string `json:"phone"`
		UserID    string `json:"userProfileId"`
	} `json:"clientProfileData"`
	Items []struct {
		ID           string      `json:"id"`
		ProductID    string      `json:"productId"`
		Quantity     json.Number `json:"quantity"`
		SellingPrice cents       `json:"sellingPrice"`
	} `json:"items"`
}

type parcel struct {
	Type          string `json:"type"` // Output: sold; Input: returned
	InvoiceNumber string `json:"invoiceNumber"`
	Issued        string `json:"issuanceDate"`
	Courier       *struct {
		Finished  bool   `json:"finished"`
		Delivered string `json:"deliveredDate"`
	} `json:"courierStatus"`
	Restitutions *struct {
		Refund *struct {
			Value cents `json:"value"`
		} `json:"Refund"`
	} `json:"restitutions"`
}

// cents is an amount as VTEX writes it: 1160 is 11.60, also of currencies that have no cents.
type cents json.Number

// UnmarshalJSON takes a number, and null.
func (c *cents) UnmarshalJSON(text []byte) error {
	var n json.Number
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	*c = cents(n)
	return nil
}

// minor is the amount in minor units of a currency; false where it is none of it.
func (c cents) minor(currency string) (int64, bool) {
	d, err := commerce.ParseDecimal(string(c))
	if err != nil || !d.IsInteger() {
		return 0, false
	}
	minor, err := commerce.ParseMinor(d.Shift(-2).String(), currency)
	return minor, err == nil
}

// readOrder turns an order of VTEX into ours. It is a pure function. false: the order has no status ("Status Null"), and is
// nothing yet.
func readOrder(raw json.RawMessage) (platform.Item, bool) {
	var from order
	var item platform.Item
	if json.Unmarshal(raw, &from) != nil {
		item.ID = idAlone(raw)
		return platform.Unreadable(item, raw, platform.Unread("a field of another type than documented")), true
	}
	item = platform.Item{ID: from.OrderID, UpdatedAt: instant(from.Changed), CreatedAt: instant(from.Created)}
	if noStatus(from.Status) {
		return item, false
	}
	currency := from.Preferences.Currency
	status, known := from.status()
	if !known {
		return platform.Unreadable(item, raw, platform.Unread("status")), true
	}
	total, ok := from.Value.minor(currency)
	if !ok {
		return platform.Unreadable(item, raw, platform.Unread("value, or storePreferencesData.currencyCode")), true
	}
	to := &platform.Order{
		OrderID: from.OrderID, Status: status, CreatedAt: item.CreatedAt, UpdatedAt: item.UpdatedAt, Currency: currency,
		Source: from.source(), Customer: from.customer(), Codes: []platform.Code{}, Province: from.province(),
	}
	to.Number, _ = strconv.ParseInt(from.Sequence, 10, 64)
	to.Refunds, total = from.refunds(currency, total)
	to.TotalPrice = platform.Number(total, currency)
	from.totals(to)
	to.DeliveredAt = from.delivered()
	to.PaymentMethod, to.Installments = from.payment()
	if s := from.Subscription; s != nil {
		for _, one := range s.Subscriptions {
			if n, err := one.Count.Int64(); err == nil && n > 1 {
				to.Subscription = &platform.Subscription{Recurring: true}
			}
		}
	}
	if m := from.Marketing; m != nil {
		to.UTMSource, to.UTMMedium, to.UTMCampaign = m.Source, m.Medium, m.Campaign
		if m.Coupon != "" {
			to.Codes = []platform.Code{{Code: m.Coupon}}
		}
	}
	for _, line := range from.Items {
		quantity, _ := line.Quantity.Int64()
		price, err := commerce.ParseDecimal(string(line.SellingPrice))
		if err != nil {
			continue
		}
		to.Items = append(to.Items, platform.OrderItem{
			ItemID: line.ID, VariantID: line.ID, ProductID: line.ProductID, Quantity: int(min(quantity, 1_000_000)),
			Price: json.Number(price.Shift(-2).String()),
		})
	}
	if err := to.Tidy(); err != nil {
		return platform.Unreadable(item, raw, err), true
	}
	item.Order = to
	return item, true
}

// noStatus: VTEX's documentation warns of "Status Null", which stands for no status.
func noStatus(status string) bool {
	return status == "" || strings.EqualFold(status, "null") || strings.EqualFold(status, "status null")
}

// statuses by help.vtex.com, "Order flow and status", and developers.vtex.com, "Orders overview". asItWas is what does not say
// whether the order was paid: a cancellation that is asked for, and a change of the seller.
var statuses = map[string]int{
	"order-created": 1, "order-completed": 1, "on-order-completed": 1, "on-order-completed-ffm": 1, "order-accepted": 1,
	"payment-pending": 1, "approve-payment": 1, "waiting-for-authorization": 1, "waiting-for-sellers-confirmation": 1,
	"waiting-for-seller-confirmation": 1, "waiting-for-order-authorization": 1, "waiting-ffmt-authorization": 1,
	"waiting-for-manual-authorization": 1, "waiting-for-mkt-authorization": 1, "window-to-change-payment": 1,

	"payment-approved": 0, "window-to-cancel": 0, "authorize-fulfillment": 0, "release-to-fulfillment": 0, "ready-for-handling": 0,
	"start-handling": 0, "handling": 0, "waiting-for-fulfillment": 0, "waiting-seller-handling": 0, "ready-for-invoicing": 0,
	"invoice": 0, "invoiced": 0,

	"canceled": 2, "payment-denied": 2,

	"cancel": asItWas, "request-cancel": asItWas, "cancellation-requested": asItWas, "waiting-for-seller-decision": asItWas,
	"window-to-change-seller": asItWas,
}

const asItWas = -1

func (o *order) status() (status int, known bool) {
	status, known = statuses[o.Status]
	switch {
	case status == asItWas && o.Authorized != "":
		return 0, known
	case status == asItWas:
		return 1, known
	}
	return status, known
}

// refunds are what was given back for returned goods, by the invoices of returns. total is what is left.
func (o *order) refunds(currency string, total int64) (refunds []platform.Refund, left int64) {
	for _, p := range o.Packages.Packages {
		if p.Restitutions == nil || p.Restitutions.Refund == nil {
			continue
		}
		amount, ok := p.Restitutions.Refund.Value.minor(currency)
		if !ok || amount <= 0 {
			continue
		}
		total -= amount
		refunds = append(refunds, platform.Refund{
			ID: p.InvoiceNumber, Amount: platform.Number(amount, currency), CreatedAt: instant(p.Issued),
		})
	}
	return refunds, max(total, 0)
}

// totals fills discounts, which VTEX writes as negative, shipping and tax.
func (o *order) totals(to *platform.Order) {
	for _, t := range o.Totals {
		amount, ok := t.Value.minor(to.Currency)
		if !ok {
			continue
		}
		switch t.ID {
		case "Discounts":
			to.Discounts = platform.Number(max(amount, -amount), to.Currency)
		case "Shipping":
			to.Shipping = platform.Number(amount, to.Currency)
		case "Tax":
			to.Tax = platform.Number(amount, to.Currency)
		}
	}
}

// delivered is when the last parcel came, once every parcel that was sent has come.
func (o *order) delivered() time.Time {
	var last time.Time
	for _, p := range o.Packages.Packages {
		if p.Type == "Input" {
			continue
		}
		if p.Courier == nil || !p.Courier.Finished || instant(p.Courier.Delivered).IsZero() {
			return time.Time{}
		}
		last = commerce.Later(last, instant(p.Courier.Delivered))
	}
	return last
}

// Sources of POST /order. Fulfillment and Chain are orders that were sold elsewhere.
func (o *order) source() int {
	switch {
	case o.Origin == "Fulfillment" || o.Origin == "Chain":
		return 1
	case len(o.CallCentre) > 0 && string(o.CallCentre) != "null":
		return 3
	}
	return 0
}

// payment is by the group of the first payment, which VTEX names: creditCard, bankInvoice, instantPayment, …
func (o *order) payment() (method, installments int) {
	for _, t := range o.Payment.Transactions {
		for _, p := range t.Payments {
			n, _ := p.Installments.Int64()
			installments = int(min(max(n, 0), 1000))
			switch group := strings.ToLower(p.Group); {
			case group == "giftcard":
				continue
			case strings.Contains(group, "creditcard"):
				return 1, installments
			case group == "bankinvoice":
				return 3, installments
			case group == "instantpayment" || strings.EqualFold(p.Name, "pix"):
				return 4, installments
			}
			return 15, installments
		}
	}
	return 0, installments
}

func (o *order) province() string {
	if o.Shipping.Address == nil {
		return ""
	}
	return o.Shipping.Address.State
}

// customer leaves an e-mail out that is a mask (…@ct.vtex.com.br): it is one for each order, and nobody's.
func (o *order) customer() *platform.Customer {
	c := o.Client
	if c == nil {
		return nil
	}
	email := c.Email
	if strings.HasSuffix(strings.ToLower(email), "@ct.vtex.com.br") {
		email = ""
	}
	return &platform.Customer{ID: c.UserID, Name: c.FirstName + " " + c.LastName, Email: email, Phone: c.Phone}
}

// instant reads a time as VTEX writes it: RFC 3339, and for deliveries with a space instead of the T. What is none is zero.
func instant(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// idAlone is the order's id of JSON that is else not as documented.
func idAlone(raw []byte) string {
	var only struct {
		ID string `json:"orderId"`
	}
	_ = json.Unmarshal(raw, &only)
	return only.ID
}
