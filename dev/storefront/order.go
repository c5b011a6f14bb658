package storefront

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// shippingCents is the flat rate of the demo shop.
const shippingCents = 1500

// order is the body of POST /order, as a merchant's platform would send it.
type order struct {
	OrderID        string      `json:"orderId"`
	Name           string      `json:"name"`
	Status         int         `json:"orderStatus"` // 0: approved
	CreatedAt      string      `json:"createdAt"`
	UpdatedAt      string      `json:"updatedAt"`
	TotalPrice     decimal     `json:"totalPrice"`
	TotalDiscounts decimal     `json:"totalDiscounts"`
	ShippingPrice  decimal     `json:"shippingPrice"`
	Currency       string      `json:"currency"`
	PaymentMethod  int         `json:"paymentMethod"` // 4: instant payment
	DiscountCode   string      `json:"discountCode,omitempty"`
	UserID         string      `json:"userId,omitempty"`
	UserAgent      string      `json:"userAgent,omitempty"`
	BrowserIP      string      `json:"browserIp,omitempty"`
	CartToken      string      `json:"cartToken"`
	Source         int         `json:"source"` // 0: web
	Customer       customer    `json:"customer"`
	Items          []orderItem `json:"items"`
}

type customer struct {
	CustomerID string `json:"customerId"`
	Name       string `json:"name"`
	Email      string `json:"email"`
	Phone      string `json:"phone,omitempty"`
}

type orderItem struct {
	ItemID    string  `json:"item_id"`
	ProductID string  `json:"productId"`
	VariantID string  `json:"variantId"`
	Quantity  int64   `json:"quantity"`
	Price     decimal `json:"price"`
}

// newOrder makes the order of a checkout form. problem is the key of the text that tells the
// shopper what is missing.
func (s *Shop) newOrder(r *http.Request, c cart, now time.Time) (o order, problem string) {
	field := func(name string) string {
		value := strings.TrimSpace(r.PostFormValue(name))
		return value[:min(len(value), 200)]
	}
	o = order{
		OrderID: field("order"), Currency: currency, PaymentMethod: 4, ShippingPrice: shippingCents,
		DiscountCode: field("coupon"), UserAgent: r.UserAgent(), CartToken: c.token, UserID: visitor(r),
		Customer: customer{Name: field("name"), Email: field("email"), Phone: field("phone")},
	}
	switch {
	case len(c.lines) == 0:
		return o, "problem.empty"
	case o.Customer.Name == "":
		return o, "problem.name"
	case !strings.Contains(o.Customer.Email, "@"):
		return o, "problem.email"
	case !strings.HasPrefix(o.OrderID, orderPrefix):
		return o, "problem.old"
	}
	o.Name = "#" + strings.TrimPrefix(o.OrderID, orderPrefix)
	o.Customer.CustomerID = customerID(o.Customer.Email)
	o.CreatedAt = now.UTC().Format("2006-01-02T15:04:05Z")
	o.UpdatedAt = o.CreatedAt
	o.TotalDiscounts = decimal(c.cents() * int64(s.config.Coupons[strings.ToUpper(o.DiscountCode)]) / 100)
	o.TotalPrice = decimal(c.cents()+shippingCents) - o.TotalDiscounts
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		o.BrowserIP = host
	}
	for _, l := range c.lines {
		o.Items = append(o.Items, orderItem{l.Product.ID, l.Product.ID, l.Product.ID, l.Quantity, decimal(l.Product.PriceCents)})
	}
	return o, ""
}

// visitor returns the SDK's visitor id, or else the edge's.
func visitor(r *http.Request) string {
	for _, name := range []string{"trb_id", "trb_vid"} {
		if cookie, err := r.Cookie(name); err == nil && cookie.Value != "" {
			return cookie.Value
		}
	}
	return ""
}

// An order is sent several times: a service that restarts is ready within seconds.
const (
	sendAttempts = 5
	sendPause    = 500 * time.Millisecond
)

// send posts the order with the shop's key. The order's id is part of the form:
// a form that is sent twice is one order.
func (s *Shop) send(ctx context.Context, o order) error {
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	for attempt := 1; ; attempt++ {
		again, err := s.sendOnce(ctx, body)
		if err == nil || !again || attempt == sendAttempts {
			return err
		}
		if !background.Sleep(ctx, sendPause) {
			return ctx.Err()
		}
	}
}

func (s *Shop) sendOnce(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.AdminURL+"/order", bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("send order: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.config.APIKey)
	response, err := s.client.Do(request) //nolint:gosec // to the configured admin API
	if err != nil {
		return true, fmt.Errorf("send order: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return false, nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
	again = response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500
	return again, fmt.Errorf("send order: %s: %s", response.Status, text)
}
