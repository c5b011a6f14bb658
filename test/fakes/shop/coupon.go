package shop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CouponKind says what a coupon's value means.
type CouponKind string

const (
	CouponPercent  CouponKind = "percent"  // Value is hundredths of a percent: 1000 takes 10 % off
	CouponAmount   CouponKind = "amount"   // Value is Money
	CouponShipping CouponKind = "shipping" // the delivery is free
)

// Coupon is a discount code of the shop.
type Coupon struct {
	ID               int64
	Code             string
	Kind             CouponKind
	Value            int64
	Minimum          Money     // smallest subtotal
	Start, End       time.Time // zero: no bound
	Limit            int       // uses in all; 0: no bound
	OnceEach         bool      // one use for each customer
	Used             int
	ByAPI            bool // made by an app, not by hand
	Title            string
	CreatedAt        time.Time
	UpdatedAt        time.Time
	Deleted          bool
	UsedBy           []string // e-mail addresses
	Individual, Free bool     // WooCommerce: individual_use, free_shipping
}

// valid says why a coupon cannot be used, or nil.
func (c Coupon) valid(now time.Time, subtotal Money, email string) error {
	switch {
	case c.Deleted:
		return fmt.Errorf("coupon %q is deleted", c.Code)
	case !c.Start.IsZero() && now.Before(c.Start), !c.End.IsZero() && now.After(c.End):
		return fmt.Errorf("coupon %q is not in its time", c.Code)
	case c.Limit > 0 && c.Used >= c.Limit:
		return fmt.Errorf("coupon %q is used up", c.Code)
	case subtotal < c.Minimum:
		return fmt.Errorf("coupon %q needs a subtotal of %s", c.Code, c.Minimum)
	case c.OnceEach && slices.Contains(c.UsedBy, email):
		return fmt.Errorf("coupon %q was used by this customer", c.Code)
	}
	return nil
}

// Active says whether the coupon takes something off now.
func (c Coupon) Active(now time.Time) bool { return c.valid(now, c.Minimum, "") == nil }

// amount is what a coupon takes off what is left of the goods and of the delivery.
func amount(kind CouponKind, value int64, goods, shipping Money) Money {
	switch kind {
	case CouponPercent:
		return min(goods, goods.Percent(value))
	case CouponAmount:
		return min(goods, Money(value))
	default:
		return shipping
	}
}

// AddCoupon makes a coupon, by hand or by an app (ByAPI). It refuses an empty code, and one that is
// there already: codes are compared without their case.
func (s *Shop) AddCoupon(coupon Coupon) (Coupon, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if coupon.Code == "" {
		return Coupon{}, fmt.Errorf("coupon: code is empty")
	}
	if at := s.couponAt(coupon.Code); at >= 0 {
		return Coupon{}, fmt.Errorf("coupon %q: code is taken", coupon.Code)
	}
	coupon.ID = s.nextID()
	coupon.CreatedAt = s.Now()
	coupon.UpdatedAt = coupon.CreatedAt
	s.coupons = append(s.coupons, coupon)
	return coupon, nil
}

// couponAt is the place of a coupon that is not deleted, or -1.
func (s *Shop) couponAt(code string) int {
	return slices.IndexFunc(s.coupons, func(c Coupon) bool { return !c.Deleted && strings.EqualFold(c.Code, code) })
}

// Coupons lists the coupons that are not deleted, oldest first.
func (s *Shop) Coupons() []Coupon {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.coupons), func(c Coupon) bool { return c.Deleted })
	slices.SortFunc(list, func(a, b Coupon) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Coupon finds a coupon by its code; false when there is none.
func (s *Shop) Coupon(code string) (Coupon, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.couponAt(code); at >= 0 {
		return s.coupons[at], true
	}
	return Coupon{}, false
}

// ChangeCoupon lets change alter a coupon (its end, its value; or Deleted, which removes it).
func (s *Shop) ChangeCoupon(id int64, change func(*Coupon)) (Coupon, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.coupons, func(c Coupon) bool { return c.ID == id && !c.Deleted })
	if at < 0 {
		return Coupon{}, fmt.Errorf("coupon %d: not found", id)
	}
	change(&s.coupons[at])
	s.coupons[at].UpdatedAt = s.Now()
	return s.coupons[at], nil
}
