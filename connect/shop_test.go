package connect_test

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// shop is a shop of a platform of the tests' own, with faults that a test asks for. It is its own platform.
type shop struct {
	mu          sync.Mutex
	name        string
	currency    string
	orders      map[string]platform.Item
	coupons     map[string]commerce.ShopCoupon
	perPage     int
	oldestFirst bool                                     // it says so of its pages
	between     func(page int)                           // is called after a page of changes was read
	fail        func(method, id string) error            // nil: nothing fails
	fetching    map[string]int                           // orders that are being read by their id
	together    int                                      // orders that were read twice at a time
	asked       map[string]int                           // requests by method
	addresses   []string                                 // of notices
	lostAnswer  bool                                     // the next coupon is made, and nobody is told
	hold        func(ctx context.Context, method string) // is called at the start of a request
}

func newShop() *shop {
	return &shop{name: "loja-1", currency: "BRL", orders: map[string]platform.Item{}, coupons: map[string]commerce.ShopCoupon{}, perPage: 5,
		fetching: map[string]int{}, asked: map[string]int{}}
}

// put makes or changes an order.
func (s *shop) put(id string, created, updated time.Time, total string, change ...func(*platform.Order)) {
	order := &platform.Order{OrderID: id, CreatedAt: created, UpdatedAt: updated, TotalPrice: json.Number(total), Currency: "BRL",
		Codes: []platform.Code{}, Customer: &platform.Customer{Name: "Ana Souza", Email: "ana.souza@example.com"}}
	for _, c := range change {
		c(order)
	}
	s.set(platform.Item{ID: id, CreatedAt: created, UpdatedAt: updated, Order: order})
}

func (s *shop) set(item platform.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[item.ID] = item
}

func (s *shop) begin(ctx context.Context, method, id string) error {
	s.mu.Lock()
	s.asked[method]++
	fail, hold := s.fail, s.hold
	s.mu.Unlock()
	if hold != nil {
		hold(ctx, method)
	}
	if fail != nil {
		if err := fail(method, id); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *shop) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

func (s *shop) Offer() commerce.OfferedPlatform {
	return commerce.OfferedPlatform{Name: "testshop", Title: "Test",
		Fields: []commerce.CredentialField{{Name: "key", Secret: true, Pattern: ".+"}}}
}

func (s *shop) Limits() platform.Limits { return platform.Limits{PerSecond: 1000, Burst: 1000} }

func (s *shop) Open(c platform.Credentials, _ *platform.Client) (platform.Shop, error) {
	if c["key"] != theKey {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey}
	}
	return s, nil
}

const theKey = "the-merchants-key-0815"

// delivery is what the platform sends.
type delivery struct {
	Kind, Order, Shop, Email, Customer string
}

// said reads a delivery that one of the secrets signed.
func said(d platform.Delivery, secrets ...string) (said delivery, err error) {
	sent, _ := hex.DecodeString(d.Header.Get("X-Signature"))
	if !platform.Signed(d.Body, sent, secrets...) || json.Unmarshal(d.Body, &said) != nil {
		return said, platform.ErrForged
	}
	return said, nil
}

func (s *shop) NoticedShop(d platform.Delivery) (string, error) {
	said, err := said(d, d.AppSecrets...)
	return said.Shop, err
}

func (s *shop) Notices(d platform.Delivery) ([]platform.Notice, error) {
	said, err := said(d, append([]string{d.Secret}, d.AppSecrets...)...)
	if err != nil || said.Shop != d.Shop {
		return nil, platform.ErrForged
	}
	person := platform.Person{Email: said.Email, CustomerID: said.Customer}
	return []platform.Notice{{Kind: said.Kind, OrderID: said.Order, Person: person}}, nil
}

func signed(secret string, d delivery) (http.Header, []byte) {
	body, _ := json.Marshal(d)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return http.Header{"X-Signature": {hex.EncodeToString(mac.Sum(nil))}}, body
}

