// Package woocommerce connects shops of WooCommerce, a plug-in of WordPress. What it relies on is in the documentation of its REST
// API, version 3 (repository woocommerce/woocommerce-rest-api-docs), and for webhooks in its source (class-wc-webhook.php). Nothing
// of it was tried with a real shop.
package woocommerce

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	fullPage  = 50 // orders of a page; the platform allows 100, and plug-ins add much to each
	shortPage = 100
	hookPages = 5
)

// shortFields are what Digests needs: _fields is WordPress' own parameter for it.
const shortFields = "id,status,currency,total,refunds,date_created_gmt,date_modified_gmt"

type woocommerce struct{}

// New returns the platform.
func New() platform.Platform { return woocommerce{} }

// Limits: WooCommerce documents none for its REST API, and the server is the merchant's own, so this is little.
func (woocommerce) Limits() platform.Limits { return platform.Limits{PerSecond: 3, Burst: 12} }

// Open opens the shop at an address, by a consumer key and its secret.
func (woocommerce) Open(c platform.Credentials, client *platform.Client) (platform.Shop, error) {
	address := strings.TrimRight(strings.TrimSpace(c[fieldURL]), "/")
	if !strings.Contains(address, "://") { // as browsers show it
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, &platform.Error{Reason: commerce.ShopAddress, Detail: "it must be as https://www.your-shop.com"}
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil || !strings.Contains(u.Hostname(), ".") {
		return nil, &platform.Error{Reason: commerce.ShopAddress, Detail: "it must have a domain name"}
	}
	for _, name := range []string{fieldKey, fieldSecret} {
		if c[name] == "" || strings.ContainsAny(c[name], ":\r\n\x00") {
			return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: name}
		}
	}
	u.Host = strings.ToLower(u.Host)
	return &shop{client: client, base: u, key: c[fieldKey], secret: c[fieldSecret], own: readStates(c[fieldStates])}, nil
}

type shop struct {
	client      *platform.Client
	base        *url.URL
	key, secret string
	own         states
	inQuery     atomic.Bool // the shop's server drops the header Authorization
}

// id is the shop's address without https.
func (s *shop) id() string { return s.base.Host + s.base.EscapedPath() }

// request sends a request to the REST API. Servers that drop the header Authorization get the key in the query, over https, as the
// documentation says ("Authentication over HTTPS"): it is tried where a key is refused.
func (s *shop) request(ctx context.Context, method, path string, query url.Values, body any) (platform.Answer, error) {
	inQuery := s.inQuery.Load()
	answer, err := s.send(ctx, method, path, query, body, inQuery)
	if answer.Status != http.StatusUnauthorized || inQuery || errorCode(answer.Body) == "woocommerce_rest_authentication_error" {
		return answer, s.told(answer, err)
	}
	again, second := s.send(ctx, method, path, query, body, true)
	if second == nil {
		s.inQuery.Store(true)
		return again, nil
	}
	return answer, s.told(answer, err)
}

func (s *shop) send(ctx context.Context, method, path string, query url.Values, body any, inQuery bool) (platform.Answer, error) {
	q := url.Values{}
	for name, values := range query {
		q[name] = values
	}
	r := platform.Request{Method: method, Once: method == http.MethodPost, Header: http.Header{"Accept": {"application/json"}}}
	if inQuery {
		q.Set("consumer_key", s.key)
		q.Set("consumer_secret", s.secret)
	} else {
		r.Header.Set("Authorization", basic(s.key, s.secret))
	}
	r.URL = s.base.String() + "/wp-json/wc/v3/" + path
	if len(q) > 0 {
		r.URL += "?" + q.Encode()
	}
	if body != nil {
		var err error
		if r.Body, err = json.Marshal(body); err != nil {
			return platform.Answer{}, err
		}
	}
	return s.client.Do(ctx, r)
}

func basic(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

// told makes of an answer's code what a merchant can mend.
func (s *shop) told(answer platform.Answer, err error) error {
	switch {
	case err == nil:
		return nil
	case answer.Status >= 300 && answer.Status < 400:
		return &platform.Error{Reason: commerce.ShopAddress, Detail: "the site sends to another address: give that one"}
	case answer.Status == http.StatusNotFound && !json.Valid(answer.Body), errorCode(answer.Body) == "rest_no_route":
		return &platform.Error{Reason: commerce.ShopNotFound, Detail: "WooCommerce does not answer there; are permalinks Plain?"}
	}
	return err
}

// errorCode is the code of an error's answer; empty where it is none.
func errorCode(body []byte) string {
	var got struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(body, &got) != nil || !plainCode.MatchString(got.Code) {
		return ""
	}
	return got.Code
}

var plainCode = regexp.MustCompile(`^[a-z0-9_\-]{1,80}$`)

// read is request for GET, into a value.
func (s *shop) read(ctx context.Context, path string, query url.Values, into any) (platform.Answer, error) {
	answer, err := s.request(ctx, http.MethodGet, path, query, nil)
	if err == nil && json.Unmarshal(answer.Body, into) != nil {
		err = platform.Unread("the answer to " + path)
	}
	return answer, err
}

// write is request for what needs a key with the permission Read/Write: a key that only reads is refused with 401.
func (s *shop) write(ctx context.Context, method, path string, query url.Values, body any) (platform.Answer, error) {
	answer, err := s.request(ctx, method, path, query, body)
	if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
		return answer, &platform.Error{Reason: commerce.ShopLacksScope, Detail: "Read/Write"}
	}
	return answer, err
}

