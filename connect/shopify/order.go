package shopify

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// What is asked of an order. Fields of lists are bounded by first; what the lines need beyond that is asked for by moreLines.
const (
	moneyFields = `{ shopMoney { amount currencyCode } }`
	shortFields = `id createdAt updatedAt cancelledAt test displayFinancialStatus currentTotalPriceSet ` + moneyFields +
		` totalRefundedSet ` + moneyFields + ` netPaymentSet ` + moneyFields
	allocationFields = `discountAllocations { allocatedAmountSet ` + moneyFields +
		` discountApplication { ... on DiscountCodeApplication { code } } }`
	lineFields = `pageInfo { hasNextPage endCursor } nodes { currentQuantity sku product { id } variant { id } originalUnitPriceSet ` +
		moneyFields + ` ` + allocationFields + ` }`
	orderFields = shortFields + ` name number displayFulfillmentStatus sourceName currentTotalDiscountsSet ` + moneyFields +
		` currentShippingPriceSet ` + moneyFields + ` currentTotalTaxSet ` + moneyFields + `
		discountCodes checkoutToken clientIp email phone paymentGatewayNames
		channelInformation { channelDefinition { isMarketplace } }
		customer { id displayName defaultEmailAddress { emailAddress } defaultPhoneNumber { phoneNumber } }
		shippingAddress { provinceCode countryCodeV2 }
		customerJourneySummary { lastVisit { utmParameters { source medium campaign content term } } }
		fulfillments(first: 20) { status deliveredAt }
		refunds(first: 20) { id createdAt totalRefundedSet ` + moneyFields + ` }
		shippingLines(first: 3) { nodes { ` + allocationFields + ` } }
		lineItems(first: 20) { ` + lineFields + ` }`

	listOrders = `query($first: Int!, $after: String, $query: String!, $sort: OrderSortKeys!) {
		orders(first: $first, after: $after, query: $query, sortKey: $sort) { pageInfo { hasNextPage endCursor } nodes { `
	pageQuery   = listOrders + orderFields + ` } } }`
	digestQuery = listOrders + shortFields + ` } } }`
	countQuery  = `query($query: String!) { ordersCount(query: $query) { count } }`
	orderQuery  = `query($id: ID!) { order(id: $id) { ` + orderFields + ` } }`
	linesQuery  = `query($id: ID!, $after: String) { order(id: $id) { lineItems(first: 50, after: $after) { ` + lineFields + ` } } }`
)

// money is the MoneyBag of the Admin API, in the shop's currency. What the buyer saw (presentmentMoney) is not asked for: a
// store's orders and commissions are in one currency.
type money struct {
	ShopMoney struct {
		Amount       json.Number `json:"amount"`
		CurrencyCode string      `json:"currencyCode"`
	} `json:"shopMoney"`
}

type allocation struct {
	Amount      *money `json:"allocatedAmountSet"`
	Application struct {
		Code string `json:"code"` // of a DiscountCodeApplication alone
	} `json:"discountApplication"`
}

type lineItem struct {
	Quantity int    `json:"currentQuantity"` // without what was refunded or removed
	SKU      string `json:"sku"`
	Product  *struct {
		ID string `json:"id"`
	} `json:"product"`
	Variant *struct {
		ID string `json:"id"`
	} `json:"variant"`
	UnitPrice   *money       `json:"originalUnitPriceSet"`
	Allocations []allocation `json:"discountAllocations"`
}

type utm struct {
	Parameters *struct {
		Source   string `json:"source"`
		Medium   string `json:"medium"`
		Campaign string `json:"campaign"`
		Content  string `json:"content"`
		Term     string `json:"term"`
	} `json:"utmParameters"`
}

