package vtex

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.0000000+00:00")
}

// cents writes an amount as the API does: a whole number of hundredths.
func cents(m shop.Money) int64 { return int64(m) }

func dashed(id string) string {
	if len(id) != 32 {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

func text(t string) any {
	if t == "" {
		return nil
	}
	return t
}

func (p *Platform) email(o shop.Order) string {
	if p.options.Undocumented {
		return p.options.Secret(o.Customer.Email, 32) + "@ct.vtex.com.br"
	}
	return o.Customer.Email
}

// words are what the API calls a status for people.
var words = map[string]string{
	"payment-pending": "Pagamento Pendente", "payment-approved": "Pagamento Aprovado", "ready-for-handling": "Pronto para o manuseio",
	"handling": "Preparando Entrega", "invoiced": "Faturado", "canceled": "Cancelado",
}

func origin(o shop.Order) (origin, affiliate string) {
	if o.Channel == shop.ChannelMarketplace {
		return "Fulfillment", "MLB"
	}
	return "Marketplace", ""
}

// marketing is where the order came from: null when nothing is known.
func marketing(o shop.Order) any {
	at, err := url.Parse(o.Landing)
	if err != nil {
		at = &url.URL{}
	}
	query, codes := at.Query(), o.Codes()
	partner := query.Get("utm_partner")
	if own := o.Attribute("utmPartner"); own != "" {
		partner = own
	}
	if len(codes) == 0 && query.Get("utm_source") == "" && partner == "" {
		return nil
	}
	coupon := any(nil)
	if len(codes) > 0 {
		coupon = codes[0] // one alone
	}
	return shop.O("id", "marketingData", "utmSource", text(query.Get("utm_source")), "utmPartner", text(partner), "utmMedium",
		text(query.Get("utm_medium")),
		"utmCampaign", text(query.Get("utm_campaign")), "coupon", coupon, "utmiCampaign", nil, "utmipage", nil, "utmiPart", nil,
		"marketingTags", []any{})
}

// order renders an order in the documented order of its members.
func (p *Platform) order(s *shop.Shop, o shop.Order) shop.Object {
	from, affiliate := origin(o)
	status, shipping := p.Status(o), o.Shipping
	off := o.Discount()
	var reason, cancellation, operator, gone any
	if status == "canceled" {
		at := o.CancelledAt
		if at.IsZero() {
			at = o.UpdatedAt
		}
		reason, gone = "customer", stamp(at)
		cancellation = shop.O("RequestedByUser", true, "RequestedBySystem", false, "RequestedBySellerNotification", false,
			"RequestedByPaymentNotification", o.State == shop.Voided, "Reason", reason, "CancellationDate", gone)
	}
	if o.Channel == shop.ChannelAdmin {
		operator = shop.O("id", "CallCenterOperatorAttachment", "email", "vendas@example.com", "userName", "vendas")
	}
	return shop.O("orderId", p.OrderID(o), "sequence", p.OrderNumber(o), "marketplaceOrderId", "", "marketplaceServicesEndpoint", nil,
		"sellerOrderId", "00-"+p.OrderID(o), "origin", from, "affiliateId", affiliate, "salesChannel", "1", "merchantName", nil, "status", status,
		"workflowIsInError", false, "statusDescription", words[status], "value", cents(o.Total()), "creationDate", stamp(o.CreatedAt),
		"lastChange", stamp(o.UpdatedAt), "orderGroup", o.Group, "followUpEmail", p.email(o), "lastMessage", nil, "hostname", p.account,
		"isCompleted", true, "roundingError", 0, "orderFormId", dashed(o.CheckoutToken), "allowCancellation", status != "canceled",
		"allowEdition", false,
		"isCheckedIn", false, "authorizedDate", stamp(o.PaidAt), "invoicedDate", stamp(o.ShippedAt), "cancelReason", reason,
		"checkedInPickupPointId", nil,
		"totals", []shop.Object{
			shop.O("id", "Items", "name", "Total dos Itens", "value", cents(o.Subtotal())), shop.O("id", "Discounts", "name",
				"Total dos Descontos", "value", -cents(off)),
			shop.O("id", "Shipping", "name", "Total do Frete", "value", cents(shipping)), shop.O("id", "Tax", "name", "Total da Taxa", "value", 0),
		},
		"sellers", []shop.Object{shop.O("id", "1", "name", s.Options().Shop, "logo", "", "fulfillmentEndpoint", nil)},
		"clientPreferencesData", shop.O("locale", "pt-BR", "optinNewsLetter", false), "cancellationData", cancellation, "taxData", nil,
		"subscriptionData", nil, "itemMetadata", nil, "marketplace", shop.O("baseURL", "http://oms.vtexinternal.com.br/api/oms?an="+p.account,
			"isCertified", nil, "name", p.account),
		"storePreferencesData", shop.O("countryCode", "BRA", "currencyCode", o.Currency, "currencyFormatInfo", shop.O("CurrencyDecimalDigits", 2,
			"CurrencyDecimalSeparator", ",", "CurrencyGroupSeparator", ".", "CurrencyGroupSize", 3, "StartsWithCurrencySymbol", true),
			"currencyLocale", 1046, "currencySymbol", "R$", "timeZone", "E. South America Standard Time"),
		"customData", custom(o), "commercialConditionData", nil, "openTextField", nil, "invoiceData", nil, "changesAttachment", p.changes(o),
		"callCenterOperatorData", operator, "packageAttachment", shop.O("packages", packages(o)), "paymentData", p.payment(o),
		"shippingData", p.shippingData(o), "ratesAndBenefitsData", benefits(o, p), "marketingData", marketing(o), "giftRegistryData", nil,
		"clientProfileData", shop.O("id", "clientProfileData", "email", p.email(o), "firstName", o.Customer.First, "lastName", o.Customer.Last,
			"documentType", "cpf", "document", o.Customer.Document, "phone", o.Customer.Phone, "corporateName", nil, "tradeName", nil,
			"corporateDocument", nil, "stateInscription", nil, "corporatePhone", nil, "isCorporate", false,
			"userProfileId", dashed(p.options.Secret(fmt.Sprint("profile", o.Customer.ID), 32)), "userProfileVersion", nil, "customerClass", nil,
			"customerCode", nil),
		"items", p.items(o))
}

func custom(o shop.Order) any {
	if len(o.Attributes) == 0 {
		return nil
	}
	fields := shop.Object{}
	for _, attribute := range o.Attributes {
		fields = append(fields, shop.Member{Name: attribute.Name, Value: attribute.Value})
	}
	return shop.O("customApps", []shop.Object{shop.O("id", "tributary", "major", 1, "fields", fields)}, "customFields", []any{})
}

// changes renders the edits: what they added to the value and took from it.
func (p *Platform) changes(o shop.Order) any {
	list := []shop.Object{}
	for _, change := range o.History {
		if change.Kind != shop.Edited {
			continue
		}
		added, removed := []shop.Object{}, []shop.Object{}
		item := shop.O("id", change.Product, "name", change.Product, "quantity", max(change.After-change.Before, change.Before-change.After),
			"price",
			cents(max(change.Delta, -change.Delta)), "unitMultiplier", nil)
		if change.Delta > 0 {
			added = append(added, item)
		} else if change.Delta < 0 {
			removed = append(removed, item)
		}
		list = append(list, shop.O("reason", "The customer wanted to change.", "discountValue", cents(max(0, -change.Delta)), "incrementValue",
			cents(max(0, change.Delta)),
			"itemsAdded", added, "itemsRemoved", removed, "receipt", shop.O("date", stamp(change.At), "orderId", p.OrderID(o), "receipt",
				dashed(o.Token[:32]))))
	}
	if len(list) == 0 {
		return nil
	}
	return shop.O("id", "changeAttachment", "changesData", list)
}

// packages renders what was sent, and what came back: an invoice of the type "Input" with the restitution.
func packages(o shop.Order) []shop.Object {
	list := []shop.Object{}
	one := func(kind, number string, value shop.Money, at time.Time, items []shop.Object, courier, restitutions any) {
		list = append(list, shop.O("items", items, "courier", "PAC Correios", "invoiceNumber", number, "invoiceValue", cents(value),
			"invoiceUrl", nil,
			"issuanceDate", stamp(at), "trackingNumber", nil, "invoiceKey", nil, "trackingUrl", nil, "embeddedInvoice", "", "type", kind,
			"courierStatus", courier, "cfop", nil, "restitutions", restitutions, "volumes", nil, "EnableInferItems", nil))
	}
	if !o.ShippedAt.IsZero() {
		items := []shop.Object{}
		for i, line := range o.Lines {
			items = append(items, shop.O("itemIndex", i, "quantity", line.Quantity, "price", cents(line.Product.Price), "description", nil,
				"unitMultiplier", 1.0))
		}
		data := []shop.Object{shop.O("lastChange", stamp(o.UpdatedAt), "city", o.Customer.City, "state", o.Customer.State,
			"description", "Carrier received the package", "createDate", stamp(o.ShippedAt))}
		one("Output", fmt.Sprint(o.Number), o.Total(), o.ShippedAt, items, shop.O("status", "ok", "finished", !o.DeliveredAt.IsZero(),
			"deliveredDate", stamp(o.DeliveredAt), "data", data), shop.Object{})
	}
	for i, refund := range o.Refunds {
		items := []shop.Object{}
		for _, back := range refund.Lines {
			line, _ := o.Line(back.Line)
			items = append(items, shop.O("useFreight", false, "isCompensation", false, "compensationValue", 0, "id",
				fmt.Sprint(line.Product.Variant),
				"quantity", back.Quantity, "price", cents(back.Amount), "description", refund.Reason))
		}
		one("Input", fmt.Sprintf("%d-D%d", o.Number, i+1), refund.Amount, refund.At, []shop.Object{}, nil,
			shop.O("Refund", shop.O("value", cents(refund.Amount), "giftCardData", nil, "items", items)))
	}
	return list
}

func (p *Platform) payment(o shop.Order) shop.Object {
	system, name, group := "125", "Pix", "instantPayment"
	switch o.Method {
	case "credit_card":
		system, name, group = "2", "Visa", "creditCard"
	case "boleto":
		system, name, group = "6", "Boleto Bancário", "bankInvoice"
	}
	id := strings.ToUpper(p.options.Secret(fmt.Sprint("payment", o.ID), 32))
	one := shop.O("id", id, "paymentSystem", system, "paymentSystemName", name, "value", cents(o.Total()), "installments", 1,
		"referenceValue", cents(o.Total()),
		"cardHolder", nil, "cardNumber", nil, "firstDigits", nil, "lastDigits", nil, "cvv2", nil, "expireMonth", nil, "expireYear", nil, "url",
		nil,
		"giftCardId", nil, "giftCardName", nil, "giftCardCaption", nil, "redemptionCode", nil, "group", group, "tid", nil, "dueDate", nil,
		"connectorResponses", shop.Object{}, "giftCardProvider", nil, "giftCardAsDiscount", nil, "koinUrl", nil, "accountId", nil,
		"parentAccountId", nil,
		"bankIssuedInvoiceIdentificationNumber", nil, "bankIssuedInvoiceIdentificationNumberFormatted", nil, "bankIssuedInvoiceBarCodeNumber",
		nil,
		"bankIssuedInvoiceBarCodeType", nil, "billingAddress", nil, "paymentOrigin", nil)
	return shop.O("transactions", []shop.Object{shop.O("isActive", true, "transactionId", id, "merchantName", p.account, "payments",
		[]shop.Object{one})}, "giftCards", []any{})
}

func (p *Platform) shippingData(o shop.Order) shop.Object {
	c := o.Customer
	address := shop.O("addressType", "residential", "receiverName", c.First+" "+c.Last, "addressId", fmt.Sprint(c.ID), "versionId", nil,
		"entityId", nil,
		"postalCode", c.Zip, "city", c.City, "state", c.State, "country", "BRA", "street", c.Street, "number", c.StreetNumber, "neighborhood",
		c.Neighborhood,
		"complement", nil, "reference", nil, "geoCoordinates", []any{})
	return shop.O("id", "shippingData", "address", address, "logisticsInfo", []any{}, "trackingHints", nil, "selectedAddresses",
		[]shop.Object{address}, "contactInformation", []any{})
}

func benefits(o shop.Order, p *Platform) any {
	list := []shop.Object{}
	for _, discount := range o.Discounts {
		list = append(list, shop.O("id", dashed(p.options.Secret("promotion "+discount.Code, 32)), "name", discount.Code, "featured", false,
			"description", "", "matchedParameters", shop.O("couponCode@Marketing", discount.Code), "additionalInfo", nil))
	}
	if len(list) == 0 {
		return nil
	}
	return shop.O("id", "ratesAndBenefitsData", "rateAndBenefitsIdentifiers", list)
}

// items renders the lines; what codes took off is in sellingPrice where it can be parted, and in priceTags exactly.
func (p *Platform) items(o shop.Order) []shop.Object {
	list, parts := []shop.Object{}, o.LineDiscounts()
	for i, line := range o.Lines {
		tags, off := []shop.Object{}, shop.Money(0)
		for d, part := range parts[i] {
			if part > 0 {
				off += part
				tags = append(tags, shop.O("name", "discount@price-"+dashed(p.options.Secret("promotion "+o.Discounts[d].Code, 32)), "value",
					-cents(part),
					"isPercentual", false, "identifier", dashed(p.options.Secret("promotion "+o.Discounts[d].Code, 32)), "rawValue", -float64(part)/100))
			}
		}
		total := line.Product.Price*shop.Money(line.Quantity) - off
		list = append(list, shop.O("uniqueId", strings.ToUpper(p.options.Secret(fmt.Sprint("item", line.ID), 32)), "id",
			fmt.Sprint(line.Product.Variant),
			"productId", fmt.Sprint(line.Product.ID), "ean", nil, "lockId", "00-"+p.OrderID(o), "itemAttachment", shop.O("content", shop.Object{},
				"name", nil),
			"attachments", []any{}, "quantity", line.Quantity, "seller", "1", "name", line.Product.Name, "refId", line.Product.SKU,
			"price", cents(line.Product.Price), "listPrice", cents(line.Product.Price), "manualPrice", nil, "priceTags", tags, "imageUrl", "",
			"detailUrl", "/p",
			"components", []any{}, "bundleItems", []any{}, "params", []any{}, "offerings", []any{}, "attachmentOfferings", []any{}, "sellerSku",
			fmt.Sprint(line.Product.Variant),
			"priceValidUntil", nil, "commission", 0, "tax", 0, "preSaleDate", nil, "additionalInfo", nil, "measurementUnit", "un",
			"unitMultiplier", 1.0,
			"sellingPrice", cents(total)/int64(line.Quantity), "isGift", false, "shippingPrice", nil, "rewardValue", 0, "freightCommission", 0,
			"priceDefinition", shop.O("sellingPrices", []shop.Object{shop.O("value", cents(total)/int64(line.Quantity), "quantity", line.Quantity)},
				"calculatedSellingPrice", cents(total)/int64(line.Quantity), "total", cents(total), "reason", nil),
			"taxCode", nil, "parentItemIndex", nil, "parentAssemblyBinding", nil, "callCenterOperator", nil, "serialNumbers", nil, "assemblies",
			[]any{}, "costPrice", nil))
	}
	return list
}

// entry renders an order for the list.
func (p *Platform) entry(o shop.Order) shop.Object {
	from, affiliate := origin(o)
	pieces := 0
	for _, line := range o.Lines {
		pieces += line.Quantity
	}
	return shop.O("orderId", p.OrderID(o), "creationDate", stamp(o.CreatedAt), "clientName", o.Customer.First+" "+o.Customer.Last, "items",
		nil,
		"totalValue", float64(o.Total()), "paymentNames", "Pix", "status", p.Status(o), "statusDescription", words[p.Status(o)],
		"marketPlaceOrderId", nil,
		"sequence", p.OrderNumber(o), "salesChannel", "1", "affiliateId", affiliate, "origin", from, "workflowInErrorState", false,
		"workflowInRetry", false,
		"lastMessageUnread", nil, "ShippingEstimatedDate", nil, "ShippingEstimatedDateMax", nil, "ShippingEstimatedDateMin", nil,
		"orderIsComplete", true,
		"listId", nil, "listType", nil, "authorizedDate", stamp(o.PaidAt), "callCenterOperatorName", nil, "totalItems", pieces, "currencyCode",
		o.Currency)
}
