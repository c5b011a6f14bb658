// Package yampi connects Yampi shops by its API, version 2.
//
// Sources: docs.yampi.com.br, of which filters of orders by the time of change, the names of statuses and the fields of promocodes were
// also read in public integrations. It was tried with tests alone, never with a real shop.
package yampi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	address  = "https://api.dooki.com.br/v2/"
	pageSize = 50
	includes = "items,customer,status,promocode,transactions,shipping_address,marketplace"
)

// New returns the platform.
func New() platform.Platform { return yampi{} }

type yampi struct{}

type shop struct {
	client *platform.Client
	alias  string
	header http.Header
	signed bool // the merchant gave the secret of a webhook
}

// Limits: 120 requests a minute for orders. Source: docs.yampi.com.br/faq/introduction.
func (yampi) Limits() platform.Limits {
	return platform.Limits{PerSecond: 1.5, Burst: 30, Hosts: []string{"api.dooki.com.br"}}
}

var alias = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,99}$`)

func (yampi) Open(c platform.Credentials, client *platform.Client) (platform.Shop, error) {
	s := &shop{client: client, alias: strings.ToLower(strings.TrimSpace(c["alias"])), signed: c["webhook_secret"] != ""}
	if !alias.MatchString(s.alias) {
		return nil, &platform.Error{Reason: commerce.ShopAddress, Detail: "alias"}
	}
	if c["user_token"] == "" || c["secret_key"] == "" {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "user_token and secret_key"}
	}
	s.header = http.Header{
		"User-Token": {c["user_token"]}, "User-Secret-Key": {c["secret_key"]}, "Content-Type": {"application/json"},
		"Accept": {"application/json"},
	}
	return s, nil
}

// get reads a resource past Yampi's cache of 30 minutes.
func (s *shop) get(ctx context.Context, path string, query url.Values, into any) error {
	query.Set("skipCache", "true")
	answer, err := s.client.Do(ctx, platform.Request{
		Method: http.MethodGet, URL: address + s.alias + path + "?" + query.Encode(), Header: s.header,
	})
	if err != nil {
		return err
	}
	if json.Unmarshal(answer.Body, into) != nil {
		return platform.Unread("the answer of " + path)
	}
	return nil
}

type list struct {
	Data []json.RawMessage `json:"data"`
	Meta struct {
		Pagination struct {
			Total int64 `json:"total"`
			Pages int   `json:"total_pages"`
		} `json:"pagination"`
	} `json:"meta"`
}

// page reads one page of orders by a time of theirs. Yampi filters by whole days of the shop's zone; wanted leaves out the rest.
func (s *shop) page(ctx context.Context, field string, from, to time.Time, token string, wanted func(platform.Item) bool) (platform.Page,
	error) {
	number := 1
	if token != "" {
		var err error
		if number, err = strconv.Atoi(token); err != nil || number < 1 {
			return platform.Page{}, platform.Unread("the page's token")
		}
	}
	day := func(t time.Time) string { return t.In(brasilia).Format(time.DateOnly) }
	var got list
	err := s.get(ctx, "/orders", url.Values{
		"date": {field + ":" + day(from) + "|" + day(to)}, "orderBy": {field}, "sortedBy": {"asc"},
		"limit": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(number)}, "include": {includes},
	}, &got)
	if err != nil {
		return platform.Page{}, err
	}
	page := platform.Page{Total: got.Meta.Pagination.Total}
	for _, raw := range got.Data {
		if item := readOrder(raw); wanted(item) {
			page.Items = append(page.Items, item)
		}
	}
	if number < got.Meta.Pagination.Pages && len(got.Data) > 0 {
		page.Next = strconv.Itoa(number + 1)
	}
	return page, nil
}

// brasilia is the zone of Yampi's dates.
var brasilia = time.FixedZone("America/Sao_Paulo", -3*60*60)

// Changed has no order that Yampi promises: pages that shift are read again.
func (s *shop) Changed(ctx context.Context, after time.Time, token string) (platform.Page, error) {
	return s.page(ctx, "updated_at", after, time.Now().Add(24*time.Hour), token, func(i platform.Item) bool {
		return i.UpdatedAt.IsZero() || !i.UpdatedAt.Before(after)
	})
}

func (s *shop) Created(ctx context.Context, from, to time.Time, token string) (platform.Page, error) {
	return s.page(ctx, "created_at", from, to, token, func(i platform.Item) bool {
		return i.CreatedAt.IsZero() || !i.CreatedAt.Before(from) && i.CreatedAt.Before(to)
	})
}

func (s *shop) Digests(ctx context.Context, from, to time.Time, token string) ([]platform.Digest, string, error) {
	page, err := s.Created(ctx, from, to, token)
	return page.Digests(), page.Next, err
}

func (s *shop) Order(ctx context.Context, id string) (platform.Item, error) {
	if !soundID(id) {
		return platform.Item{}, &platform.Error{Reason: commerce.ShopNotFound}
	}
	var got struct {
		Data json.RawMessage `json:"data"`
	}
	if err := s.get(ctx, "/orders/"+id, url.Values{"include": {includes}}, &got); err != nil {
		return platform.Item{}, err
	}
	item := readOrder(got.Data)
	if item.ID != id {
		return platform.Item{}, platform.Unread("id")
	}
	return item, nil
}
