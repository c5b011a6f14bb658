package woocommerce

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

const key, secret = "ck_0123456789abcdef", "cs_0123456789abcdef"

// server answers as the documentation says, in a time zone that is not UTC.
type server struct {
	mu       sync.Mutex
	t        *testing.T
	drops    bool // the header Authorization
	readOnly bool
	forbid   string
	orders   map[int64][2]time.Time // created, changed
	edit     func()
	hooks    map[int]map[string]string
	coupons  []map[string]any
	requests int
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"code":%q,"message":"","data":{"status":%d}}`, code, status)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	path, found := strings.CutPrefix(r.URL.Path, "/loja/wp-json/wc/v3/")
	user, password, basic := r.BasicAuth()
	if basic = basic && !s.drops; !basic {
		user, password = r.URL.Query().Get("consumer_key"), r.URL.Query().Get("consumer_secret")
	}
	switch {
	case r.URL.Path == "/old/wp-json/wc/v3/data/currencies/current":
		http.Redirect(w, r, "https://www.loja.example/", http.StatusMovedPermanently)
	case !found:
		http.Error(w, "<html>nothing here", http.StatusNotFound)
	case user != key || password != secret:
		refuse(w, http.StatusUnauthorized, "woocommerce_rest_cannot_view")
	case s.readOnly && r.Method != http.MethodGet:
		refuse(w, http.StatusUnauthorized, "woocommerce_rest_authentication_error")
	case path == s.forbid:
		refuse(w, http.StatusForbidden, "woocommerce_rest_cannot_view")
	case path == "data/currencies/current":
		io.WriteString(w, `{"code":"BRL","name":"Brazilian real","symbol":"R$"}`)
	case path == "orders":
		s.list(w, r.URL.Query())
	case strings.HasPrefix(path, "orders/"):
		id, err := strconv.ParseInt(path[len("orders/"):], 10, 64)
		if times, there := s.orders[id]; err == nil && there {
			w.Write(s.body(id, times))
			return
		}
		refuse(w, http.StatusNotFound, "woocommerce_rest_shop_order_invalid_id")
	case strings.HasPrefix(path, "webhooks"):
		s.webhook(w, r, path)
	case path == "coupons":
		s.coupon(w, r)
	default:
		refuse(w, http.StatusNotFound, "rest_no_route")
	}
}

var zone = time.FixedZone("-03:00", -3*3600)

func (s *server) body(id int64, times [2]time.Time) []byte {
	return shoptest.With(s.t, example(s.t), map[string]any{"id": id, "date_created": times[0].In(zone).Format(gmt),
		"date_modified":    times[1].In(zone).Format(gmt),
		"date_created_gmt": times[0].UTC().Format(gmt), "date_modified_gmt": times[1].UTC().Format(gmt)})
}

func (s *server) list(w http.ResponseWriter, q url.Values) {
	var ids []int64
	in := time.UTC
	if q.Get("dates_are_gmt") != "true" {
		in = zone
	}
	if orderby := q.Get("orderby"); orderby != "" && !slices.Contains([]string{"date", "id", "include", "title", "slug"}, orderby) {
		refuse(w, http.StatusBadRequest, "rest_invalid_param")
		return
	}
	for id, times := range s.orders {
		ok := true
		for i, prefix := range []string{"", "modified_"} {
			low, _ := time.ParseInLocation(gmt, q.Get(prefix+"after"), in)
			high, err := time.ParseInLocation(gmt, q.Get(prefix+"before"), in)
			ok = ok && times[i].After(low) && (err != nil || times[i].Before(high))
		}
		if ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	size, _ := strconv.Atoi(q.Get("per_page"))
	page, _ := strconv.Atoi(q.Get("page"))
	page = max(page, 1)
	w.Header().Set("X-WP-Total", strconv.Itoa(len(ids)))
	w.Header().Set("X-WP-TotalPages", strconv.Itoa((len(ids)+size-1)/size))
	list := []json.RawMessage{}
	for _, id := range ids[min((page-1)*size, len(ids)):min(page*size, len(ids))] {
		list = append(list, s.body(id, s.orders[id]))
	}
	json.NewEncoder(w).Encode(list)
	if s.edit != nil {
		s.edit()
	}
}

func (s *server) webhook(w http.ResponseWriter, r *http.Request, path string) {
	var hook map[string]string
	id, _ := strconv.Atoi(strings.TrimPrefix(path, "webhooks/"))
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		decode(s.t, r, &hook)
	}
	switch r.Method {
	case http.MethodGet:
		list := []map[string]any{}
		for _, id := range slices.Sorted(maps.Keys(s.hooks)) {
			list = append(list, map[string]any{"id": id, "topic": s.hooks[id]["topic"], "delivery_url": s.hooks[id]["delivery_url"],
				"status": s.hooks[id]["status"]})
		}
		json.NewEncoder(w).Encode(list)
	case http.MethodPost:
		if hook["topic"] == "order.restored" {
			refuse(w, http.StatusBadRequest, "woocommerce_rest_shop_webhook_invalid_topic")
			return
		}
		s.hooks[100+len(s.hooks)] = hook
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "{}")
	case http.MethodPut:
		s.hooks[id] = hook
		io.WriteString(w, "{}")
	case http.MethodDelete:
		if s.hooks[id] == nil || r.URL.Query().Get("force") != "true" {
			refuse(w, http.StatusNotFound, "woocommerce_rest_shop_webhook_invalid_id")
			return
		}
		delete(s.hooks, id)
		io.WriteString(w, "{}")
	}
}

func (s *server) coupon(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		list := []map[string]any{}
		for _, c := range s.coupons {
			if strings.EqualFold(c["code"].(string), r.URL.Query().Get("code")) {
				list = append(list, c)
			}
		}
		json.NewEncoder(w).Encode(list)
		return
	}
	var made map[string]any
	decode(s.t, r, &made)
	made["code"] = strings.ToLower(made["code"].(string))
	for _, c := range s.coupons {
		if c["code"] == made["code"] {
			refuse(w, http.StatusBadRequest, "woocommerce_rest_coupon_code_already_exists")
			return
		}
	}
	s.coupons = append(s.coupons, made)
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(made)
}

func decode(t *testing.T, r *http.Request, into any) {
	t.Helper()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		t.Error(err)
	}
}

// open starts a server and opens its shop.
func open(t *testing.T, s *server, address string) platform.Shop {
	t.Helper()
	s.t = t
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	client := platform.NewClient(platform.Limits{PerSecond: 10_000, Burst: 10_000},
		platform.Options{UserAgent: "Tributary (test@example.com)", Rewrite: map[string]string{"www.loja.example": web.URL}})
	t.Cleanup(client.Close)
	shop, err := New().Open(platform.Credentials{fieldURL: address, fieldKey: key, fieldSecret: secret}, client)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

const address = "https://WWW.loja.example/loja/"

func reason(err error) string {
	var failed *platform.Error
	if errors.As(err, &failed) {
		return failed.Reason + " " + failed.Detail
	}
	return fmt.Sprint(err)
}

func many(n int) map[int64][2]time.Time {
	r := rand.New(rand.NewPCG(3, 4))
	orders := map[int64][2]time.Time{}
	now := time.Now().UTC().Truncate(time.Second)
	for id := int64(1); id <= int64(n); id++ {
		created := now.Add(-time.Duration(r.Int64N(int64(20 * 24 * time.Hour)))).Truncate(time.Second)
		if id%3 == 0 {
			created = now.Add(-5 * 24 * time.Hour)
		}
		orders[id] = [2]time.Time{created, created.Add(time.Duration(r.Int64N(int64(now.Sub(created) + 1)))).Truncate(time.Second)}
	}
	return orders
}
