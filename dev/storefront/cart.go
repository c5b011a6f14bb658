package storefront

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
)

// cart is kept in a cookie, so that it survives a restart of the shop:
// "<token>|<product>:<quantity>|…".
type cart struct {
	token string
	lines []cartLine
}

type cartLine struct {
	Product  Product
	Quantity int64
}

// Cents returns the line's price times its quantity.
func (l cartLine) Cents() int64 { return l.Product.PriceCents * l.Quantity }

const (
	cartCookie  = "cart"
	maxQuantity = 99
)

// readCart returns the request's cart, or a new one if there is none or it is
// broken.
func readCart(r *http.Request) cart {
	cookie, err := r.Cookie(cartCookie)
	if err != nil {
		return cart{token: rand.Text()}
	}
	parts := strings.Split(cookie.Value, "|")
	if len(parts[0]) != len(rand.Text()) {
		return cart{token: rand.Text()}
	}
	c := cart{token: parts[0]}
	for _, part := range parts[1:] {
		id, quantity, _ := strings.Cut(part, ":")
		n, err := strconv.ParseInt(quantity, 10, 64)
		if product, known := productByID(id); known && err == nil && n > 0 {
			c.add(product, n)
		}
	}
	return c
}

func (c *cart) add(p Product, n int64) {
	for i := range c.lines {
		if c.lines[i].Product.ID == p.ID {
			c.lines[i].Quantity = min(maxQuantity, c.lines[i].Quantity+n)
			return
		}
	}
	c.lines = append(c.lines, cartLine{p, min(maxQuantity, n)})
}

func (c *cart) remove(id string) {
	kept := c.lines[:0]
	for _, l := range c.lines {
		if l.Product.ID != id {
			kept = append(kept, l)
		}
	}
	c.lines = kept
}

func (c cart) count() (n int64) {
	for _, l := range c.lines {
		n += l.Quantity
	}
	return n
}

func (c cart) cents() (sum int64) {
	for _, l := range c.lines {
		sum += l.Cents()
	}
	return sum
}

func (c cart) write(w http.ResponseWriter) {
	value := c.token
	for _, l := range c.lines {
		value += "|" + l.Product.ID + ":" + strconv.FormatInt(l.Quantity, 10)
	}
	//nolint:gosec // not Secure: the demo shop has no TLS
	http.SetCookie(w, &http.Cookie{Name: cartCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
