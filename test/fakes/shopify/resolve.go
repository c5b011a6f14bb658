package shopify

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
	"github.com/tributary-io/tributary/test/fakes/shopify/graphql"
)

//go:embed schema.graphql
var schemaText string

// mostCost: "a single query may not exceed a cost of 1,000 points".
const mostCost = 1000

// size is how many members of a connection are charged.
func size(members int) int { return (members + 3) / 4 }

type object = graphql.Object

// graphQL answers a query.
func (p *Platform) graphQL(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Query         string         `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
	}
	if err := shop.ReadJSON(r, &body); err != nil || body.Query == "" {
		answer(w, http.StatusBadRequest, shop.O("errors", shop.O("query", "Required parameter missing or invalid")))
		return
	}
	schema, err := graphql.ParseSchema(schemaText)
	if err != nil {
		panic(err) // our own text: a test reads it
	}
	query, problems := schema.Check(body.Query, body.OperationName, body.Variables)
	if len(problems) > 0 {
		answer(w, http.StatusOK, shop.O("errors", problems))
		return
	}
	cost := query.Cost(size)
	if cost > mostCost {
		answer(w, http.StatusOK, shop.O("errors", []shop.Object{shop.O("message",
			fmt.Sprintf("Query cost is %d, which exceeds the single query max cost limit (%d).", cost, mostCost),
			"extensions", shop.O("code", "MAX_COST_EXCEEDED", "cost", cost, "maxCost", mostCost, "documentation",
				"https://shopify.dev/api/usage/rate-limits"))}))
		return
	}
	level, _, taken := s.Take(float64(cost))
	if !taken {
		throttled(w, cost, level)
		return
	}
	data, problems := query.Run(p.root(s))
	actual := min(cost, max(1, strings.Count(string(data), "{")/2))
	if query.Mutation() {
		actual = cost
	}
	s.GiveBack(float64(cost - actual))
	out := shop.O("data", data)
	if len(problems) > 0 {
		out = append(out, shop.O("errors", problems)...)
	}
	answer(w, http.StatusOK, append(out, shop.O("extensions", shop.O("cost", costs(cost, actual, s.Level())))...))
}

func costs(requested int, actual any, level shop.Level) shop.Object {
	return shop.O("requestedQueryCost", requested, "actualQueryCost", actual, "throttleStatus", shop.O("maximumAvailable", level.Capacity,
		"currentlyAvailable", int(max(0, level.Capacity-level.Used)), "restoreRate", level.PerSecond))
}

// throttled is the answer beyond the bucket: status 200, and no data.
func throttled(w http.ResponseWriter, cost int, level shop.Level) {
	answer(w, http.StatusOK, shop.O("errors", []shop.Object{shop.O("message", "Throttled", "extensions",
		shop.O("code", "THROTTLED", "documentation", "https://shopify.dev/api/usage/rate-limits"))},
		"extensions", shop.O("cost", costs(cost, nil, level))))
}

// denied is what a field gives when the app lacks a right.
func denied(field, scope string) error {
	return &graphql.Error{Message: fmt.Sprintf("Access denied for %s field. Required access: `%s` access scope.", field, scope),
		Extensions: map[string]any{"code": "ACCESS_DENIED", "documentation": "https://shopify.dev/api/usage/access-scopes",
			"requiredAccess": "`" + scope + "` access scope."}}
}

// text and flag read an argument.
func str(args map[string]any, name string) string {
	value, _ := args[name].(string)
	return value
}

func moneyV2(m shop.Money, currency string) object {
	return object{graphql.Typename: "MoneyV2", "amount": m.String(), "currencyCode": currency}
}

func bag(m shop.Money, currency string) object {
	return object{"shopMoney": moneyV2(m, currency), "presentmentMoney": moneyV2(m, currency)}
}

func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// local reads the number of a global id of a kind: "gid://shopify/Order/7".
func local(id any, kind string) int64 {
	text, _ := id.(string)
	rest, ok := strings.CutPrefix(text, "gid://shopify/"+kind+"/")
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(rest, 10, 64)
	return n
}

// connection makes a field whose members are few: they come on one page, and "first" cuts them.
func connection(members []object) graphql.Call {
	return func(args map[string]any) (any, error) {
		first := count(args["first"])
		if first == 0 {
			return nil, &graphql.Error{Message: "you must provide one of first or last", Extensions: map[string]any{"code": "BAD_REQUEST"}}
		}
		from := count(args["after"])
		if after := str(args, "after"); after != "" {
			from, _ = strconv.Atoi(after)
		}
		from = min(from, len(members))
		to := min(len(members), from+first)
		return connected(members[from:to], func(i int) string { return strconv.Itoa(from + i + 1) }, to < len(members), from > 0), nil
	}
}

func count(v any) int {
	switch v := v.(type) {
	case int64:
		return int(v)
	case float64:
		return int(v)
	}
	return 0
}

func connected(page []object, cursor func(i int) string, next, previous bool) object {
	edges := make([]object, 0, len(page))
	for i, node := range page {
		edges = append(edges, object{"cursor": cursor(i), "node": node})
	}
	info := object{"hasNextPage": next, "hasPreviousPage": previous, "startCursor": nil, "endCursor": nil}
	if len(page) > 0 {
		info["startCursor"], info["endCursor"] = cursor(0), cursor(len(page)-1)
	}
	return object{"edges": edges, "nodes": page, "pageInfo": info}
}

// orderObject renders an order for GraphQL.
func (p *Platform) orderObject(o shop.Order) object {
	a, money := amounts(o), func(m shop.Money) object { return bag(m, o.Currency) }
	received, outstanding := shop.Money(0), shop.Money(0)
	if !o.PaidAt.IsZero() {
		received = o.Total()
	} else if o.State != shop.Voided {
		outstanding = o.Rest()
	}
	codes, attributes := append([]string{}, o.Codes()...), []object{}
	for _, attribute := range o.Attributes {
		attributes = append(attributes, object{"key": attribute.Name, "value": attribute.Value})
	}
	out := object{
		graphql.Typename: "Order", "id": gid("Order", o.ID), "legacyResourceId": strconv.FormatInt(o.ID, 10), "name": "#" + p.OrderNumber(o),
		"number": o.Number + 900, "confirmationNumber": o.Key[9:18], "confirmed": true, "createdAt": when(o.CreatedAt),
		"updatedAt":   when(o.UpdatedAt),
		"processedAt": when(o.CreatedAt), "cancelledAt": when(o.CancelledAt), "closedAt": nil, "closed": false,
		"displayFinancialStatus": strings.ToUpper(financial(o)), "displayFulfillmentStatus": "UNFULFILLED",
		"currencyCode": o.Currency, "presentmentCurrencyCode": o.Currency, "edited": edited(o), "fullyPaid": o.State == shop.Paid,
		"unpaid": received == 0, "test": o.Test,
		"subtotalPriceSet": money(a.goods - a.goodsOff), "totalPriceSet": money(o.Total()), "totalDiscountsSet": money(o.Discount()),
		"totalShippingPriceSet": money(o.Shipping), "totalTaxSet": money(0), "currentSubtotalPriceSet": money(a.restGoods),
		"currentTotalPriceSet": money(a.rest), "currentTotalDiscountsSet": money(a.restOff), "currentShippingPriceSet": money(a.shipping),
		"currentTotalTaxSet": money(0), "currentCartDiscountAmountSet": money(a.restOff), "netPaymentSet": money(received - o.Refunded()),
		"totalReceivedSet": money(received), "totalRefundedSet": money(o.Refunded()), "totalRefundedShippingSet": money(0),
		"totalOutstandingSet": money(outstanding), "discountCode": nil, "discountCodes": codes,
		"discountApplications": connection(p.applications(o)),
		"email":                o.Customer.Email, "phone": nil, "customerLocale": "pt-BR", "note": text(o.Note), "tags": []string{},
		"billingAddress": mailing(o.Customer), "shippingAddress": mailing(o.Customer), "lineItems": connection(p.lineItems(o)),
		"shippingLines": connection([]object{{"id": gid("ShippingLine", o.ID*10+1), "title": "PAC", "originalPriceSet": money(o.Shipping),
			"discountedPriceSet": money(a.shipping), "discountAllocations": p.shippingAllocations(o)}}),
		"refunds": p.refundObjects(o), "fulfillments": fulfillmentObjects(o), "transactions": transactions(o, received),
		"customAttributes": attributes, "clientIp": nil, "checkoutToken": nil, "cartToken": nil, "sourceName": source(o),
		"sourceIdentifier": nil, "registeredSourceUrl": nil,
		"channelInformation": channel(o), "app": object{"id": gid("App", 580111), "name": "Online Store"}, "customerJourneySummary": journey(o),
		"paymentGatewayNames": []string{"manual"}, "statusPageUrl": fmt.Sprintf("https://%s/%d/orders/%s", p.domain, p.shopID, o.Token[:32]),
		"taxesIncluded": true,
		"poNumber":      nil, "retailLocation": nil, "cancelReason": nil, "customer": nil,
	}
	if o.Cancelled {
		out["cancelReason"] = strings.ToUpper(o.Reason)
	}
	if !o.ShippedAt.IsZero() {
		out["displayFulfillmentStatus"] = "FULFILLED"
	}
	if len(codes) > 0 {
		out["discountCode"] = codes[0]
	}
	if online(o) {
		out["clientIp"], out["checkoutToken"], out["cartToken"] = o.IP, o.CheckoutToken, o.CartToken
	}
	if p.may("read_customers") {
		c := o.Customer
		out["customer"] = object{"id": gid("Customer", c.ID), "legacyResourceId": strconv.FormatInt(c.ID, 10), "firstName": c.First,
			"lastName":    c.Last,
			"displayName": c.First + " " + c.Last, "email": c.Email, "phone": c.Phone, "defaultEmailAddress": object{"emailAddress": c.Email},
			"defaultPhoneNumber": object{"phoneNumber": c.Phone}, "createdAt": when(c.CreatedAt), "updatedAt": when(o.CreatedAt)}
	}
	return out
}

func edited(o shop.Order) bool {
	for _, change := range o.History {
		if change.Kind == shop.Edited {
			return true
		}
	}
	return false
}

func mailing(c shop.Customer) object {
	return object{"name": c.First + " " + c.Last, "firstName": c.First, "lastName": c.Last, "address1": c.Street + ", " + c.StreetNumber,
		"address2": c.Neighborhood, "city": c.City, "province": c.State, "provinceCode": c.State, "country": "Brazil", "countryCodeV2": "BR",
		"zip": c.Zip, "phone": c.Phone}
}

func (p *Platform) applications(o shop.Order) []object {
	list := []object{}
	for i, discount := range o.Discounts {
		target, value := "LINE_ITEM", object{graphql.Typename: "PricingPercentageValue", "percentage": float64(discount.Value) / 100}
		switch discount.Kind {
		case shop.CouponAmount:
			value = moneyV2(shop.Money(discount.Value), o.Currency)
		case shop.CouponShipping:
			target, value = "SHIPPING_LINE", object{graphql.Typename: "PricingPercentageValue", "percentage": 100.0}
		}
		list = append(list, object{graphql.Typename: "DiscountCodeApplication", "index": i, "code": discount.Code, "allocationMethod": "ACROSS",
			"targetSelection": "ALL", "targetType": target, "value": value})
	}
	return list
}

// shippingAllocations are what the codes for shipping took off.
func (p *Platform) shippingAllocations(o shop.Order) []object {
	list, applications := []object{}, p.applications(o)
	for i, discount := range o.Discounts {
		if discount.Kind == shop.CouponShipping && discount.Amount > 0 {
			list = append(list, object{"allocatedAmountSet": bag(discount.Amount, o.Currency), "discountApplication": applications[i]})
		}
	}
	return list
}

func (p *Platform) lineItems(o shop.Order) []object {
	list, parts, applications := []object{}, o.LineDiscounts(), p.applications(o)
	for i, line := range o.Lines {
		total := line.Product.Price * shop.Money(line.Quantity)
		allocations, off := []object{}, shop.Money(0)
		for d, part := range parts[i] {
			if part > 0 {
				off += part
				allocations = append(allocations, object{"allocatedAmountSet": bag(part, o.Currency), "discountApplication": applications[d]})
			}
		}
		id := func(n int64) string { return strconv.FormatInt(n, 10) }
		list = append(list, object{"id": gid("LineItem", line.ID), "name": line.Product.Name, "title": line.Product.Name, "sku": line.Product.SKU,
			"quantity": line.Quantity, "currentQuantity": line.Quantity - line.Returned, "refundableQuantity": line.Quantity - line.Returned,
			"product": object{"id": gid("Product", line.Product.ID), "legacyResourceId": id(line.Product.ID),
				"title": line.Product.Name},
			"variant": object{"id": gid("ProductVariant", line.Product.Variant), "legacyResourceId": id(line.Product.Variant),
				"sku": line.Product.SKU, "title": "Default Title"},
			"originalUnitPriceSet": bag(line.Product.Price, o.Currency), "originalTotalSet": bag(total, o.Currency),
			"discountedTotalSet": bag(total, o.Currency), "totalDiscountSet": bag(off, o.Currency), "discountAllocations": allocations,
			"customAttributes": []object{}})
	}
	return list
}

// firstOf makes a list field that "first" cuts.
func firstOf(list []object) graphql.Call {
	return func(args map[string]any) (any, error) {
		if first := count(args["first"]); first > 0 {
			return list[:min(first, len(list))], nil
		}
		return list, nil
	}
}

func (p *Platform) refundObjects(o shop.Order) graphql.Call {
	list, items := []object{}, p.lineItems(o)
	for _, r := range o.Refunds {
		returned := []object{}
		for i, line := range r.Lines {
			for at, own := range o.Lines {
				if own.ID == line.Line {
					returned = append(returned, object{"id": gid("RefundLineItem", r.ID*10+int64(i)), "quantity": line.Quantity, "lineItem": items[at],
						"subtotalSet": bag(line.Amount, o.Currency), "totalTaxSet": bag(0, o.Currency)})
				}
			}
		}
		list = append(list, object{"id": gid("Refund", r.ID), "legacyResourceId": strconv.FormatInt(r.ID, 10), "createdAt": when(r.At),
			"updatedAt": when(r.At),
			"note":      r.Reason, "totalRefundedSet": bag(r.Amount, o.Currency), "refundLineItems": connection(returned)})
	}
	return firstOf(list)
}

func fulfillmentObjects(o shop.Order) graphql.Call {
	list := []object{}
	if !o.ShippedAt.IsZero() {
		status, updated := "FULFILLED", o.ShippedAt
		if !o.DeliveredAt.IsZero() {
			status, updated = "DELIVERED", o.DeliveredAt
		}
		list = append(list, object{"id": gid("Fulfillment", o.ID*10+2), "legacyResourceId": strconv.FormatInt(o.ID*10+2, 10),
			"createdAt": when(o.ShippedAt),
			"updatedAt": when(updated), "deliveredAt": when(o.DeliveredAt), "inTransitAt": when(o.ShippedAt), "status": "SUCCESS",
			"displayStatus": status})
	}
	return firstOf(list)
}

func transactions(o shop.Order, received shop.Money) graphql.Call {
	list := []object{}
	add := func(id int64, kind string, sum shop.Money, at time.Time) {
		list = append(list, object{"id": gid("OrderTransaction", id), "kind": kind, "status": "SUCCESS", "gateway": "manual",
			"amountSet": bag(sum, o.Currency),
			"createdAt": when(at), "processedAt": when(at), "test": o.Test})
	}
	if received > 0 {
		add(o.ID*10+3, "SALE", received, o.PaidAt)
	}
	for _, r := range o.Refunds {
		add(r.ID*10+6, "REFUND", r.Amount, r.At)
	}
	return firstOf(list)
}

func channel(o shop.Order) any {
	handle, name, market := "web", "Online Store", false
	switch o.Channel {
	case shop.ChannelPOS:
		handle, name = "pos", "Point of Sale"
	case shop.ChannelMarketplace:
		handle, name, market = "mercado-livre", "Mercado Livre", true
	case shop.ChannelAdmin, shop.ChannelAPI:
		return nil
	}
	return object{"id": gid("ChannelInformation", 1), "channelId": gid("Channel", 1),
		"channelDefinition": object{"id": gid("ChannelDefinition", 1),
			"handle": handle, "channelName": name, "subChannelName": name, "isMarketplace": market}}
}

// journey is the visit before the order: null when no visit was seen.
func journey(o shop.Order) any {
	at, err := url.Parse(o.Landing)
	if !online(o) || o.Landing == "" || err != nil {
		return nil
	}
	query, utm := at.Query(), any(nil)
	value := func(name string) any { return text(query.Get(name)) }
	if query.Get("utm_source") != "" {
		utm = object{"campaign": value("utm_campaign"), "content": value("utm_content"), "medium": value("utm_medium"),
			"source": value("utm_source"), "term": value("utm_term")}
	}
	visit := object{"id": gid("CustomerVisit", o.ID), "landingPage": o.Landing, "occurredAt": when(o.CreatedAt.Add(-10 * time.Minute)),
		"referrerUrl":  text(o.Referrer),
		"referralCode": value("ref"), "source": "Instagram", "sourceType": nil, "utmParameters": utm}
	return object{"ready": true, "customerOrderIndex": 0, "daysToConversion": 1, "momentsCount": object{"count": 1, "precision": "EXACT"},
		"firstVisit": visit, "lastVisit": visit}
}
