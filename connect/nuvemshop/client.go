// Package nuvemshop connects shops of Nuvemshop (Tiendanube in other countries). What it relies on is in the platform's own
// documentation: tiendanube.github.io/api-documentation (version 2025-03), whose full text of an earlier version is the
// repository TiendaNube/api-docs. Nothing of it was tried with a real shop.
package nuvemshop

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	base      = "https://api.nuvemshop.com.br/2025-03/"
	fullPage  = "100" // orders of a page; the platform allows 200, and a large order has 20 KB
	shortPage = "200"
)

// shortFields are what Digests needs.
const shortFields = "id,store_id,status,payment_status,cancelled_at,created_at,updated_at,currency,total,total_paid_by_customer"

type nuvemshop struct{}

// New returns the platform. It implements platform.Installer and platform.Signer, too.
func New() platform.Platform { return nuvemshop{} }

// Limits are 2 requests a second with bursts of 40 for a shop and app ("Rate limiting" of the documentation's first page); larger
// plans have ten times that. A few of the burst are left for the merchant's other programs.
func (nuvemshop) Limits() platform.Limits {
	return platform.Limits{PerSecond: 2, Burst: 30, Wait: rateReset,
		Hosts: []string{"api.nuvemshop.com.br", "www.nuvemshop.com.br", "www.tiendanube.com"}}
}

// rateReset reads x-rate-limit-reset: milliseconds until the bucket is empty again. A quarter of it is enough for ten requests.
func rateReset(h http.Header) time.Duration {
	ms, err := strconv.ParseInt(h.Get("X-Rate-Limit-Reset"), 10, 64)
	if err != nil || ms < 0 {
		return 0
	}
	return time.Duration(min(ms, time.Hour.Milliseconds())/4) * time.Millisecond
}

// Open opens a shop by its id and an access token.
func (nuvemshop) Open(c platform.Credentials, client *platform.Client) (platform.Shop, error) {
	if _, err := platform.ID("", platform.Scalar{Text: c[fieldStore]}); err != nil {
		return nil, &platform.Error{Reason: commerce.ShopNotFound, Detail: fieldStore}
	}
	if c[fieldToken] == "" || strings.ContainsAny(c[fieldToken], "\r\n\x00") {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: fieldToken}
	}
	return &shop{client: client, store: c[fieldStore], token: c[fieldToken], scope: c[fieldScope], notify: c[fieldSecret] != ""}, nil
}

type shop struct {
	client              *platform.Client
	store, token, scope string
	notify              bool
}

// request sends a request to the shop. The header is called Authentication, and its word is lower case.
func (s *shop) request(ctx context.Context, method, path string, query url.Values, body any) (platform.Answer, error) {
	r := platform.Request{Method: method, URL: base + s.store + "/" + path, Once: method == http.MethodPost,
		Header: http.Header{"Authentication": {"bearer " + s.token}, "Accept": {"application/json"}}}
	if len(query) > 0 {
		r.URL += "?" + query.Encode()
	}
	if body != nil {
		var err error
		if r.Body, err = json.Marshal(body); err != nil {
			return platform.Answer{}, err
		}
	}
	return s.client.Do(ctx, r)
}

// read is request for GET, into a value.
func (s *shop) read(ctx context.Context, path string, query url.Values, into any) (platform.Answer, error) {
	answer, err := s.request(ctx, http.MethodGet, path, query, nil)
	if err == nil && json.Unmarshal(answer.Body, into) != nil {
		err = &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "the answer to " + strings.SplitN(path, "/", 2)[0]}
	}
	return answer, err
}