func (s *shop) About(ctx context.Context) (platform.About, error) {
	if err := s.begin(ctx, "About", ""); err != nil {
		return platform.About{}, err
	}
	return platform.About{ID: s.name, Name: "Loja Um", URL: "https://loja.example.com", Currency: s.currency, ProofKey: commerce.ProofCart,
		CanNotify: true}, nil
}

// page is a page by its number, which is what shifts.
func (s *shop) page(list []platform.Item, token string) platform.Page {
	n, _ := strconv.Atoi(token)
	from := min(n*s.perPage, len(list))
	to := min(from+s.perPage, len(list))
	p := platform.Page{Items: slices.Clone(list[from:to]), Total: int64(len(list))}
	if to < len(list) {
		p.Next = strconv.Itoa(n + 1)
	}
	return p
}

func (s *shop) sorted(keep func(platform.Item) bool, by func(platform.Item) time.Time) (list []platform.Item) {
	for _, item := range s.orders {
		if keep(item) {
			list = append(list, item)
		}
	}
	slices.SortFunc(list, func(a, b platform.Item) int { return cmp.Or(by(a).Compare(by(b)), cmp.Compare(a.ID, b.ID)) })
	return list
}

func updatedAt(i platform.Item) time.Time { return i.UpdatedAt }
func createdAt(i platform.Item) time.Time { return i.CreatedAt }

func (s *shop) Changed(ctx context.Context, after time.Time, token string) (platform.Page, error) {
	if err := s.begin(ctx, "Changed", ""); err != nil {
		return platform.Page{}, err
	}
	s.mu.Lock()
	p := s.page(s.sorted(func(i platform.Item) bool { return !i.UpdatedAt.Before(after) }, updatedAt), token)
	p.OldestFirst = s.oldestFirst
	between, n := s.between, s.asked["Changed"]
	s.mu.Unlock()
	if between != nil {
		between(n)
	}
	return p, nil
}

func (s *shop) Created(ctx context.Context, from, to time.Time, token string) (platform.Page, error) {
	if err := s.begin(ctx, "Created", ""); err != nil {
		return platform.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page(s.sorted(func(i platform.Item) bool { return !i.CreatedAt.Before(from) && i.CreatedAt.Before(to) }, createdAt), token), nil
}

func (s *shop) Digests(ctx context.Context, from, to time.Time, token string) (list []platform.Digest, next string, err error) {
	p, err := s.Created(ctx, from, to, token)
	for _, i := range p.Items {
		if i.Order != nil {
			list = append(list, platform.Digest{ID: i.ID, Status: i.Order.Status, Total: i.Order.TotalPrice.String(), Test: i.Order.Test})
		}
	}
	return list, p.Next, err
}

func (s *shop) Order(ctx context.Context, id string) (platform.Item, error) {
	s.mu.Lock()
	if s.fetching[id]++; s.fetching[id] > 1 {
		s.together++
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.fetching[id]--
		s.mu.Unlock()
	}()
	if err := s.begin(ctx, "Order", id); err != nil {
		return platform.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	item, found := s.orders[id]
	if !found {
		return item, &platform.Error{Reason: commerce.ShopNotFound}
	}
	return item, nil
}

func (s *shop) Subscribe(ctx context.Context, url, _ string) error {
	if err := s.begin(ctx, "Subscribe", ""); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.addresses, url) {
		s.addresses = append(s.addresses, url)
	}
	return nil
}

func (s *shop) Unsubscribe(ctx context.Context, url string) error {
	if err := s.begin(ctx, "Unsubscribe", ""); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = slices.DeleteFunc(s.addresses, func(a string) bool { return a == url })
	return nil
}

func (s *shop) Coupon(ctx context.Context, code string) (commerce.ShopCoupon, bool, error) {
	if err := s.begin(ctx, "Coupon", code); err != nil {
		return commerce.ShopCoupon{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, found := s.coupons[code]
	return c, found, nil
}

func (s *shop) CreateCoupon(ctx context.Context, c commerce.ShopCoupon) error {
	if err := s.begin(ctx, "CreateCoupon", c.Code); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Enabled = true
	s.coupons[c.Code] = c
	if s.lostAnswer {
		return &platform.Error{Reason: commerce.ShopUnknownWrite}
	}
	return nil
}
