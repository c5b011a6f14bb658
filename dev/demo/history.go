package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// past is an order of the last months, of which the demo store has one for every second
// day. All are paid by coupons, since those need no visit as evidence.
type past struct {
	daysAgo  int
	cents    int64 // with shipping
	coupon   string
	cancelAt int // days ago; 0: it was not cancelled
}

// months are the orders of the last 75 days: what was approved 30 days ago or more may be
// paid, so that a statement can be closed at once, and reports have something to compare.
func months() (list []past) {
	coupons := []string{"ANA10", "BETO15", "", "ANA10", "", "CAIO5", "BETO15"}
	for i := range 37 {
		o := past{daysAgo: 75 - 2*i, cents: int64(8990 + (i*7919)%24000), coupon: coupons[i%len(coupons)]}
		if i == 5 || i == 20 {
			o.cancelAt = o.daysAgo - 2
		}
		list = append(list, o)
	}
	return list
}

// history sends the orders of the last months, as a platform that is connected to
// Tributary sends those that it has.
func (s *Store) history(ctx context.Context, now time.Time) error {
	for i, o := range months() {
		at := now.AddDate(0, 0, -o.daysAgo).UTC()
		order := map[string]any{
			"orderId": fmt.Sprintf("demo-%d", 901+i), "name": fmt.Sprintf("#%d", 901+i), "orderStatus": 0,
			"createdAt": at.Format(time.RFC3339), "updatedAt": at.Format(time.RFC3339), "currency": "BRL",
			"totalPrice": money(o.cents), "shippingPrice": money(1500),
			"customer": map[string]any{"email": fmt.Sprintf("cliente-%d@example.com", i%23)},
		}
		if o.coupon != "" {
			order["discountCode"] = o.coupon
		}
		if err := s.api(ctx, http.MethodPost, "/order", order, nil); err != nil {
			return err
		}
		if o.cancelAt == 0 {
			continue
		}
		order["orderStatus"], order["updatedAt"] = 2, now.AddDate(0, 0, -o.cancelAt).UTC().Format(time.RFC3339)
		if err := s.api(ctx, http.MethodPost, "/order", order, nil); err != nil {
			return err
		}
	}
	return nil
}

// money writes cents as a decimal.
func money(cents int64) json.Number { return json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100)) }
