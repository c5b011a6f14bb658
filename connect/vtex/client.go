// Package vtex connects VTEX shops by the Orders API: what changed by Feed v3, earlier orders by narrow windows of the list.
//
// Sources: vtex/openapi-schemas "VTEX - Orders API.json" (2026-08-07), developers.vtex.com/docs/guides/orders-feed and
// help.vtex.com. It was run against a fake made from them, never against a real shop.
package vtex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	pageSize   = 50 // orders of a page of the list: each is read by a request of its own
	mostPages  = 30 // that VTEX gives of one list
	maxLot     = 10 // events of one answer of the feed
	lots       = 5  // of one page: an order that changes often is read once for all its events
	atOnce     = 4  // orders that are read at once
	feedPages  = 1000
	checkFeed  = time.Hour           // how often it is looked whether the feed is still ours
	mostMissed = 14 * 24 * time.Hour // before a feed that had to be made, that the list is read for
	mostAhead  = 10 * time.Minute    // of the platform's clock before ours
	afterLimit = time.Minute         // developers.vtex.com/docs/guides/orders-feed, "Best practices": wait a minute after 429
	listMillis = "2006-01-02T15:04:05.000Z"
)

// New returns the platform.
func New() platform.Platform { return &vtex{} }

type vtex struct{}

type shop struct {
	client     *platform.Client
	account    string
	key, token string

	mutex   sync.Mutex
	checked time.Time // when the feed was last seen to be ours
}

