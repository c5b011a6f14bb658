package shopify

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
	"github.com/tributary-io/tributary/test/fakes/shopify/graphql"
)

// root is what a query begins at.
func (p *Platform) root(s *shop.Shop) object {
	return object{
		"shop": object{graphql.Typename: "Shop", "id": gid("Shop", p.shopID), "name": s.Options().Shop, "email": "dono@example.com",
			"contactEmail": "dono@example.com", "myshopifyDomain": p.domain, "url": "https://" + p.domain, "currencyCode": s.Options().Currency,
			"ianaTimezone": "America/Sao_Paulo", "timezoneOffset": "-0300", "createdAt": "2024-03-01T12:00:00Z",
			"plan":          object{"displayName": "Basic", "publicDisplayName": "Basic", "partnerDevelopment": false, "shopifyPlus": false},
			"primaryDomain": object{"id": gid("Domain", 1), "host": p.domain, "url": "https://" + p.domain, "sslEnabled": true}},
		"currentAppInstallation": object{"id": gid("AppInstallation", 1), "accessScopes": p.scopeObjects()},
		"order":                  graphql.Call(func(args map[string]any) (any, error) { return p.orderByID(s, args["id"]) }),
		"node":                   graphql.Call(func(args map[string]any) (any, error) { return p.orderByID(s, args["id"]) }),
		"orders":                 graphql.Call(func(args map[string]any) (any, error) { return p.ordersPage(s, args) }),
		"ordersCount": graphql.Call(func(args map[string]any) (any, error) {
			found, err := p.search(s, str(args, "query"))
			return object{"count": len(found), "precision": "EXACT"}, err
		}),
		"codeDiscountNodeByCode": graphql.Call(func(args map[string]any) (any, error) {
			if !p.may("read_discounts") {
				return nil, denied("codeDiscountNodeByCode", "read_discounts")
			}
			c, ok := s.Coupon(str(args, "code"))
			if !ok {
				return object(nil), nil
			}
			return discountNode(s, c), nil
		}),
		"codeDiscountNode": graphql.Call(func(args map[string]any) (any, error) {
			for _, c := range s.Coupons() {
				if c.ID == local(args["id"], "DiscountCodeNode") {
					return discountNode(s, c), nil
				}
			}
			return object(nil), nil
		}),
		"codeDiscountNodes": graphql.Call(func(args map[string]any) (any, error) {
			list := []object{}
			for _, c := range s.Coupons() {
				list = append(list, discountNode(s, c))
			}
			return connection(list)(args)
		}),
		"webhookSubscriptions": graphql.Call(func(args map[string]any) (any, error) {
			wanted, _ := args["topics"].([]any)
			uri, _ := args["uri"].(string)
			list := []object{}
			for _, sub := range s.Subscriptions() {
				one := subscriptionObject(sub)
				if (len(wanted) == 0 || slices.Contains(wanted, one["topic"])) && (uri == "" || sub.URL == uri) {
					list = append(list, one)
				}
			}
			return connection(list)(args)
		}),
		"webhookSubscription": graphql.Call(func(args map[string]any) (any, error) {
			sub, ok := s.Subscription(local(args["id"], "WebhookSubscription"))
			if !ok {
				return object(nil), nil
			}
			return subscriptionObject(sub), nil
		}),
		"webhookSubscriptionCreate": graphql.Call(func(args map[string]any) (any, error) { return p.createSubscription(s, args) }),
		"webhookSubscriptionUpdate": graphql.Call(func(args map[string]any) (any, error) { return p.updateSubscription(s, args) }),
		"webhookSubscriptionDelete": graphql.Call(func(args map[string]any) (any, error) {
			if !s.Unsubscribe(local(args["id"], "WebhookSubscription")) {
				return object{"deletedWebhookSubscriptionId": nil, "userErrors": userErrors("Webhook subscription does not exist", "id")}, nil
			}
			return object{"deletedWebhookSubscriptionId": args["id"], "userErrors": []object{}}, nil
		}),
		"discountCodeBasicCreate": graphql.Call(func(args map[string]any) (any, error) { return p.createDiscount(s, args) }),
		"discountCodeDeactivate": graphql.Call(func(args map[string]any) (any, error) {
			c, err := s.ChangeCoupon(local(args["id"], "DiscountCodeNode"), func(c *shop.Coupon) { c.End = s.Now().Add(-time.Second) })
			if err != nil {
				return object{"codeDiscountNode": nil, "userErrors": discountErrors("INVALID", "Code discount does not exist.", "id")}, nil
			}
			return object{"codeDiscountNode": discountNode(s, c), "userErrors": []object{}}, nil
		}),
		"discountCodeDelete": graphql.Call(func(args map[string]any) (any, error) {
			if _, err := s.ChangeCoupon(local(args["id"], "DiscountCodeNode"), func(c *shop.Coupon) { c.Deleted = true }); err != nil {
				return object{"deletedCodeDiscountId": nil, "userErrors": discountErrors("INVALID", "Code discount does not exist.", "id")}, nil
			}
			return object{"deletedCodeDiscountId": args["id"], "userErrors": []object{}}, nil
		}),
	}
}