// order is an Order of the Admin API, as orderFields asks for it.
// Source: shopify.dev/docs/api/admin-graphql/2026-10/objects/Order.
type order struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Number          int64      `json:"number"`
	CreatedAt       time.Time  `json:"createdAt"`
	UpdatedAt       time.Time  `json:"updatedAt"`
	CancelledAt     *time.Time `json:"cancelledAt"`
	Test            bool       `json:"test"`
	FinancialStatus string     `json:"displayFinancialStatus"`
	Fulfilled       string     `json:"displayFulfillmentStatus"`
	SourceName      string     `json:"sourceName"`
	Total           *money     `json:"currentTotalPriceSet"`
	Refunded        *money     `json:"totalRefundedSet"`
	NetPayment      *money     `json:"netPaymentSet"`
	Discounts       *money     `json:"currentTotalDiscountsSet"`
	Shipping        *money     `json:"currentShippingPriceSet"`
	Tax             *money     `json:"currentTotalTaxSet"`
	Codes           []string   `json:"discountCodes"`
	CheckoutToken   string     `json:"checkoutToken"`
	ClientIP        string     `json:"clientIp"`
	Email           string     `json:"email"`
	Phone           string     `json:"phone"`
	Gateways        []string   `json:"paymentGatewayNames"`
	Channel         *struct {
		Definition *struct {
			IsMarketplace bool `json:"isMarketplace"`
		} `json:"channelDefinition"`
	} `json:"channelInformation"`
	Customer *struct {
		ID    string `json:"id"`
		Name  string `json:"displayName"`
		Email *struct {
			Address string `json:"emailAddress"`
		} `json:"defaultEmailAddress"`
		Phone *struct {
			Number string `json:"phoneNumber"`
		} `json:"defaultPhoneNumber"`
	} `json:"customer"`
	ShippingAddress *struct {
		Province string `json:"provinceCode"`
		Country  string `json:"countryCodeV2"`
	} `json:"shippingAddress"`
	Journey *struct {
		LastVisit *utm `json:"lastVisit"`
	} `json:"customerJourneySummary"`
	Fulfillments []struct {
		Status      string     `json:"status"`
		DeliveredAt *time.Time `json:"deliveredAt"`
	} `json:"fulfillments"`
	Refunds []struct {
		ID        string     `json:"id"`
		CreatedAt *time.Time `json:"createdAt"`
		Total     *money     `json:"totalRefundedSet"`
	} `json:"refunds"`
	ShippingLines struct {
		Nodes []struct {
			Allocations []allocation `json:"discountAllocations"`
		} `json:"nodes"`
	} `json:"shippingLines"`
	LineItems struct {
		PageInfo pageInfo   `json:"pageInfo"`
		Nodes    []lineItem `json:"nodes"`
	} `json:"lineItems"`
}

type pageInfo struct {
	HasNextPage bool   `json:"hasNextPage"`
	EndCursor   string `json:"endCursor"`
}

// readOrder turns an Order of the Admin API into ours. It is a pure function. further are the lines that did not fit into the
// order's first page of lines.
func readOrder(raw json.RawMessage, further ...lineItem) platform.Item {
	var from order
	item := platform.Item{}
	if err := json.Unmarshal(raw, &from); err != nil {
		item.ID = idAlone(raw)
		return platform.Unreadable(item, raw, platform.Unread("a field of another type than documented"))
	}
	item = platform.Item{ID: number(from.ID), UpdatedAt: from.UpdatedAt, CreatedAt: from.CreatedAt}
	status, err := from.status()
	if err != nil {
		return platform.Unreadable(item, raw, err)
	}
	total, err := from.left()
	if err != nil {
		return platform.Unreadable(item, raw, err)
	}
	to := &platform.Order{
		OrderID: item.ID, Number: from.Number, Name: from.Name, Status: status, CreatedAt: from.CreatedAt, UpdatedAt: from.UpdatedAt,
		DeliveredAt: from.delivered(), TotalPrice: total, Currency: from.Total.ShopMoney.CurrencyCode, Discounts: from.Discounts.number(),
		Shipping: from.Shipping.number(), Tax: from.Tax.number(), PaymentMethod: from.paymentMethod(), BrowserIP: from.ClientIP,
		Source: from.source(), Test: from.Test, CartToken: from.CheckoutToken,
	}
	if to.Source != sourceWeb && to.Source != sourceApp {
		to.CartToken = "" // POS, drafts and marketplaces have no checkout of the shop's pages
	}
	from.LineItems.Nodes = append(from.LineItems.Nodes, further...)
	to.Codes, to.Items, to.Customer = from.codes(to.Currency), from.items(), from.customer()
	if a := from.ShippingAddress; a != nil {
		to.Province, to.Country = a.Province, a.Country
	}
	if j := from.Journey; j != nil && j.LastVisit != nil && j.LastVisit.Parameters != nil {
		p := j.LastVisit.Parameters
		to.UTMSource, to.UTMMedium, to.UTMCampaign, to.UTMContent, to.UTMTerm = p.Source, p.Medium, p.Campaign, p.Content, p.Term
	}
	for _, refund := range from.Refunds {
		amount, err := commerce.ParseMinor(string(refund.Total.number()), to.Currency)
		if err != nil || amount <= 0 {
			continue // an edit, or a return whose money was not given back
		}
		made := platform.Refund{ID: number(refund.ID), Amount: platform.Number(amount, to.Currency)}
		if refund.CreatedAt != nil {
			made.CreatedAt = *refund.CreatedAt
		}
		to.Refunds = append(to.Refunds, made)
	}
	if err := to.Tidy(); err != nil {
		return platform.Unreadable(item, raw, err)
	}
	item.Order = to
	return item
}

