// Package shopify connects Shopify shops by the GraphQL Admin API, version 2026-10.
//
// Sources: the pages of shopify.dev named beside each part, and the schema of that version. It was run against a fake made from
// them, never against a real shop.
package shopify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	apiVersion    = "2026-10" // a year from October 2026 on: shopify.dev/docs/api/usage/versioning
	firstPage     = 50        // orders of a page; halved where Shopify says that the query costs too much
	firstDigests  = 100
	mostLines     = 500              // of an order that are read: POST /order takes no more
	renewBefore   = 5 * time.Minute  // a token of the client-credentials grant, before it ends
	longestPause  = 20 * time.Second // for points, within one call; longer ones are left to the caller
	startPoints   = 1000.0           // before Shopify told: the most that a single query may cost
	startRestored = 100.0            // points a second of the smallest plan
	mostAccounts  = 10_000
)

// New returns the platform.
func New() platform.Platform { return &shopify{accounts: map[[32]byte]*account{}} }

type shopify struct {
	mutex    sync.Mutex
	accounts map[[32]byte]*account // by the hash of their credentials: a shop is opened anew for each poll
}

// account is what is remembered of an app in a shop: the token that its client credentials gave, and the points that are left.
type account struct {
	mutex    sync.Mutex
	token    string
	ends     time.Time
	left     float64
	most     float64
	restored float64 // points a second
	at       time.Time
	cost     map[string]float64 // by query, as Shopify last told
	size     map[string]int     // of a page, by query
}

type shop struct {
	client      *platform.Client
	host        string
	id, secret  string
	pastedToken string
	account     *account
}

// Limits are of requests; points are kept beside them, by what each answer says.
// Source: shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits.
func (*shopify) Limits() platform.Limits {
	return platform.Limits{PerSecond: 5, Burst: 10, Hosts: []string{"*.myshopify.com"}}
}

var shopName = regexp.MustCompile(`^(?:https://)?(?:admin\.shopify\.com/store/)?([a-z0-9][a-z0-9-]{0,60})(?:\.myshopify\.com)?/?$`)

func (p *shopify) Open(c platform.Credentials, client *platform.Client) (platform.Shop, error) {
	name := shopName.FindStringSubmatch(strings.ToLower(strings.TrimSpace(c["shop"])))
	if name == nil {
		return nil, &platform.Error{Reason: commerce.ShopAddress, Detail: "shop"}
	}
	s := &shop{client: client, host: name[1] + ".myshopify.com", id: c["client_id"], secret: c["client_secret"], pastedToken: c["token"]}
	if s.pastedToken == "" && (s.id == "" || s.secret == "") {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "client_id and client_secret, or token"}
	}
	key := sha256.Sum256([]byte(strings.Join([]string{s.host, s.id, s.secret, s.pastedToken}, "\x00")))
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if s.account = p.accounts[key]; s.account == nil {
		if len(p.accounts) >= mostAccounts {
			clear(p.accounts)
		}
		s.account = &account{left: startPoints, most: startPoints, restored: startRestored, cost: map[string]float64{}, size: map[string]int{}}
		p.accounts[key] = s.account
	}
	return s, nil
}

// accessToken is the pasted one, or that of the client-credentials grant, which Shopify gives for a day.
// Source: shopify.dev/docs/apps/build/authentication-authorization/client-credentials-grant.
func (s *shop) accessToken(ctx context.Context) (string, error) {
	if s.pastedToken != "" {
		return s.pastedToken, nil
	}
	a := s.account
	a.mutex.Lock()
	token, ends := a.token, a.ends
	a.mutex.Unlock()
	if token != "" && time.Now().Before(ends.Add(-renewBefore)) {
		return token, nil
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {s.id}, "client_secret": {s.secret}}
	asked := time.Now()
	answer, err := s.client.Do(ctx, platform.Request{
		Method: http.MethodPost, URL: "https://" + s.host + "/admin/oauth/access_token", Body: []byte(form.Encode()),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}},
	})
	if err != nil {
		if answer.Status == http.StatusBadRequest || answer.Status == http.StatusForbidden {
			return "", &platform.Error{Reason: commerce.ShopRefusedKey, Detail: refusal(answer.Body)}
		}
		return "", err
	}
	var given struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	if json.Unmarshal(answer.Body, &given) != nil || given.Token == "" {
		return "", platform.Unread("access_token")
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.token, a.ends = given.Token, asked.Add(time.Duration(min(max(given.Seconds, 0), 86_400))*time.Second)
	return a.token, nil
}