// About reads the shop, and what the token may do.
func (s *shop) About(ctx context.Context) (platform.About, error) {
	var got struct {
		ID             platform.Scalar                `json:"id"`
		Name           json.RawMessage                `json:"name"`
		MainLanguage   platform.Scalar                `json:"main_language"`
		MainCurrency   platform.Scalar                `json:"main_currency"`
		Domains        platform.List[platform.Scalar] `json:"domains"`
		OriginalDomain platform.Scalar                `json:"original_domain"`
	}
	if _, err := s.read(ctx, "store", nil, &got); err != nil {
		return platform.About{}, err
	}
	if got.ID.Text != s.store {
		return platform.About{}, &platform.Error{Reason: commerce.ShopOtherShop, Detail: "id"}
	}
	about := platform.About{ID: s.store, Name: nameOf(got.Name, got.MainLanguage.Text), Currency: got.MainCurrency.Text,
		ProofKey: commerce.ProofClaim, CanNotify: s.notify}
	for _, domain := range append(got.Domains.Values, got.OriginalDomain) {
		if u, err := url.Parse("https://" + domain.Text); err == nil && domain.Text != "" && u.Host == domain.Text {
			about.URL = "https://" + domain.Text
			break
		}
	}
	var err error
	about.Lacks, err = s.lacks(ctx)
	return about, err
}

// nameOf is the name of a shop, which is a text for each language.
func nameOf(raw json.RawMessage, language string) string {
	var byLanguage map[string]string
	var name string
	if json.Unmarshal(raw, &byLanguage) == nil {
		name = cmp.Or(byLanguage[language], byLanguage["pt"], byLanguage["es"], byLanguage["en"])
	} else if json.Unmarshal(raw, &name) != nil {
		return ""
	}
	return platform.Text(name, 255)
}

// lacks are the permissions that are missing: of those that came with the token, or found out by asking. An *Error where orders
// cannot be read.
func (s *shop) lacks(ctx context.Context) ([]string, error) {
	missing := lacks(s.scope)
	if s.scope == "" {
		missing = nil
		for _, what := range []string{"orders", "customers", "coupons"} {
			_, err := s.request(ctx, http.MethodGet, what, url.Values{"per_page": {"1"}, "fields": {"id"}}, nil)
			_, denied := platform.Failed(err, commerce.ShopLacksScope)
			switch {
			case denied:
				missing = append(missing, "read_"+what)
			case err != nil && !platform.NotFound(err):
				return nil, err
			}
		}
		if slices.Contains(missing, readCoupons) {
			missing = append(missing, writeCoupons)
		}
	}
	if slices.Contains(missing, readOrders) {
		return nil, &platform.Error{Reason: commerce.ShopLacksScope, Detail: readOrders}
	}
	return missing, nil
}

// Changed lists by update time, in windows: the platform does not say in which order it lists.
func (s *shop) Changed(ctx context.Context, after time.Time, token string) (platform.Page, error) {
	return s.window(ctx, "updated_at", after, time.Time{}, token, url.Values{"per_page": {fullPage}})
}

// Created lists by the time of creation, in windows as Changed does.
func (s *shop) Created(ctx context.Context, from, to time.Time, token string) (platform.Page, error) {
	return s.window(ctx, "created_at", from, to, token, url.Values{"per_page": {fullPage}})
}

// Digests is Created with few fields and larger pages.
func (s *shop) Digests(ctx context.Context, from, to time.Time, token string) ([]platform.Digest, string, error) {
	query := url.Values{"per_page": {shortPage}, "fields": {shortFields}}
	page, err := s.window(ctx, "created_at", from, to, token, query)
	return page.Digests(), page.Next, err
}

// Order reads one order.
func (s *shop) Order(ctx context.Context, id string) (platform.Item, error) {
	if platform.KnownID(platform.Scalar{Text: id}) == "" {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopNotFound, Detail: "id"}
	}
	answer, err := s.request(ctx, http.MethodGet, "orders/"+id, nil, nil)
	if err != nil {
		return platform.Item{}, err
	}
	item := readItem(answer.Body, s.store)
	if item.ID != id {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "id"}
	}
	return item, nil
}

