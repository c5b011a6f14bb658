package shop

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrNotNow is why a step in an order's life is refused: its state does not allow it.
var ErrNotNow = errors.New("not in this state of the order")

// Place makes an order, not yet paid. It refuses products and codes that the shop does not have, and codes that are
// not in force.
func (s *Shop) Place(cart Cart) (Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	if !cart.At.IsZero() {
		now = cart.At.UTC()
	}
	o := Order{
		State: Pending, CreatedAt: now, UpdatedAt: now, Currency: s.options.Currency,
		Shipping: cart.Shipping, Landing: cart.Landing, Referrer: cart.Referrer, IP: cart.IP, Agent: cart.Agent,
		Method: cart.Method, Channel: cart.Channel, Attributes: slices.Clone(cart.Attributes), Test: cart.Test,
		CheckoutToken: cart.CheckoutToken, Group: cart.Group,
	}
	setDefault(&o.IP, fmt.Sprintf("203.0.113.%d", 1+s.rng.IntN(250)))
	setDefault(&o.Agent, "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36")
	setDefault(&o.Method, "pix")
	setDefault(&o.Channel, ChannelStore)
	if len(cart.Lines) == 0 {
		cart.Lines = []CartLine{{Product: s.rng.IntN(len(s.products)), Quantity: 1 + s.rng.IntN(3)}}
	}
	for _, line := range cart.Lines {
		if line.Product < 0 || line.Product >= len(s.products) || line.Quantity < 1 {
			return Order{}, fmt.Errorf("cart: product %d × %d: the shop has products 0 to %d", line.Product, line.Quantity, len(s.products)-1)
		}
		o.Lines = append(o.Lines, Line{ID: s.nextID(), Product: s.products[line.Product], Quantity: line.Quantity})
	}
	o.Customer = s.buyer(cart.Customer, now)
	if err := s.apply(&o, cart.Codes, now); err != nil {
		return Order{}, err
	}
	o.ID = s.nextID()
	s.number++
	o.Number = s.number
	o.Token = s.hex(40)
	o.Key = "wc_order_" + s.letters(13)
	o.CartToken = s.hex(32)
	setDefault(&o.CheckoutToken, s.hex(32))
	setDefault(&o.Group, fmt.Sprintf("1%d", o.ID))
	o.Sequence = 1
	for _, other := range s.orders {
		if other.Group == o.Group {
			o.Sequence++
		}
	}
	o.History = []Change{{Kind: Placed, At: now, Delta: o.Total()}}
	s.orders[o.ID] = &o
	s.order = append(s.order, o.ID)
	s.notices.about(Placed, o)
	return o, nil
}

// buyer completes a customer; the same e-mail address is the same customer.
func (s *Shop) buyer(given *Customer, now time.Time) Customer {
	customer := person(s.rng)
	if given != nil {
		filled := *given
		setDefault(&filled.First, customer.First)
		setDefault(&filled.Last, customer.Last)
		setDefault(&filled.Email, customer.Email)
		setDefault(&filled.Phone, customer.Phone)
		setDefault(&filled.Document, customer.Document)
		setDefault(&filled.Street, customer.Street)
		setDefault(&filled.StreetNumber, customer.StreetNumber)
		setDefault(&filled.Neighborhood, customer.Neighborhood)
		setDefault(&filled.City, customer.City)
		setDefault(&filled.State, customer.State)
		setDefault(&filled.Zip, customer.Zip)
		customer = filled
	}
	if known, ok := s.customers[customer.Email]; ok {
		customer.ID, customer.CreatedAt = known.ID, known.CreatedAt
	} else {
		customer.ID, customer.CreatedAt = s.nextID(), now
	}
	s.customers[customer.Email] = customer
	return customer
}

// apply puts codes on an order, one after the other.
func (s *Shop) apply(o *Order, codes []string, now time.Time) error {
	for _, code := range codes {
		at := s.couponAt(code)
		if at < 0 {
			return fmt.Errorf("coupon %q: not found", code)
		}
		coupon := &s.coupons[at]
		if err := coupon.valid(now, o.Subtotal(), o.Customer.Email); err != nil {
			return err
		}
		if slices.ContainsFunc(o.Discounts, func(d Discount) bool { return strings.EqualFold(d.Code, code) }) {
			return fmt.Errorf("coupon %q is on the cart already", code)
		}
		o.Discounts = append(o.Discounts, Discount{Code: coupon.Code, Kind: coupon.Kind, Value: coupon.Value})
		coupon.Used++
		coupon.UsedBy = append(coupon.UsedBy, o.Customer.Email)
	}
	o.Discounts = discounted(*o)
	return nil
}

