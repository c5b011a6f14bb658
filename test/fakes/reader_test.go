package fakes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/shop"
)

// seen is what a client makes of an order: the words of fakes.Truth.
type seen struct {
	status, total string
	codes         []string
}

// reader is a small client of each platform, written from the documentation: it shows that a shop's truth can be read
// from its API.
type reader struct {
	t     *testing.T
	s     *fakes.Shop
	tries int
}

// get asks until there is a whole answer: faults may stand before it.
func (r *reader) get(path string) (any, http.Header) {
	r.t.Helper()
	for range 50 {
		r.tries++
		status, body, header, err := try(r.t, r.s, http.MethodGet, path, "")
		if err == nil && status == http.StatusOK && json.Valid(body) {
			return decode(r.t, body), header
		}
		if err == nil && status == http.StatusNotFound {
			return nil, header
		}
		time.Sleep(2 * time.Millisecond)
	}
	r.t.Fatalf("%s: no answer in 50 tries", path)
	return nil, nil
}

func text(v any) string {
	switch v := v.(type) {
	case json.Number:
		return string(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// sum adds amounts that are texts, numbers, or hundredths.
func sum(t *testing.T, amounts ...any) fakes.Money {
	t.Helper()
	var total fakes.Money
	for _, amount := range amounts {
		money, err := shop.ParseMoney(text(amount))
		if err != nil {
			t.Fatal(err)
		}
		total += money
	}
	return total
}

func list(v any) []any { found, _ := v.([]any); return found }

// word picks the status of Truth that a platform's word stands for.
func word(t *testing.T, of string, approved, pending, cancelled []string) string {
	t.Helper()
	switch {
	case slices.Contains(approved, of):
		return fakes.StatusApproved
	case slices.Contains(pending, of):
		return fakes.StatusPending
	case slices.Contains(cancelled, of):
		return fakes.StatusCancelled
	}
	t.Fatalf("unknown status %q", of)
	return ""
}

func (r *reader) nuvemshop() map[string]seen {
	all := map[string]seen{}
	for page := 1; ; page++ {
		answer, _ := r.get(fmt.Sprintf("/2025-03/STORE/orders?since_id=1&per_page=5&page=%d", page))
		for _, o := range list(answer) {
			order := seen{total: text(at(r.t, o, "total")), status: word(r.t, text(at(r.t, o, "payment_status")),
				[]string{"paid", "partially_refunded"}, []string{"pending", "authorized"}, []string{"refunded", "voided"})}
			if at(r.t, o, "status") == "cancelled" {
				order.status = fakes.StatusCancelled
			}
			for _, coupon := range list(at(r.t, o, "coupon")) {
				order.codes = append(order.codes, text(at(r.t, coupon, "code")))
			}
			all[text(at(r.t, o, "id"))] = order
		}
		if answer == nil {
			return all
		}
	}
}

func (r *reader) woocommerce() map[string]seen {
	all := map[string]seen{}
	for page := 1; ; page++ {
		answer, _ := r.get(fmt.Sprintf("/wp-json/wc/v3/orders?per_page=5&orderby=id&order=asc&page=%d", page))
		for _, o := range list(answer) {
			total := sum(r.t, at(r.t, o, "total"))
			for _, refund := range list(at(r.t, o, "refunds")) {
				total += sum(r.t, at(r.t, refund, "total"))
			}
			order := seen{total: total.String(), status: word(r.t, text(at(r.t, o, "status")), []string{"processing", "completed"},
				[]string{"pending", "on-hold"}, []string{"cancelled", "refunded", "failed"})}
			for _, coupon := range list(at(r.t, o, "coupon_lines")) {
				order.codes = append(order.codes, text(at(r.t, coupon, "code")))
			}
			all[text(at(r.t, o, "id"))] = order
		}
		if len(list(answer)) == 0 {
			return all
		}
	}
}

func (r *reader) shopify() map[string]seen {
	all := map[string]seen{}
	for since := "1"; since != ""; {
		answer, _ := r.get("/admin/api/2026-07/orders.json?status=any&limit=5&since_id=" + since)
		since = ""
		for _, o := range list(at(r.t, answer, "orders")) {
			order := seen{total: text(at(r.t, o, "current_total_price")), status: word(r.t, text(at(r.t, o, "financial_status")),
				[]string{"paid", "partially_refunded"}, []string{"pending", "authorized"}, []string{"refunded", "voided"})}
			if at(r.t, o, "cancelled_at") != nil {
				order.status = fakes.StatusCancelled
			}
			for _, code := range list(at(r.t, o, "discount_codes")) {
				order.codes = append(order.codes, text(at(r.t, code, "code")))
			}
			since = text(at(r.t, o, "id"))
			all[since] = order
		}
	}
	return all
}

func (r *reader) vtex() map[string]seen {
	all := map[string]seen{}
	for page := 1; ; page++ {
		answer, _ := r.get(fmt.Sprintf("/api/oms/pvt/orders?orderBy=creationDate,asc&per_page=5&page=%d", page))
		if len(list(at(r.t, answer, "list"))) == 0 {
			return all
		}
		for _, entry := range list(at(r.t, answer, "list")) {
			id := text(at(r.t, entry, "orderId"))
			o, _ := r.get("/api/oms/pvt/orders/" + id)
			cents := sum(r.t, at(r.t, o, "value"))
			for _, parcel := range list(at(r.t, o, "packageAttachment", "packages")) {
				if back, ok := at(r.t, parcel, "restitutions").(map[string]any)["Refund"]; ok {
					cents -= sum(r.t, at(r.t, back, "value"))
				}
			}
			order := seen{total: (cents / 100).String(), status: word(r.t, text(at(r.t, o, "status")),
				[]string{"ready-for-handling", "handling", "invoiced"}, []string{"payment-pending"}, []string{"canceled"})}
			if marketing, ok := at(r.t, o, "marketingData").(map[string]any); ok && marketing["coupon"] != nil {
				order.codes = []string{text(marketing["coupon"])}
			}
			all[id] = order
		}
	}
}

func (r *reader) yampi() map[string]seen {
	all := map[string]seen{}
	for page := 1; ; page++ {
		answer, _ := r.get(fmt.Sprintf("/v2/ALIAS/orders?include=status,promocode&orderBy=id&sortedBy=asc&limit=5&page=%d", page))
		if len(list(at(r.t, answer, "data"))) == 0 {
			return all
		}
		for _, o := range list(at(r.t, answer, "data")) {
			order := seen{total: sum(r.t, at(r.t, o, "value_total")).String(), status: word(r.t, text(at(r.t, o, "status", "data", "alias")),
				[]string{"paid", "on_carriage", "delivered"}, []string{"waiting_payment", "authorized"}, []string{"cancelled", "refunded", "refused"})}
			if code, ok := at(r.t, o, "promocode", "data").(map[string]any); ok {
				order.codes = []string{text(code["code"])}
			}
			all[text(at(r.t, o, "id"))] = order
		}
	}
}

func TestTheTruthOfEachShopCanBeReadThroughAStorm(t *testing.T) {
	for _, platform := range fakes.Platforms() {
		t.Run(platform, func(t *testing.T) {
			faults := fakes.Storm(7)
			faults.Hang, faults.TooMany, faults.ServerError, faults.Torn, faults.Timeout = time.Millisecond, 0.1, 0.1, 0.1, 0.05
			s := lived(t, fakes.Options{Platform: platform, LimitScale: 1000, Faults: faults})
			if err := s.Live(t.Context(), 9, 60, 0); err != nil {
				t.Fatal(err)
			}
			r := &reader{t: t, s: s}
			all := map[string]func() map[string]seen{
				"nuvemshop": r.nuvemshop, "shopify": r.shopify, "vtex": r.vtex, "woocommerce": r.woocommerce, "yampi": r.yampi,
			}[platform]()
			truths := s.Orders()
			if len(all) != len(truths) || len(truths) < 140 {
				t.Errorf("%d orders are read of %d", len(all), len(truths))
			}
			for _, truth := range truths {
				got, total := all[truth.ID], truth.Total
				if truth.Status == fakes.StatusCancelled {
					got.total = total // what a cancelled order goes on showing is the platform's affair
				}
				codes := truth.Codes
				if (platform == "vtex" || platform == "yampi") && len(codes) > 1 {
					codes = codes[:1] // these keep one code of an order
				}
				if got.status != truth.Status || got.total != total || !strings.EqualFold(strings.Join(got.codes, " "), strings.Join(codes, " ")) {
					t.Errorf("%s: read %+v, want %s, %s, %v (%s)", truth.ID, got, truth.Status, total, codes, truth.PlatformStatus)
				}
			}
			stats := s.Stats()
			if len(stats.Faults) < 4 || stats.Beyond != 0 {
				t.Errorf("faults %v, beyond the limit %d", stats.Faults, stats.Beyond)
			}
		})
	}
}
