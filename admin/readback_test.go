package admin_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// readOrder is what these tests look at of an order that is read back.
type readOrder struct {
	OrderID      string `json:"orderId"`
	DiscountCode string
	TotalPrice   float64
	ProcessedAt  string
	Payout       *struct {
		State, Influencer, Evidence string
		Commissions                 []struct {
			Amount   float64
			Currency string
		}
	}
}

func TestOrdersAreReadBackPageByPage(t *testing.T) {
	t.Parallel()
	s, fixture := reading(t)
	company := fixture.Store.Live.CompanyID
	ana := fixture.Influencer(company, "Ana Prado")
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	put := func(id string, created, processed time.Duration, o reporttest.Order) {
		o.CompanyID, o.ID, o.CreatedAt, o.ProcessedAt = company, id, noon.Add(created), noon.Add(processed)
		fixture.Put(o)
	}
	put("a/1", 0, time.Hour,
		reporttest.Order{TotalMinor: 10050, InfluencerID: ana, Evidence: commerce.EvidenceCoupon, State: "earned", CommissionMinor: 1005,
			DiscountCode: "ANA10", Currency: "USD", FixedFeeMinor: 500})
	put("2", time.Minute, 3*time.Hour, reporttest.Order{TotalMinor: 1, Status: 1})
	put("3", time.Minute, 2*time.Hour, reporttest.Order{TotalMinor: 2, Status: 2, DiscountCode: "=cmd()"})
	put("4", 24*time.Hour, 4*time.Hour,
		reporttest.Order{TotalMinor: 3, InfluencerID: ana, Evidence: commerce.EvidenceLink, State: "review", DiscountCode: "x; ana10"})
	fixture.FindBy(company, "a/1", "ANA10")
	fixture.FindBy(company, "4", "x; ana10")

	var o readOrder
	s.get("/order/a%2F1", &o)
	if o.OrderID != "a/1" || o.TotalPrice != 100.5 || o.Payout == nil || o.Payout.Influencer != "Ana Prado" || o.Payout.State != "earned" ||
		fmt.Sprint(o.Payout.Commissions) != "[{10.05 USD} {5 BRL}]" || o.ProcessedAt != "2026-03-10T13:00:00Z" {
		t.Errorf("%+v", o)
	}
	s.want(s.call("GET", "/admin/v1/order/nowhere", s.live, ""), 404, "not_found")
	s.want(s.call("GET", "/admin/v1/order/%00", s.live, ""), 404, "not_found")

	f := func(query string, want ...string) {
		t.Helper()
		for limit := range 5 {
			var ids []string
			path := "/orders?" + query
			if limit > 0 {
				path = fmt.Sprintf("%s&limit=%d", path, limit)
			}
			for next := ""; ; {
				var page []readOrder
				got := s.get(path+next, &page)
				for _, o := range page {
					ids = append(ids, o.OrderID)
				}
				if limit > 0 && len(page) > limit {
					t.Fatalf("%s: %d orders on a page", path, len(page))
				}
				if !got.Pagination.HasMore {
					break
				}
				next = "&cursor=" + url.QueryEscape(*got.Pagination.NextCursor)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s: %v, want %v", path, ids, want)
			}
		}
	}
	f("", "4", "3", "2", "a/1")
	f("status=0", "4", "a/1")
	f("influencer_id="+ana, "4", "a/1")
	f("influencer_id=" + ana + "&status=1")
	f("coupon=Ana10", "4", "a/1")
	f("coupon=ANA10&influencer_id="+ana+"&end_date=2026-03-10", "a/1")
	f("start_date=2026-03-11", "4")
	f("start_date=2026-03-10&end_date=2026-03-10", "3", "2", "a/1")
	f("updated_since=2026-03-10T14:00:00Z", "3", "2", "4")
	f("updated_since=2026-03-10T14:00:00Z&coupon=ana10", "4")
	f("updated_since=2026-03-10T14:00:00Z&influencer_id="+ana, "4")
	f("text=A%2F1", "a/1")
	f("text=4&status=0", "4")
	f("text=4&status=1")
	f("text=nothing")

	for query, field := range map[string]string{"status=3": "status", "influencer_id=x": "influencer_id", "coupon=%20": "coupon",
		"coupon=ANA%0F": "coupon", "coupon=%E2%80%8B": "coupon", "coupon=" + strings.Repeat("A", 101): "coupon", "start_date=x": "start_date",
		"start_date=2026-03-02&end_date=2026-03-01": "end_date", "updated_since=2026-03-02": "updated_since", "limit=101": "limit",
		"cursor=x": "cursor", "format=pdf": "format", "text=" + strings.Repeat("x", 256): "text", "text=1&coupon=ANA10": "text",
		"text=1&updated_since=2026-03-10T14:00:00Z": "text", "text=%00": "text"} {
		got := s.call("GET", "/admin/v1/orders?"+query, s.live, "")
		if got.Status != 400 || len(got.Error.Details) != 1 || got.Error.Details[0].Field != field {
			t.Errorf("%s: %d %+v", query, got.Status, got.Error)
		}
	}
	text, header := s.table("/orders?format=csv&limit=2")
	if lines := strings.Split(text, "\r\n"); len(lines) != 4 || !strings.Contains(lines[2], ",'=cmd(),") || header.Get("Next-Cursor") == "" {
		t.Errorf("%q %v", text, header)
	}
}

func TestProductsAreReadBackPageByPage(t *testing.T) {
	t.Parallel()
	s, fixture := reading(t)
	company := fixture.Store.Live.CompanyID
	for i := range 5 {
		fixture.Product(company, fmt.Sprint("p/", i), fmt.Sprint("Vestido ", i), fmt.Sprint("v", i))
	}
	type product struct {
		ProductID   string `json:"productId"`
		ProductName string
		Variants    []struct{ VariantID string }
	}
	var ids []string
	for next := ""; ; {
		var page []product
		got := s.get("/products?limit=2"+next, &page)
		for _, p := range page {
			ids = append(ids, p.ProductID+" "+p.ProductName+" "+p.Variants[0].VariantID)
		}
		if !got.Pagination.HasMore {
			break
		}
		next = "&cursor=" + *got.Pagination.NextCursor
	}
	if got, want := strings.Join(ids,
		","), "p/0 Vestido 0 v0,p/1 Vestido 1 v1,p/2 Vestido 2 v2,p/3 Vestido 3 v3,p/4 Vestido 4 v4"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if text, _ := s.table("/products?format=csv&limit=1"); !strings.Contains(text, "\r\np/0,Vestido 0,,v0,,sku-v0,,\r\n") {
		t.Errorf("%q", text)
	}
	s.want(s.call("GET", "/admin/v1/products?cursor=!", s.live, ""), 400, "validation_error")
}