// window reads one page of the orders whose time named by field is in [from, to); to may be zero.
func (s *shop) window(ctx context.Context, field string, from, to time.Time, token string, query url.Values) (platform.Page, error) {
	full, err := strconv.Atoi(query.Get("per_page"))
	if err != nil {
		return platform.Page{}, err
	}
	windows := platform.Windows{Size: full, From: from, To: to,
		Ask: func(ctx context.Context, from, to time.Time, page int) ([]json.RawMessage, int64, bool, error) {
			return s.page(ctx, field, from, to, page, query, full)
		}}
	return windows.Page(ctx, token, field == "created_at", func(body []byte) platform.Item { return readItem(body, s.store) })
}

// page reads one page of a window. Whether the platform's bounds belong to the window is not documented: it is asked for a
// second more on both sides. total is -1 where it is not told.
func (s *shop) page(ctx context.Context, field string, from, to time.Time, page int, query url.Values,
	size int) (raw []json.RawMessage, total int64, more bool, err error) {
	q := url.Values{"page": {strconv.Itoa(page)}, field + "_min": {from.Add(-time.Second).UTC().Format(time.RFC3339)}}
	for name, value := range query {
		q[name] = value
	}
	if !to.IsZero() {
		q.Set(field+"_max", to.Add(time.Second).UTC().Format(time.RFC3339))
	}
	answer, err := s.read(ctx, "orders", q, &raw)
	if platform.NotFound(err) { // an empty list: public programs report that the platform answers 404 then, "Last page is 0"
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, err
	}
	if total, err = strconv.ParseInt(answer.Header.Get("X-Total-Count"), 10, 64); err != nil || total < 0 {
		total = -1
	}
	link := strings.Join(answer.Header.Values("Link"), ",")
	return raw, total, strings.Contains(link, `rel="next"`) || link == "" && len(raw) == size, nil
}

// Events that are asked for: those of an earlier version, and those since 2025-03, which a shop may not know.
var (
	events = []string{"order/created", "order/updated", "order/paid", "order/packed", "order/fulfilled", "order/cancelled",
		"app/uninstalled", "app/suspended", "app/resumed"}
	newerEvents = []string{"order/edited", "order/pending", "order/voided"}
)

// webhook is one event that is asked for.
type webhook struct {
	ID    platform.Scalar `json:"id"`
	Event string          `json:"event"`
	URL   string          `json:"url"`
}

// Subscribe asks for the events that are missing. The platform signs with the app's secret, so it takes none.
func (s *shop) Subscribe(ctx context.Context, address, _ string) error {
	hooks, err := s.webhooks(ctx, address)
	if err != nil {
		return err
	}
	for _, event := range slices.Concat(events, newerEvents) {
		if slices.ContainsFunc(hooks, func(w webhook) bool { return w.Event == event }) {
			continue
		}
		answer, err := s.request(ctx, http.MethodPost, "webhooks", nil, map[string]string{"event": event, "url": address})
		if answer.Status == http.StatusUnprocessableEntity {
			if slices.Contains(newerEvents, event) {
				continue
			}
			return &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "the shop does not take notices of " + event}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Unsubscribe takes all events of an address back.
func (s *shop) Unsubscribe(ctx context.Context, address string) error {
	hooks, err := s.webhooks(ctx, address)
	if err != nil {
		return err
	}
	for _, hook := range hooks {
		id, err := platform.ID("id", hook.ID)
		if err != nil {
			return err
		}
		if _, err := s.request(ctx, http.MethodDelete, "webhooks/"+id, nil, nil); err != nil && !platform.NotFound(err) {
			return err
		}
	}
	return nil
}

// webhooks are those of an address.
func (s *shop) webhooks(ctx context.Context, address string) ([]webhook, error) {
	var hooks []webhook
	_, err := s.read(ctx, "webhooks", url.Values{"url": {address}, "per_page": {shortPage}}, &hooks)
	if err != nil && !platform.NotFound(err) {
		return nil, err
	}
	return slices.DeleteFunc(hooks, func(w webhook) bool { return w.URL != address }), nil
}
