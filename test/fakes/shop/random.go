package shop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// catalogue makes the products of a shop.
func catalogue(rng *rand.Rand) []Product {
	names := []string{"Camiseta azul", "Calça jeans", "Tênis branco", "Boné", "Vestido longo", "Meia (par)", "Jaqueta", "Caneca"}
	prices := []Money{7990, 18990, 32999, 4950, 24905, 1299, 45000, 3333}
	products := make([]Product, 0, len(names))
	for i, name := range names {
		id := 111_000_000 + rng.Int64N(900_000)*10 + int64(i)
		products = append(products, Product{
			ID: id, Variant: id + 300_000_000, SKU: fmt.Sprintf("SKU-%03d", i+1), Name: name, Price: prices[i],
		})
	}
	return products
}

// person invents a buyer.
func person(rng *rand.Rand) Customer {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	first := pick("Maria", "João", "Ana", "Pedro", "Lúcia", "Rafael", "Beatriz", "Tiago")
	last := pick("Silva", "Souza", "Oliveira", "Santos", "Lima", "Conceição", "Araújo")
	n := rng.IntN(100_000)
	return Customer{
		First: first, Last: last, Email: fmt.Sprintf("comprador%05d@example.com", n), Phone: fmt.Sprintf("+5511990%06d", n),
		Document: fmt.Sprintf("%011d", 10_000_000_000+int64(n)*7919), Street: pick("Rua das Flores", "Avenida Brasil", "Rua São João"),
		StreetNumber: fmt.Sprint(1 + rng.IntN(999)), Neighborhood: pick("Centro", "Jardim América"),
		City: pick("Sorocaba", "São Paulo", "Recife"), State: pick("SP", "PE"), Zip: fmt.Sprintf("18%06d", n),
	}
}

// RandomCart draws a cart: lines, delivery, now and then one or two of the shop's coupons, and where the visit came from.
func (s *Shop) RandomCart(rng *rand.Rand) Cart {
	products := len(s.Products())
	cart := Cart{Shipping: Money(rng.IntN(3)) * 1250, Method: []string{"pix", "credit_card", "boleto"}[rng.IntN(3)]}
	for range 1 + rng.IntN(3) {
		cart.Lines = append(cart.Lines, CartLine{Product: rng.IntN(products), Quantity: 1 + rng.IntN(4)})
	}
	coupons := s.Coupons()
	for range rng.IntN(3) {
		if len(coupons) == 0 {
			break
		}
		coupon := coupons[rng.IntN(len(coupons))]
		if coupon.Active(s.Now()) && coupon.Minimum == 0 && !coupon.OnceEach && coupon.Limit == 0 &&
			!strings.EqualFold(coupon.Code, strings.Join(cart.Codes, "")) {
			cart.Codes = append(cart.Codes, coupon.Code)
		}
	}
	if rng.IntN(2) == 0 {
		cart.Landing = fmt.Sprintf("https://loja.example/?utm_source=instagram&utm_medium=social&utm_campaign=c%d&ref=p%d",
			rng.IntN(5), rng.IntN(20))
		cart.Referrer = "https://www.instagram.com/"
	}
	switch rng.IntN(25) {
	case 0:
		cart.Channel = ChannelMarketplace
	case 1:
		cart.Channel = ChannelAdmin
	case 2:
		cart.Channel = ChannelAPI
	}
	return cart
}

// mostSteps bounds one random life.
const mostSteps = 9

// Random is one random life of an order from beginning to end: the same seed on the same shop gives the same steps.
func (s *Shop) Random(seed uint64) (Order, error) {
	rng := rand.New(rand.NewPCG(seed, 0x6c696665))
	o, err := s.Place(s.RandomCart(rng))
	for steps := 0; err == nil && steps < mostSteps; steps++ {
		var ended bool
		if ended, err = s.step(rng, o.ID); ended {
			break
		}
	}
	o, _ = s.Order(o.ID)
	return o, err
}

// Live lives n random lives mixed with each other, with a pause after each step: the orders of a busy shop.
func (s *Shop) Live(ctx context.Context, seed uint64, n int, pause time.Duration) error {
	rng := rand.New(rand.NewPCG(seed, 0x6c697665))
	const together = 12
	alive := map[int64]int{}
	var ids []int64
	for begun := 0; begun < n || len(ids) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if begun < n && (len(ids) == 0 || len(ids) < together && rng.IntN(3) == 0) {
			o, err := s.Place(s.RandomCart(rng))
			if err != nil {
				return err
			}
			begun++
			ids = append(ids, o.ID)
		} else {
			at := rng.IntN(len(ids))
			ended, err := s.step(rng, ids[at])
			if err != nil {
				return err
			}
			if alive[ids[at]]++; ended || alive[ids[at]] >= mostSteps {
				ids = append(ids[:at], ids[at+1:]...)
			}
		}
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// step does one random step that the order's state allows; true when the life is over.
func (s *Shop) step(rng *rand.Rand, id int64) (ended bool, err error) {
	o, _ := s.Order(id)
	chance := rng.Float64()
	switch {
	case o.Cancelled || o.State == Refunded || o.State == Voided:
		return true, nil
	case o.State == Paid && chance < 0.12:
		err = s.RefundPart(id, 1+Money(rng.Int64N(max(1, int64(o.Rest())))))
	case o.State == Paid && chance < 0.24:
		line := o.Lines[rng.IntN(len(o.Lines))]
		err = s.RefundLine(id, line.ID, 1+rng.IntN(line.Quantity))
	case o.State == Paid && chance < 0.27:
		err = s.RefundAll(id)
	case o.State == Paid && chance < 0.30:
		err = s.Cancel(id)
	case o.State == Paid && chance < 0.55:
		err = s.Ship(id)
	case o.State == Paid && chance < 0.70 && !o.ShippedAt.IsZero():
		err = s.Deliver(id)
	case chance < 0.08:
		err = s.Touch(id, fmt.Sprintf("note %d", rng.IntN(100)))
	case chance < 0.18 || o.State == Paid && chance < 0.78:
		quantities := make([]int, len(o.Lines))
		for i, line := range o.Lines {
			quantities[i] = line.Quantity
		}
		quantities[rng.IntN(len(quantities))] = rng.IntN(5)
		err = s.Edit(id, quantities...)
	case o.State == Paid:
		return chance > 0.88, nil
	case chance < 0.23:
		err = s.Cancel(id)
	case chance < 0.26:
		err = s.Void(id)
	case chance < 0.36:
		return true, nil // never paid, and nobody says so
	case chance < 0.44:
		err = s.Authorize(id)
	default:
		err = s.Pay(id)
	}
	if errors.Is(err, ErrNotNow) {
		err = nil
	}
	return false, err
}