// Limits: Get order allows 6,000 requests a minute for the whole account, its admin included; this takes a fifth.
func (*vtex) Limits() platform.Limits {
	return platform.Limits{PerSecond: 20, Burst: 40, Hosts: []string{"*.vtexcommercestable.com.br"}}
}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,60}$`)

func (*vtex) Open(c platform.Credentials, client *platform.Client) (platform.Shop, error) {
	s := &shop{client: client, account: strings.ToLower(strings.TrimSpace(c["account"])), key: c["app_key"], token: c["app_token"]}
	if !accountName.MatchString(s.account) {
		return nil, &platform.Error{Reason: commerce.ShopAddress, Detail: "account"}
	}
	if s.key == "" || s.token == "" {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "app_key and app_token"}
	}
	return s, nil
}

func (s *shop) get(ctx context.Context, path string, query url.Values) (platform.Answer, error) {
	return s.do(ctx, http.MethodGet, path, query, nil)
}

func (s *shop) do(ctx context.Context, method, path string, query url.Values, body any) (platform.Answer, error) {
	request := platform.Request{
		Method: method, URL: "https://" + s.account + ".vtexcommercestable.com.br" + path,
		Header: http.Header{
			"X-Vtex-Api-Appkey": {s.key}, "X-Vtex-Api-Apptoken": {s.token}, "Accept": {"application/json"}, "Content-Type": {"application/json"},
		},
	}
	if len(query) > 0 {
		request.URL += "?" + query.Encode()
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return platform.Answer{}, err
		}
		request.Body = text
	}
	answer, err := s.client.Do(ctx, request)
	if failed, limited := platform.Failed(err, commerce.ShopLimited); limited {
		failed.RetryAfter = max(failed.RetryAfter, afterLimit)
	}
	return answer, err
}

// lacking names the permission that an answer of 403 lacks.
func lacking(err error, resource string) error {
	if failed, lacks := platform.Failed(err, commerce.ShopLacksScope); lacks {
		failed.Detail = resource
	}
	return err
}

// Order reads one order. One without a status is none yet.
func (s *shop) Order(ctx context.Context, id string) (platform.Item, error) {
	item, there, err := s.order(ctx, id)
	if err == nil && !there {
		err = &platform.Error{Reason: commerce.ShopNotFound}
	}
	return item, err
}

func (s *shop) order(ctx context.Context, id string) (item platform.Item, there bool, err error) {
	if !soundID(id) {
		return item, false, &platform.Error{Reason: commerce.ShopNotFound}
	}
	answer, err := s.get(ctx, "/api/oms/pvt/orders/"+url.PathEscape(id), nil)
	if err != nil {
		return item, false, lacking(err, "View order")
	}
	item, there = readOrder(answer.Body)
	if there && item.ID != id {
		return item, false, platform.Unread("orderId") // Get order also searches by sequence
	}
	return item, there, nil
}

// orders reads orders, some at once, and keeps their order. Those that are not there are left out.
func (s *shop) orders(ctx context.Context, ids []string) ([]platform.Item, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	items, there, failures := make([]platform.Item, len(ids)), make([]bool, len(ids)), make([]error, len(ids))
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(atOnce, len(ids)) {
		workers.Go(func() {
			for i := range next {
				var err error
				items[i], there[i], err = s.order(ctx, ids[i])
				failures[i] = err
				_, unread := platform.Failed(err, commerce.ShopUnknownShape)
				switch {
				case platform.NotFound(err):
					failures[i] = nil
				case unread: // this order's alone
					items[i], there[i], failures[i] = platform.Unreadable(platform.Item{ID: ids[i]}, nil, err), true, nil
				case err != nil:
					cancel()
				}
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	workers.Wait()
	var found []platform.Item
	var ended error // by another's failure
	for i := range ids {
		switch {
		case errors.Is(failures[i], context.Canceled):
			ended = failures[i]
		case failures[i] != nil:
			return nil, failures[i]
		case there[i]:
			found = append(found, items[i])
		}
	}
	if ended != nil {
		return nil, ended
	}
	return found, nil
}

// window is a part of the list that has at most 30 pages, and a page of it. to is not in it.
type window struct {
	from, to time.Time
	page     int
}

func (w window) String() string {
	return fmt.Sprintf("%d-%d-%d", w.from.UnixMilli(), w.to.UnixMilli(), w.page)
}

func windowOf(token string) (w window, err error) {
	var from, to int64
	if _, err := fmt.Sscanf(token, "%d-%d-%d", &from, &to, &w.page); err != nil || w.page < 1 {
		return w, platform.Unread("the page's token")
	}
	w.from, w.to = time.UnixMilli(from).UTC(), time.UnixMilli(to).UTC()
	return w, nil
}

type orderList struct {
	List []struct {
		OrderID string `json:"orderId"`
		Created string `json:"creationDate"`
	} `json:"list"`
	Paging struct {
		Total int64 `json:"total"`
		Pages int   `json:"pages"`
	} `json:"paging"`
}

func (s *shop) list(ctx context.Context, w window) (got orderList, err error) {
	first, last := w.from.UTC().Format(listMillis), w.to.UTC().Add(-time.Millisecond).Format(listMillis)
	answer, err := s.get(ctx, "/api/oms/pvt/orders", url.Values{
		"f_creationDate": {"creationDate:[" + first + " TO " + last + "]"},
		"orderBy":        {"creationDate,asc"}, "page": {strconv.Itoa(w.page)}, "per_page": {strconv.Itoa(pageSize)},
	})
	if err != nil {
		return got, lacking(err, "List Orders")
	}
	if json.Unmarshal(answer.Body, &got) != nil {
		return got, platform.Unread("the list of orders")
	}
	return got, nil
}

// Created reads the list by windows. A window that has more than 30 pages is halved until it has not.
func (s *shop) Created(ctx context.Context, from, to time.Time, token string) (platform.Page, error) {
	from, to = from.UTC().Truncate(time.Millisecond), to.UTC()
	last := to.Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
	w, first := window{from: from, to: last, page: 1}, token == ""
	if !first {
		var err error
		if w, err = windowOf(token); err != nil {
			return platform.Page{}, err
		}
	}
	if !w.from.Before(w.to) {
		return platform.Page{}, nil
	}
	var page platform.Page
	for {
		got, err := s.list(ctx, w)
		if err != nil {
			return platform.Page{}, err
		}
		if first {
			page.Total, first = got.Paging.Total, false
		}
		if got.Paging.Pages > mostPages {
			half := w.to.Sub(w.from) / 2
			if half < time.Millisecond {
				return platform.Page{}, platform.Unread("more than 30 pages of orders in one millisecond")
			}
			w.to, w.page = w.from.Add(half).Truncate(time.Millisecond), 1
			continue
		}
		ids := make([]string, 0, len(got.List))
		for _, one := range got.List {
			if at := instant(one.Created); at.IsZero() || !at.Before(from) && at.Before(to) {
				ids = append(ids, one.OrderID)
			}
		}
		if page.Items, err = s.orders(ctx, ids); err != nil {
			return platform.Page{}, err
		}
		page.Next = w.next(got, last)
		return page, nil
	}
}

// next is the token of the page behind this one, or of the next window, which is as wide as this one, and wider where this one had
// few orders; empty: last is reached.
func (w window) next(got orderList, last time.Time) string {
	if w.page < got.Paging.Pages && len(got.List) > 0 {
		return window{w.from, w.to, w.page + 1}.String()
	}
	if !w.to.Before(last) {
		return ""
	}
	wide := w.to.Sub(w.from)
	if got.Paging.Pages < mostPages/2 {
		wide *= 2
	}
	return window{w.to, commerce.Earlier(w.to.Add(wide), last), 1}.String()
}

// Digests reads each order: the list has not what was given back.
func (s *shop) Digests(ctx context.Context, from, to time.Time, token string) ([]platform.Digest, string, error) {
	page, err := s.Created(ctx, from, to, token)
	return page.Digests(), page.Next, err
}

type event struct {
	Handle  string `json:"handle"`
	State   string `json:"state"`
	OrderID string `json:"orderId"`
}

// Changed reads the feed, which has no order and knows no after. Its events come again until Stored has committed them. A feed that
// is not there, or not any more, is made; what was created from after on is then read from the list, and what else changed
// meanwhile is found by comparing.
func (s *shop) Changed(ctx context.Context, after time.Time, token string) (platform.Page, error) {
	if strings.Contains(token, "-") { // the list, after the feed was made
		return s.Created(ctx, commerce.Later(after, time.Now().Add(-mostMissed)), time.Now().Add(mostAhead), token)
	}
	made, err := s.ownFeed(ctx, token == "")
	if err != nil {
		return platform.Page{}, err
	}
	if made {
		return s.Created(ctx, commerce.Later(after, time.Now().Add(-mostMissed)), time.Now().Add(mostAhead), "")
	}
	var handles, ids []string
	seen := map[string]bool{}
	more := false
	for range lots {
		events, err := s.events(ctx)
		if err != nil {
			return platform.Page{}, err
		}
		for _, e := range events {
			handles = append(handles, e.Handle)
			if soundID(e.OrderID) && !noStatus(e.State) && !seen[e.OrderID] {
				seen[e.OrderID] = true
				ids = append(ids, e.OrderID)
			}
		}
		if more = len(events) == maxLot; !more {
			break
		}
	}
	if len(handles) == 0 {
		return platform.Page{}, nil
	}
	page := platform.Page{Stored: func(ctx context.Context) error {
		for lot := range slices.Chunk(handles, maxLot) {
			if _, err := s.do(ctx, http.MethodPost, "/api/orders/feed", nil, map[string]any{"handles": lot}); err != nil {
				return lacking(err, feedAdmin)
			}
		}
		return nil
	}}
	if page.Items, err = s.orders(ctx, ids); err != nil {
		return platform.Page{}, err
	}
	if n, _ := strconv.Atoi(token); more && n < feedPages {
		page.Next = strconv.Itoa(n + 1)
	}
	return page, nil
}

func (s *shop) events(ctx context.Context) (events []event, err error) {
	answer, err := s.get(ctx, "/api/orders/feed", url.Values{"maxlot": {strconv.Itoa(maxLot)}})
	if err != nil {
		return nil, lacking(err, feedAdmin)
	}
	if len(answer.Body) > 0 && json.Unmarshal(answer.Body, &events) != nil {
		return nil, platform.Unread("the events of the feed")
	}
	return events, nil
}