var refusals = regexp.MustCompile(`\b(shop_not_permitted|app_not_installed|application_cannot_be_found|invalid_client|invalid_request)\b`)

// refusal is Shopify's word for why it gives no token; nothing else of the answer is told.
func refusal(body []byte) string { return string(refusals.Find(body)) }

func (s *shop) forgetToken() {
	s.account.mutex.Lock()
	defer s.account.mutex.Unlock()
	s.account.token = ""
}

type graphError struct {
	Path       []any `json:"path"`
	Extensions struct {
		Code     string `json:"code"`
		Required string `json:"requiredAccess"`
	} `json:"extensions"`
}

type graphAnswer struct {
	Data       json.RawMessage `json:"data"`
	Errors     json.RawMessage `json:"errors"`
	Extensions struct {
		Cost struct {
			Requested float64 `json:"requestedQueryCost"`
			Throttle  struct {
				Most      float64 `json:"maximumAvailable"`
				Available float64 `json:"currentlyAvailable"`
				Restored  float64 `json:"restoreRate"`
			} `json:"throttleStatus"`
		} `json:"cost"`
	} `json:"extensions"`
}

// ask sends a query, and reads its data into. name is the query's, for what it costs; root is the field of the data that must
// be there. once: it writes.
func (s *shop) ask(ctx context.Context, name, query, root string, variables map[string]any, once bool, into any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		answer, err := s.post(ctx, name, body, once)
		if err != nil {
			return err
		}
		s.account.learn(name, answer)
		err = answer.failure(root)
		if limited, is := platform.Failed(err, commerce.ShopLimited); is && try < 4 && limited.RetryAfter <= longestPause {
			if !background.Sleep(ctx, limited.RetryAfter) {
				return ctx.Err()
			}
			continue // a throttled query was not run: one that writes may be sent again
		}
		if err != nil {
			return err
		}
		if json.Unmarshal(answer.Data, into) != nil {
			return platform.Unread(root)
		}
		return nil
	}
}

func (s *shop) post(ctx context.Context, name string, body []byte, once bool) (graphAnswer, error) {
	var read graphAnswer
	for renewed := false; ; renewed = true {
		token, err := s.accessToken(ctx)
		if err != nil {
			return read, err
		}
		answer, err := s.client.Do(ctx, platform.Request{
			Method: http.MethodPost, URL: "https://" + s.host + "/admin/api/" + apiVersion + "/graphql.json", Body: body, Once: once,
			Before: func(ctx context.Context) error { return s.account.wait(ctx, name) },
			Header: http.Header{"X-Shopify-Access-Token": {token}, "Accept": {"application/json"}},
		})
		switch {
		case answer.Status == http.StatusUnauthorized && s.pastedToken == "" && !renewed:
			s.forgetToken() // it was taken back before its day was over
			continue
		case answer.Status == http.StatusLocked:
			return read, &platform.Error{Reason: commerce.ShopSuspended, Detail: "423"}
		case err != nil:
			return read, err
		case json.Unmarshal(answer.Body, &read) != nil:
			return read, platform.Unread("the answer is no JSON")
		}
		return read, nil
	}
}

// errTooCostly: the query asks for more than a single query may cost.
var errTooCostly = &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "MAX_COST_EXCEEDED"}

var scopes = regexp.MustCompile(`\b(?:read|write)_[a-z_]+\b`)

// failure is why a GraphQL answer of status 200 is none. Fields that may not be read and may be null are null: that is no
// failure, and About tells the permission that lacks.
// Source: shopify.dev/docs/api/admin-graphql, "Status and error codes".
func (a *graphAnswer) failure(root string) error {
	var data map[string]json.RawMessage
	_ = json.Unmarshal(a.Data, &data)
	there := len(data[root]) > 0 && string(data[root]) != "null"
	if len(a.Errors) == 0 || string(a.Errors) == "null" {
		if data == nil {
			return platform.Unread("data")
		}
		return nil
	}
	var failures []graphError
	if json.Unmarshal(a.Errors, &failures) != nil {
		return platform.Unread("errors")
	}
	denied := 0
	for _, failure := range failures {
		switch code := failure.Extensions.Code; code {
		case "THROTTLED":
			return &platform.Error{Reason: commerce.ShopLimited, Detail: code, RetryAfter: a.pause()}
		case "SHOP_INACTIVE":
			return &platform.Error{Reason: commerce.ShopSuspended, Detail: code}
		case "INTERNAL_SERVER_ERROR", "TIMEOUT":
			return &platform.Error{Reason: commerce.ShopUnavailable, Detail: code}
		case "MAX_COST_EXCEEDED":
			return errTooCostly
		case "ACCESS_DENIED":
			denied++
			if !there {
				return &platform.Error{Reason: commerce.ShopLacksScope, Detail: scopes.FindString(failure.Extensions.Required)}
			}
		default:
			return platform.Unread(platform.Text("an error "+code, 100))
		}
	}
	if denied < len(failures) || !there {
		return platform.Unread("errors")
	}
	return nil
}