// number is the amount as Shopify wrote it; empty where it is not there.
func (m *money) number() json.Number {
	if m == nil {
		return ""
	}
	return m.ShopMoney.Amount
}

// status is 0 approved, 1 pending or 2 cancelled, by
// shopify.dev/docs/api/admin-graphql/2026-10/enums/OrderDisplayFinancialStatus.
func (o *order) status() (int, error) {
	if o.CancelledAt != nil {
		return 2, nil
	}
	switch o.FinancialStatus {
	case "PAID", "PARTIALLY_REFUNDED":
		return 0, nil
	case "PENDING", "AUTHORIZED", "PARTIALLY_PAID":
		return 1, nil
	case "REFUNDED", "VOIDED", "EXPIRED":
		return 2, nil
	}
	return 0, platform.Unread("displayFinancialStatus")
}

// left is what is left of the order. currentTotalPriceSet is without what was returned or removed by an edit. Where money was
// given back the net payment bounds it too: money can be given back without a line being returned.
func (o *order) left() (json.Number, error) {
	if o.Total == nil {
		return "", platform.Unread("currentTotalPriceSet")
	}
	currency := o.Total.ShopMoney.CurrencyCode
	total, err := commerce.ParseMinor(string(o.Total.number()), currency)
	if err != nil {
		return "", platform.Unread("currentTotalPriceSet " + err.Error())
	}
	refunded, err := commerce.ParseMinor(string(o.Refunded.number()), currency)
	if err != nil || refunded <= 0 {
		return platform.Number(total, currency), nil
	}
	if net, err := commerce.ParseMinor(string(o.NetPayment.number()), currency); err == nil {
		total = min(total, net)
	}
	return platform.Number(total, currency), nil
}

// delivered is when the last parcel came, once the whole order was sent and every parcel has come.
func (o *order) delivered() time.Time {
	var last time.Time
	if o.Fulfilled != "FULFILLED" {
		return last
	}
	for _, f := range o.Fulfillments {
		if f.Status != "SUCCESS" {
			continue
		}
		if f.DeliveredAt == nil {
			return time.Time{}
		}
		last = commerce.Later(last, *f.DeliveredAt)
	}
	return last
}

// Sources of POST /order.
const (
	sourceWeb         = 0
	sourceMarketplace = 1
	sourceApp         = 2
	sourceOther       = 3
)

// source is by sourceName, whose documented values are web, mobile_app and pos; apps of others have their number. A draft order
// is made by the merchant.
func (o *order) source() int {
	switch {
	case o.Channel != nil && o.Channel.Definition != nil && o.Channel.Definition.IsMarketplace:
		return sourceMarketplace
	case o.SourceName == "web":
		return sourceWeb
	case o.SourceName == "mobile_app":
		return sourceApp
	case o.SourceName == "pos" || o.SourceName == "shopify_draft_order" || o.CheckoutToken == "":
		return sourceOther
	}
	return sourceWeb // an app that sells by the shop's checkout
}