// discounted computes what each code takes off: one after the other, of what is left.
func discounted(o Order) []Discount {
	discounts := slices.Clone(o.Discounts)
	goods, shipping := o.Subtotal(), o.Shipping
	for i := range discounts {
		d := &discounts[i]
		d.Amount = amount(d.Kind, d.Value, goods, shipping)
		if d.Kind == CouponShipping {
			shipping -= d.Amount
		} else {
			goods -= d.Amount
		}
	}
	return discounts
}

// change lets step alter a copy of an order, which then takes its place.
func (s *Shop) change(id int64, kind Kind, step func(o *Order, change *Change) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if platform, ok := s.platform.(interface{ Cannot(kind Kind) bool }); ok && platform.Cannot(kind) {
		return fmt.Errorf("%s cannot do %q: %w", s.platform.Name(), kind, ErrNotNow)
	}
	o, ok := s.orders[id]
	if !ok || o.Deleted {
		return fmt.Errorf("order %d: not found", id)
	}
	now := s.Now()
	next, change := *o, Change{Kind: kind, At: now}
	if err := step(&next, &change); err != nil {
		return fmt.Errorf("order %d, %s: %w", id, kind, err)
	}
	change.Delta = next.Rest() - o.Rest()
	next.History = append(slices.Clone(o.History), change)
	if now.After(next.UpdatedAt) {
		next.UpdatedAt = now
	}
	*o = next
	s.notices.about(kind, next)
	return nil
}

// Pay pays a pending or authorised order.
func (s *Shop) Pay(id int64) error {
	return s.change(id, PaidNow, func(o *Order, change *Change) error {
		if o.State != Pending && o.State != Authorized || o.Cancelled {
			return ErrNotNow
		}
		o.State, o.PaidAt, change.PaidDelta = Paid, change.At, o.Total()
		return nil
	})
}

// Authorize authorises the card of a pending order: the money is reserved and not yet taken.
func (s *Shop) Authorize(id int64) error {
	return s.change(id, AuthorizedNow, func(o *Order, _ *Change) error {
		if o.State != Pending || o.Cancelled {
			return ErrNotNow
		}
		o.State, o.Method = Authorized, "credit_card"
		return nil
	})
}

// Void ends the payment of an order that was never paid: refused, or run out.
func (s *Shop) Void(id int64) error {
	return s.change(id, Cancelled, func(o *Order, _ *Change) error {
		if o.State != Pending && o.State != Authorized || o.Cancelled {
			return ErrNotNow
		}
		o.State = Voided
		return nil
	})
}

// Edit gives the lines of an order other quantities, in their order; 0 keeps the line with nothing in it only when
// another line remains. The total may not fall below what was refunded. Lines with returned pieces stay as they are.
func (s *Shop) Edit(id int64, quantities ...int) error {
	return s.change(id, Edited, func(o *Order, change *Change) error {
		if o.Cancelled || o.State == Refunded || o.State == Voided || len(quantities) != len(o.Lines) {
			return ErrNotNow
		}
		before := o.Rest()
		lines := make([]Line, 0, len(o.Lines))
		for i, line := range o.Lines {
			switch {
			case quantities[i] == line.Quantity:
			case line.Returned > 0:
				return ErrNotNow
			default:
				change.Product, change.Before, change.After = line.Product.Name, line.Quantity, quantities[i]
				line.Quantity = quantities[i]
			}
			if line.Quantity > 0 {
				lines = append(lines, line)
			}
		}
		o.Lines = lines
		o.Discounts = discounted(*o)
		if len(lines) == 0 || o.Rest() <= 0 {
			return ErrNotNow
		}
		if o.State == Paid {
			change.PaidDelta = o.Rest() - before
		}
		return nil
	})
}

// RefundPart gives money of a paid order back; less than is left of it.
func (s *Shop) RefundPart(id int64, sum Money) error {
	return s.change(id, PartlyRefunded, func(o *Order, change *Change) error {
		if o.State != Paid || o.Cancelled || sum <= 0 || sum >= o.Rest() {
			return ErrNotNow
		}
		change.PaidDelta = -sum
		o.Refunds = append(slices.Clone(o.Refunds), Refund{ID: s.nextID(), At: change.At, Amount: sum, Reason: "part"})
		return nil
	})
}