// pause is how long a throttled query has to wait until its cost is there again.
func (a *graphAnswer) pause() time.Duration {
	cost := a.Extensions.Cost
	rate := cost.Throttle.Restored
	if rate <= 0 {
		rate = startRestored
	}
	seconds := (cost.Requested - cost.Throttle.Available) / rate
	return min(max(time.Duration(seconds*float64(time.Second)), time.Second), time.Hour)
}

// wait returns when the points of a query are there, as far as is known, and takes them: all that one may cost where Shopify did
// not answer it yet.
func (a *account) wait(ctx context.Context, name string) error {
	for {
		a.mutex.Lock()
		now := time.Now()
		if !a.at.IsZero() {
			a.left = min(a.left+now.Sub(a.at).Seconds()*a.restored, a.most)
		}
		a.at = now
		cost, answered := a.cost[name]
		if !answered {
			cost = startPoints
		}
		missing := cost - a.left
		if missing <= 0 {
			a.left -= cost
			a.mutex.Unlock()
			return nil
		}
		pause := time.Duration(missing / a.restored * float64(time.Second))
		a.mutex.Unlock()
		if pause > longestPause {
			return &platform.Error{Reason: commerce.ShopLimited, Detail: "points", RetryAfter: pause}
		}
		if !background.Sleep(ctx, pause+time.Millisecond) {
			return ctx.Err()
		}
	}
}

// learn takes over what an answer says of points.
func (a *account) learn(name string, answer graphAnswer) {
	cost := answer.Extensions.Cost
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if cost.Requested <= 0 || cost.Throttle.Restored <= 0 { // it does not count
		a.cost[name], a.left = 0, startPoints
		return
	}
	a.cost[name] = min(cost.Requested, startPoints)
	a.left, a.restored, a.at = cost.Throttle.Available, cost.Throttle.Restored, time.Now()
	a.most = max(cost.Throttle.Most, startPoints)
}

// pageSize is how many orders a query asks for.
func (a *account) pageSize(name string, first int) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.size[name] == 0 {
		a.size[name] = first
	}
	return a.size[name]
}

// smaller halves it; false: it cannot be smaller.
func (a *account) smaller(name string) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.size[name] <= 1 {
		return false
	}
	a.size[name] /= 2
	delete(a.cost, name)
	return true
}

type orderList struct {
	Orders struct {
		PageInfo pageInfo          `json:"pageInfo"`
		Nodes    []json.RawMessage `json:"nodes"`
	} `json:"orders"`
}

// list reads one page of orders. A page that costs too much is asked for again with fewer orders.
func (s *shop) list(ctx context.Context, name, query, filter, sort, token string, first int) (orderList, error) {
	for {
		variables := map[string]any{"first": s.account.pageSize(name, first), "query": filter, "sort": sort}
		if token != "" {
			variables["after"] = token
		}
		var got orderList
		err := s.ask(ctx, name, query, "orders", variables, false, &got)
		if errors.Is(err, errTooCostly) && s.account.smaller(name) {
			continue
		}
		if err == nil && got.Orders.PageInfo.HasNextPage && got.Orders.PageInfo.EndCursor == "" {
			return got, platform.Unread("pageInfo.endCursor")
		}
		if !got.Orders.PageInfo.HasNextPage {
			got.Orders.PageInfo.EndCursor = ""
		}
		return got, err
	}
}

// Changed is sorted by the update time, so that an order that changes between two pages comes again behind them.
func (s *shop) Changed(ctx context.Context, after time.Time, token string) (platform.Page, error) {
	filter := "updated_at:>='" + after.UTC().Format(time.RFC3339) + "'"
	page, err := s.page(ctx, filter, "UPDATED_AT", token, func(platform.Item) bool { return true })
	page.OldestFirst = true
	return page, err
}