// About reads the currency, and whether orders and coupons may be read. What else a key may do is only known by doing it.
func (s *shop) About(ctx context.Context) (platform.About, error) {
	about := platform.About{ID: s.id(), Name: s.base.Host, URL: s.base.String(), ProofKey: commerce.ProofCart, CanNotify: true}
	var currency struct {
		Code platform.Scalar `json:"code"`
	}
	if _, err := s.read(ctx, "data/currencies/current", nil, &currency); err != nil {
		return platform.About{}, err
	}
	about.Currency = currency.Code.Text
	for _, what := range []string{"orders", readCoupons} {
		answer, err := s.request(ctx, http.MethodGet, what, url.Values{"per_page": {"1"}, "_fields": {"id"}}, nil)
		switch refused := answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden; {
		case refused && what == "orders":
			return platform.About{}, &platform.Error{Reason: commerce.ShopLacksScope, Detail: "Read of orders"}
		case refused:
			about.Lacks = append(about.Lacks, what)
		case err != nil:
			return platform.About{}, err
		}
	}
	return about, nil
}

// Changed lists by the time of the last change, in windows: which sorting by it exists is not documented.
func (s *shop) Changed(ctx context.Context, after time.Time, token string) (platform.Page, error) {
	return s.window(ctx, "modified_", after, time.Time{}, token, fullPage, "")
}

// Created lists by the time of creation.
func (s *shop) Created(ctx context.Context, from, to time.Time, token string) (platform.Page, error) {
	return s.window(ctx, "", from, to, token, fullPage, "")
}

// Digests is Created with few fields and larger pages.
func (s *shop) Digests(ctx context.Context, from, to time.Time, token string) ([]platform.Digest, string, error) {
	page, err := s.window(ctx, "", from, to, token, shortPage, shortFields)
	return page.Digests(), page.Next, err
}

// Order reads one order, one in the trash too.
func (s *shop) Order(ctx context.Context, id string) (platform.Item, error) {
	if platform.KnownID(platform.Scalar{Text: id}) == "" {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopNotFound, Detail: "id"}
	}
	answer, err := s.request(ctx, http.MethodGet, "orders/"+id, nil, nil)
	if err != nil {
		return platform.Item{}, err
	}
	item := s.own.item(answer.Body)
	if item.ID != id {
		return platform.Item{}, platform.Unread("id")
	}
	return item, nil
}

// window reads one page of the orders that were created, or with the prefix "modified_" changed, in [from, to); to may be zero.
// Whether the platform's bounds belong to the window is not documented: it is asked for a second more on both sides.
func (s *shop) window(ctx context.Context, prefix string, from, to time.Time, token string, size int,
	fields string) (platform.Page, error) {
	ask := func(ctx context.Context, from, to time.Time, page int) (raw []json.RawMessage, total int64, more bool, err error) {
		q := url.Values{prefix + "after": {from.Add(-time.Second).UTC().Format(gmt)}, "dates_are_gmt": {"true"}, "orderby": {"id"},
			"order": {"asc"}, "page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(size)}}
		if !to.IsZero() {
			q.Set(prefix+"before", to.Add(time.Second).UTC().Format(gmt))
		}
		if fields != "" {
			q.Set("_fields", fields)
		}
		answer, err := s.read(ctx, "orders", q, &raw)
		if err != nil {
			return nil, 0, false, err
		}
		if total, err = strconv.ParseInt(answer.Header.Get("X-WP-Total"), 10, 64); err != nil || total < 0 {
			return raw, -1, len(raw) == size, nil
		}
		return raw, total, int64(page*size) < total && len(raw) > 0, nil
	}
	return platform.Windows{Size: size, From: from, To: to, Ask: ask}.Page(ctx, token, prefix == "", s.own.item)
}

// topics are asked for; the last is in the source and not in the documentation, and a shop may refuse it.
var topics = []string{"order.created", "order.updated", "order.deleted", "order.restored"}

// webhook is one topic that is sent to an address.
type webhook struct {
	ID     platform.Scalar `json:"id"`
	Topic  string          `json:"topic"`
	URL    string          `json:"delivery_url"`
	Status string          `json:"status"`
}

// Subscribe asks for the topics that are missing, and again for those that WooCommerce has disabled after failures.
func (s *shop) Subscribe(ctx context.Context, address, secret string) error {
	hooks, err := s.webhooks(ctx, address)
	if err != nil {
		return err
	}
	for i, topic := range topics {
		body := map[string]string{"name": "Tributary " + topic, "topic": topic, "delivery_url": address, "secret": secret, "status": "active"}
		method, path := http.MethodPost, "webhooks"
		if at := slices.IndexFunc(hooks, func(w webhook) bool { return w.Topic == topic }); at >= 0 {
			id, err := platform.ID("id", hooks[at].ID)
			if err != nil {
				return err
			}
			if hooks[at].Status == "active" {
				continue
			}
			method, path = http.MethodPut, "webhooks/"+id
		}
		answer, err := s.write(ctx, method, path, nil, body)
		if answer.Status == http.StatusBadRequest && i == len(topics)-1 {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Unsubscribe removes the webhooks of an address.
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
		_, err = s.write(ctx, http.MethodDelete, "webhooks/"+id, url.Values{"force": {"true"}}, nil)
		if err != nil && !platform.NotFound(err) {
			return err
		}
	}
	return nil
}

// webhooks are those of an address.
func (s *shop) webhooks(ctx context.Context, address string) (found []webhook, err error) {
	for page := 1; page <= hookPages; page++ {
		var list []webhook
		answer, err := s.read(ctx, "webhooks", url.Values{"per_page": {"100"}, "page": {strconv.Itoa(page)}}, &list)
		if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
			return nil, &platform.Error{Reason: commerce.ShopLacksScope, Detail: "webhooks"}
		}
		if err != nil {
			return nil, err
		}
		for _, hook := range list {
			if hook.URL == address {
				found = append(found, hook)
			}
		}
		if len(list) < 100 {
			break
		}
	}
	return found, nil
}