// RefundLine gives the money of pieces of one line back: their price less their share of the discounts. Something
// must be left of the order.
func (s *Shop) RefundLine(id, line int64, pieces int) error {
	return s.change(id, PartlyRefunded, func(o *Order, change *Change) error {
		at := slices.IndexFunc(o.Lines, func(l Line) bool { return l.ID == line })
		if o.State != Paid || o.Cancelled || at < 0 || pieces < 1 || pieces > o.Lines[at].Quantity-o.Lines[at].Returned {
			return ErrNotNow
		}
		sum := o.Lines[at].Product.Price * Money(o.Lines[at].Quantity)
		for _, part := range o.LineDiscounts()[at] {
			sum -= part
		}
		sum = Money(int64(sum) * int64(pieces) / int64(o.Lines[at].Quantity))
		if sum <= 0 || sum >= o.Rest() {
			return ErrNotNow
		}
		o.Lines = slices.Clone(o.Lines)
		o.Lines[at].Returned += pieces
		change.PaidDelta = -sum
		o.Refunds = append(slices.Clone(o.Refunds), Refund{
			ID: s.nextID(), At: change.At, Amount: sum, Reason: "returned",
			Lines: []RefundLine{{Line: line, Quantity: pieces, Amount: sum}},
		})
		return nil
	})
}

// RefundAll gives back what is left of a paid order.
func (s *Shop) RefundAll(id int64) error {
	return s.change(id, FullyRefunded, func(o *Order, change *Change) error {
		if o.State != Paid || o.Cancelled {
			return ErrNotNow
		}
		change.PaidDelta = -o.Rest()
		o.Refunds = append(slices.Clone(o.Refunds), Refund{ID: s.nextID(), At: change.At, Amount: o.Rest(), Reason: "all"})
		o.State = Refunded
		return nil
	})
}

// Cancel cancels an order; what was paid stays paid.
func (s *Shop) Cancel(id int64) error {
	return s.change(id, Cancelled, func(o *Order, change *Change) error {
		if o.Cancelled || o.State == Refunded {
			return ErrNotNow
		}
		o.Cancelled, o.CancelledAt, o.Reason = true, change.At, "customer"
		return nil
	})
}

// Ship sends the goods of a paid order.
func (s *Shop) Ship(id int64) error {
	return s.change(id, Shipped, func(o *Order, change *Change) error {
		if o.State != Paid || o.Cancelled || !o.ShippedAt.IsZero() {
			return ErrNotNow
		}
		o.ShippedAt = change.At
		return nil
	})
}

// Deliver hands the goods over; what was not yet sent is sent now.
func (s *Shop) Deliver(id int64) error {
	return s.change(id, Delivered, func(o *Order, change *Change) error {
		if o.State != Paid || o.Cancelled || !o.DeliveredAt.IsZero() {
			return ErrNotNow
		}
		if o.ShippedAt.IsZero() {
			o.ShippedAt = change.At
		}
		o.DeliveredAt = change.At
		return nil
	})
}

// Touch writes a note of the merchant: only the time of update changes.
func (s *Shop) Touch(id int64, note string) error {
	return s.change(id, Touched, func(o *Order, _ *Change) error {
		o.Note = note
		return nil
	})
}

// Delete removes an order, where the platform can (WooCommerce: the bin).
func (s *Shop) Delete(id int64) error {
	return s.change(id, Deleted, func(o *Order, _ *Change) error {
		o.Deleted = true
		return nil
	})
}

// Order finds an order, also a deleted one; false when there is none.
func (s *Shop) Order(id int64) (Order, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orders[id]
	if !ok {
		return Order{}, false
	}
	return *o, true
}

// Find lists the orders that want says yes to, in the order in which they were placed; deleted ones too.
func (s *Shop) Find(want func(Order) bool) []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Order
	for _, id := range s.order {
		if o := *s.orders[id]; want(o) {
			found = append(found, o)
		}
	}
	return found
}

// Orders is the shop's truth: each order as a ledger must have it in the end, oldest first.
func (s *Shop) Orders() []Truth {
	var list []Truth
	for _, o := range s.Find(func(Order) bool { return true }) {
		list = append(list, s.Truth(o))
	}
	return list
}

// Truth is what a ledger must say of an order.
func (s *Shop) Truth(o Order) Truth {
	status := o.Status()
	if platform, ok := s.platform.(interface{ Truly(o Order) string }); ok {
		status = platform.Truly(o)
	}
	return Truth{
		ID: s.platform.OrderID(o), Number: s.platform.OrderNumber(o), Status: status,
		PlatformStatus: s.platform.Status(o), Total: o.Rest().String(), Currency: o.Currency,
		Codes: o.Codes(), Discounts: slices.Clone(o.Discounts), Channel: o.Channel, Group: o.Group, Test: o.Test,
		CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, PaidAt: o.PaidAt, DeliveredAt: o.DeliveredAt,
	}
}

func (s *Shop) hex(n int) string {
	raw := make([]byte, n/2)
	for i := range raw {
		raw[i] = byte(s.rng.IntN(256))
	}
	return hex.EncodeToString(raw)
}

func (s *Shop) letters(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[s.rng.IntN(len(alphabet))]
	}
	return string(text)
}