func (s *shop) Created(ctx context.Context, from, to time.Time, token string) (platform.Page, error) {
	filter := created(from, to)
	page, err := s.page(ctx, filter, "CREATED_AT", token, within(from, to))
	if err != nil || token != "" {
		return page, err
	}
	var count struct {
		Orders struct {
			Count int64 `json:"count"`
		} `json:"ordersCount"`
	}
	if s.ask(ctx, "count", countQuery, "ordersCount", map[string]any{"query": filter}, false, &count) == nil {
		page.Total = max(count.Orders.Count, 0) // for the progress bar alone
	}
	return page, nil
}

func (s *shop) page(ctx context.Context, filter, sort, token string, wanted func(platform.Item) bool) (platform.Page, error) {
	got, err := s.list(ctx, "orders", pageQuery, filter, sort, token, firstPage)
	if err != nil {
		return platform.Page{}, err
	}
	page := platform.Page{Next: got.Orders.PageInfo.EndCursor}
	for _, raw := range got.Orders.Nodes {
		item, err := s.whole(ctx, raw)
		if err != nil {
			return platform.Page{}, err
		}
		if wanted(item) {
			page.Items = append(page.Items, item)
		}
	}
	return page, nil
}

func (s *shop) Digests(ctx context.Context, from, to time.Time, token string) ([]platform.Digest, string, error) {
	got, err := s.list(ctx, "digests", digestQuery, created(from, to), "CREATED_AT", token, firstDigests)
	if err != nil {
		return nil, "", err
	}
	var digests []platform.Digest
	for _, raw := range got.Orders.Nodes {
		if item := readOrder(raw); within(from, to)(item) {
			digests = append(digests, item.Digest())
		}
	}
	return digests, got.Orders.PageInfo.EndCursor, nil
}

// created is the filter of orders created in [from, to). Shopify's times have whole seconds; within leaves out what is not meant.
func created(from, to time.Time) string {
	return "created_at:>='" + from.UTC().Format(time.RFC3339) + "' created_at:<='" + to.UTC().Format(time.RFC3339) + "'"
}

func within(from, to time.Time) func(platform.Item) bool {
	return func(i platform.Item) bool {
		return i.CreatedAt.IsZero() || !i.CreatedAt.Before(from) && i.CreatedAt.Before(to)
	}
}

func (s *shop) Order(ctx context.Context, id string) (platform.Item, error) {
	if id == "" || strings.Trim(id, "0123456789") != "" {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopNotFound}
	}
	var got struct {
		Order json.RawMessage `json:"order"`
	}
	if err := s.ask(ctx, "order", orderQuery, "order", map[string]any{"id": orderID(id)}, false, &got); err != nil {
		return platform.Item{}, err
	}
	if len(got.Order) == 0 || string(got.Order) == "null" {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopNotFound}
	}
	return s.whole(ctx, got.Order)
}

func orderID(id string) string { return "gid://shopify/Order/" + id }

// whole reads an order, and the lines that its page did not have.
func (s *shop) whole(ctx context.Context, raw json.RawMessage) (platform.Item, error) {
	if string(raw) == "null" {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopLacksScope, Detail: "read_orders"}
	}
	var first struct {
		LineItems struct {
			PageInfo pageInfo          `json:"pageInfo"`
			Nodes    []json.RawMessage `json:"nodes"`
		} `json:"lineItems"`
	}
	item := readOrder(raw)
	if item.Order == nil || json.Unmarshal(raw, &first) != nil {
		return item, nil
	}
	var further []lineItem
	read := len(first.LineItems.Nodes)
	for next := first.LineItems.PageInfo; next.HasNextPage && read+len(further) < mostLines; {
		var got struct {
			Order struct {
				LineItems struct {
					PageInfo pageInfo   `json:"pageInfo"`
					Nodes    []lineItem `json:"nodes"`
				} `json:"lineItems"`
			} `json:"order"`
		}
		variables := map[string]any{"id": orderID(item.ID), "after": next.EndCursor}
		if err := s.ask(ctx, "lines", linesQuery, "order", variables, false, &got); err != nil {
			return platform.Item{}, err
		}
		if len(got.Order.LineItems.Nodes) == 0 {
			break
		}
		further, next = append(further, got.Order.LineItems.Nodes...), got.Order.LineItems.PageInfo
	}
	if further == nil {
		return item, nil
	}
	return readOrder(raw, further...), nil
}
