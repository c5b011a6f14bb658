package nuvemshop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

const token = "0123456789abcdef0123456789abcdef01234567"

// server answers as the documentation says: bounds of times exclude themselves, lists have no order, the header is Authentication.
type server struct {
	mu       sync.Mutex
	t        *testing.T
	orders   map[int64][2]time.Time // created, updated
	edit     func()                 // after each list
	forbid   string                 // a path that may not be read
	hooks    []webhook
	coupons  []map[string]any
	requests []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	if r.Header.Get("User-Agent") == "" {
		http.Error(w, `{"error":"User-Agent"}`, http.StatusBadRequest)
		return
	}
	if r.Header.Get("Authentication") != "bearer "+token {
		http.Error(w, `{"code":401}`, http.StatusUnauthorized)
		return
	}
	path, found := strings.CutPrefix(r.URL.Path, "/2025-03/"+store+"/")
	if !found {
		http.NotFound(w, r)
		return
	}
	if path == s.forbid {
		http.Error(w, `{"code":403}`, http.StatusForbidden)
		return
	}
	switch {
	case path == "store":
		io.WriteString(w, `{"id":4420001,"name":{"pt":"Loja da Carla","en":"Carla's"},"main_language":"pt","main_currency":"BRL",`+
			`"domains":["www.loja.example"],"original_domain":"loja.nuvemshop.com.br"}`)
	case path == "orders":
		s.list(w, r.URL.Query())
	case path == "customers":
		http.Error(w, `{"code":404,"message":"Not Found","description":"Last page is 0"}`, http.StatusNotFound)
	case strings.HasPrefix(path, "orders/"):
		id, err := strconv.ParseInt(path[len("orders/"):], 10, 64)
		if times, there := s.orders[id]; err == nil && there {
			w.Write(s.body(id, times))
			return
		}
		http.NotFound(w, r)
	case strings.HasPrefix(path, "webhooks"):
		s.webhook(w, r, path)
	case path == "coupons":
		s.coupon(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *server) body(id int64, times [2]time.Time) []byte {
	const layout = "2006-01-02T15:04:05-0700"
	return shoptest.With(s.t, example(s.t), map[string]any{"id": id, "created_at": times[0].Format(layout),
		"updated_at": times[1].Format(layout)})
}

func (s *server) list(w http.ResponseWriter, q url.Values) {
	var ids []int64
	for id, times := range s.orders {
		ok := true
		for i, field := range []string{"created_at", "updated_at"} {
			low, _ := time.Parse(time.RFC3339, q.Get(field+"_min"))
			high, err := time.Parse(time.RFC3339, q.Get(field+"_max"))
			ok = ok && times[i].After(low) && (err != nil || times[i].Before(high))
		}
		if ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b int64) int { return int(a*7919%1009 - b*7919%1009) }) // no order that a reader could rely on
	size, page := atoi(q.Get("per_page")), atoi(q.Get("page"))
	if page == 0 {
		page = 1
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(ids)))
	if page*size < len(ids) {
		w.Header().Set("Link", `<https://api.nuvemshop.com.br/2025-03/1/orders?page=2>; rel="next", <https://x>; rel="last"`)
	}
	if len(ids) == 0 {
		http.Error(w, `{"code":404,"message":"Not Found","description":"Last page is 0"}`, http.StatusNotFound)
		return
	}
	ids = ids[min((page-1)*size, len(ids)):min(page*size, len(ids))]
	list := make([]json.RawMessage, 0, len(ids))
	for _, id := range ids {
		list = append(list, s.body(id, s.orders[id]))
	}
	json.NewEncoder(w).Encode(list)
	if s.edit != nil {
		s.edit()
	}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func (s *server) webhook(w http.ResponseWriter, r *http.Request, path string) {
	switch r.Method {
	case http.MethodGet:
		list := []map[string]any{} // of all addresses: what the filter url finds exactly is not documented
		for _, hook := range s.hooks {
			list = append(list, map[string]any{"id": json.Number(hook.ID.Text), "event": hook.Event, "url": hook.URL})
		}
		json.NewEncoder(w).Encode(list)
	case http.MethodPost:
		var hook webhook
		decode(s.t, r, &hook)
		if r.Header.Get("Content-Type") == "" || hook.Event == "order/edited" {
			http.Error(w, `{"event":["Invalid event specified."]}`, http.StatusUnprocessableEntity)
			return
		}
		hook.ID.Text = strconv.Itoa(100 + len(s.hooks))
		s.hooks = append(s.hooks, hook)
		w.WriteHeader(http.StatusCreated)
	case http.MethodDelete:
		s.hooks = slices.DeleteFunc(s.hooks, func(h webhook) bool { return "webhooks/"+h.ID.Text == path })
		io.WriteString(w, "{}")
	}
}

func (s *server) coupon(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		json.NewEncoder(w).Encode(s.coupons)
		return
	}
	var made map[string]any
	decode(s.t, r, &made)
	for _, c := range s.coupons {
		if c["code"] == made["code"] {
			http.Error(w, `{"code":["is taken"]}`, http.StatusUnprocessableEntity)
			return
		}
	}
	made["valid"] = true
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
func open(t *testing.T, s *server, more platform.Credentials) platform.Shop {
	t.Helper()
	s.t = t
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	client := platform.NewClient(platform.Limits{PerSecond: 10_000, Burst: 10_000, Hosts: New().Limits().Hosts, Wait: rateReset},
		platform.Options{UserAgent: "Tributary (test@example.com)", Rewrite: map[string]string{"api.nuvemshop.com.br": web.URL,
			"www.tiendanube.com": web.URL}})
	t.Cleanup(client.Close)
	credentials := platform.Credentials{fieldStore: store, fieldToken: token}
	for name, value := range more {
		credentials[name] = value
	}
	shop, err := New().Open(credentials, client)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

func reason(err error) string {
	var failed *platform.Error
	if errors.As(err, &failed) {
		return failed.Reason + " " + failed.Detail
	}
	return fmt.Sprint(err)
}

// many are orders of some days, some of one and the same second.
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

// read reads all pages.
func read(t *testing.T, next func(token string) (platform.Page, error)) (ids []string, pages int) {
	t.Helper()
	for token := ""; ; pages++ {
		page, err := next(token)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		if token = page.Next; token == "" {
			return ids, pages + 1
		}
		if pages > 500 {
			t.Fatal("there is no last page")
		}
	}
}