func (p *Platform) scopeObjects() []object {
	list := []object{}
	for _, scope := range strings.Split(p.scope, ",") {
		list = append(list, object{"handle": scope, "description": scope})
	}
	return list
}

func (p *Platform) orderByID(s *shop.Shop, id any) (any, error) {
	if !p.may("read_orders") {
		return nil, denied("order", "read_orders")
	}
	o, ok := s.Order(local(id, "Order"))
	if !ok || !p.seen(s, o) {
		return object(nil), nil
	}
	return p.orderObject(o), nil
}

// place is a cursor: the rank of an order and its number, so that a page goes on after it whatever changed meanwhile.
type place struct {
	ID   int64 `json:"last_id"`
	Rank int64 `json:"last_value"`
}

func (p *Platform) ordersPage(s *shop.Shop, args map[string]any) (any, error) {
	if !p.may("read_orders") {
		return nil, denied("orders", "read_orders")
	}
	first := count(args["first"])
	switch {
	case first == 0:
		return nil, &graphql.Error{Message: "you must provide one of first or last", Extensions: map[string]any{"code": "BAD_REQUEST"}}
	case first > mostPage:
		return nil, &graphql.Error{Message: "first cannot exceed 250", Extensions: map[string]any{"code": "BAD_REQUEST"}}
	}
	found, err := p.search(s, str(args, "query"))
	if err != nil {
		return nil, err
	}
	key := cmp.Or(str(args, "sortKey"), "PROCESSED_AT")
	at := func(o shop.Order) place {
		switch key {
		case "UPDATED_AT":
			return place{o.ID, o.UpdatedAt.Unix()}
		case "ID", "ORDER_NUMBER":
			return place{o.ID, o.ID}
		}
		return place{o.ID, o.CreatedAt.Unix()}
	}
	sign := 1
	if reverse, _ := args["reverse"].(bool); reverse {
		sign = -1
	}
	compare := func(a, b place) int { return sign * cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(found, func(a, b shop.Order) int { return compare(at(a), at(b)) })
	after := str(args, "after")
	if after != "" {
		var from place
		text, err := base64.StdEncoding.DecodeString(after)
		if err == nil {
			err = json.Unmarshal(text, &from)
		}
		if err != nil {
			return nil, &graphql.Error{Message: "Invalid cursor for current pagination sort.", Extensions: map[string]any{"code": "BAD_REQUEST"}}
		}
		found = slices.DeleteFunc(found, func(o shop.Order) bool { return compare(at(o), from) <= 0 })
	}
	more := len(found) > first
	found = found[:min(first, len(found))]
	page := make([]object, 0, len(found))
	for _, o := range found {
		page = append(page, p.orderObject(o))
	}
	if more {
		defer s.PageRead()
	}
	return connected(page, func(i int) string { return base64.StdEncoding.EncodeToString(shop.JSON(at(found[i]))) }, more, after != ""), nil
}

// term is one condition of a search: "updated_at:>='2026-11-01T00:00:00Z'".
var term = regexp.MustCompile(`^(-?)([a-z_]+):(>=|<=|>|<|)["']?([^"']*)["']?$`)

// search lists the orders that a search wants, oldest first.
func (p *Platform) search(s *shop.Shop, query string) ([]shop.Order, error) {
	type condition func(o shop.Order) bool
	var all []condition
	for _, word := range strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(query)) {
		if strings.EqualFold(word, "AND") {
			continue
		}
		parts := term.FindStringSubmatch(word)
		if parts == nil {
			return nil, fmt.Errorf("this fake does not understand %q in a search", word)
		}
		not, field, sign, value := parts[1] == "-", parts[2], parts[3], parts[4]
		var is condition
		switch field {
		case "updated_at", "created_at", "processed_at":
			bound, err := moment(value)
			if err != nil {
				return nil, fmt.Errorf("search: %w", err)
			}
			is = func(o shop.Order) bool {
				t := o.CreatedAt
				if field == "updated_at" {
					t = o.UpdatedAt
				}
				return compares(t.Truncate(time.Second).Compare(bound), sign)
			}
		case "id":
			id, _ := strconv.ParseInt(value, 10, 64)
			is = func(o shop.Order) bool { return compares(cmp.Compare(o.ID, id), sign) }
		case "name":
			is = func(o shop.Order) bool { return strings.TrimPrefix(value, "#") == p.OrderNumber(o) }
		case "financial_status":
			is = func(o shop.Order) bool { return strings.EqualFold(value, financial(o)) }
		case "status":
			is = func(o shop.Order) bool {
				return value == "any" || value == "cancelled" == o.Cancelled && value != "closed"
			}
		case "test":
			is = func(o shop.Order) bool { return value == strconv.FormatBool(o.Test) }
		case "discount_code":
			is = func(o shop.Order) bool {
				return slices.ContainsFunc(o.Codes(), func(code string) bool { return strings.EqualFold(code, value) })
			}
		default:
			return nil, fmt.Errorf("this fake does not know %q in a search", field)
		}
		all = append(all, func(o shop.Order) bool { return is(o) != not })
	}
	return s.Find(func(o shop.Order) bool {
		return p.seen(s, o) && !slices.ContainsFunc(all, func(is condition) bool { return !is(o) })
	}), nil
}