// Payment methods of POST /order.
const (
	paymentCard     = 1
	paymentBankSlip = 3
	paymentInstant  = 4
	paymentOther    = 15
)

// paymentMethod is by the names of the gateways, which merchants and apps choose: only what is plain is told.
func (o *order) paymentMethod() int {
	for _, name := range o.Gateways {
		switch name = strings.ToLower(name); {
		case name == "gift_card":
			continue
		case strings.Contains(name, "pix"):
			return paymentInstant
		case strings.Contains(name, "boleto"):
			return paymentBankSlip
		case name == "shopify_payments":
			return paymentCard
		}
		return paymentOther
	}
	return 0
}

// codes are the order's discount codes, in its order, each with the sum of what it took off lines and shipping.
func (o *order) codes(currency string) []platform.Code {
	sums := map[string]int64{} // minor units
	add := func(allocations []allocation) {
		for _, a := range allocations {
			if minor, err := commerce.ParseMinor(string(a.Amount.number()), currency); err == nil && a.Application.Code != "" {
				sums[strings.ToLower(a.Application.Code)] += max(minor, 0)
			}
		}
	}
	for _, line := range o.LineItems.Nodes {
		add(line.Allocations)
	}
	for _, line := range o.ShippingLines.Nodes {
		add(line.Allocations)
	}
	discounts, err := commerce.ParseMinor(string(o.Discounts.number()), currency)
	untold := len(sums) == 0 && (err != nil || discounts > 0) // something was taken off, and no line says by which code
	codes := make([]platform.Code, 0, len(o.Codes))
	for _, code := range o.Codes {
		if slices.ContainsFunc(codes, func(c platform.Code) bool { return strings.EqualFold(c.Code, code) }) {
			continue
		}
		one := platform.Code{Code: code}
		if !untold {
			one.Amount = platform.Number(sums[strings.ToLower(code)], currency)
		}
		codes = append(codes, one)
	}
	return codes
}

func (o *order) items() []platform.OrderItem {
	items := make([]platform.OrderItem, 0, len(o.LineItems.Nodes))
	for _, line := range o.LineItems.Nodes {
		item := platform.OrderItem{ItemID: line.SKU, Quantity: line.Quantity, Price: line.UnitPrice.number()}
		if line.Product != nil {
			item.ProductID = number(line.Product.ID)
			item.ItemID = item.ProductID
		}
		if line.Variant != nil {
			item.VariantID = number(line.Variant.ID)
			item.ItemID = item.VariantID
		}
		items = append(items, item)
	}
	return items
}

func (o *order) customer() *platform.Customer {
	c := &platform.Customer{Email: o.Email, Phone: o.Phone}
	if from := o.Customer; from != nil {
		c.ID, c.Name = number(from.ID), from.Name
		if c.Email == "" && from.Email != nil {
			c.Email = from.Email.Address
		}
		if c.Phone == "" && from.Phone != nil {
			c.Phone = from.Phone.Number
		}
	}
	return c
}

// number is the last part of a global id: gid://shopify/Order/820982911946154508 is 820982911946154508. What is none is empty.
func number(gid string) string {
	rest, found := strings.CutPrefix(gid, "gid://shopify/")
	_, digits, two := strings.Cut(rest, "/")
	digits, _, _ = strings.Cut(digits, "?")
	if !found || !two || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return digits
}

// idAlone is the order's id of JSON that is else not as documented.
func idAlone(raw []byte) string {
	var only struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &only) != nil {
		return ""
	}
	return number(only.ID)
}

// hundredth is a percentage as Shopify writes it: 10 is 0.1.
func hundredth(percent string) (json.Number, error) {
	d, err := commerce.ParseDecimal(percent)
	if err != nil || !d.IsPositive() || d.GreaterThan(decimal.NewFromInt(100)) {
		return "", platform.Unread("percent")
	}
	return json.Number(d.Shift(-2).String()), nil
}