// compares says whether an order of two values fits a sign; none means equal.
func compares(order int, sign string) bool {
	switch sign {
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	}
	return order == 0
}

func userErrors(message string, field ...string) []object {
	return []object{{"field": field, "message": message}}
}

// word is a topic as GraphQL writes it.
func word(topic string) string {
	for word, of := range topics {
		if of == topic {
			return word
		}
	}
	return topic
}

func subscriptionObject(sub shop.Subscription) object {
	return object{"id": gid("WebhookSubscription", sub.ID), "legacyResourceId": strconv.FormatInt(sub.ID, 10), "topic": word(sub.Topics[0]),
		"uri":         sub.URL,
		"callbackUrl": sub.URL, "name": text(sub.Name), "format": "JSON", "createdAt": when(sub.CreatedAt), "updatedAt": when(sub.UpdatedAt),
		"includeFields": []string{}, "filter": nil}
}

func (p *Platform) createSubscription(s *shop.Shop, args map[string]any) (any, error) {
	input, _ := args["webhookSubscription"].(map[string]any)
	topic := topics[str(args, "topic")]
	sub, field, why := p.subscribe(s, topic, cmp.Or(str(input, "uri"), str(input, "callbackUrl")), str(input, "name"))
	if field != "" {
		return object{"webhookSubscription": nil, "userErrors": userErrors("Address "+why, "webhookSubscription", "uri")}, nil
	}
	return object{"webhookSubscription": subscriptionObject(sub), "userErrors": []object{}}, nil
}

func (p *Platform) updateSubscription(s *shop.Shop, args map[string]any) (any, error) {
	input, _ := args["webhookSubscription"].(map[string]any)
	address := cmp.Or(str(input, "uri"), str(input, "callbackUrl"))
	if !p.goodURL(address) {
		return object{"webhookSubscription": nil, "userErrors": userErrors("Address is invalid", "webhookSubscription", "uri")}, nil
	}
	sub, ok := s.ChangeSubscription(local(args["id"], "WebhookSubscription"), func(sub *shop.Subscription) { sub.URL = address })
	if !ok {
		return object{"webhookSubscription": nil, "userErrors": userErrors("Webhook subscription does not exist", "id")}, nil
	}
	return object{"webhookSubscription": subscriptionObject(sub), "userErrors": []object{}}, nil
}
