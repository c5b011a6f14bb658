// Package conversion says what advertising networks are told of a sale, and what their answers mean.
//
// It is pure: no clock, no network, no database. What a network takes is in a file of its own, each with the documentation that it
// follows. Who calls it has checked that the shopper consented to that network.
package conversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Type is what happened.
type Type string

const (
	Purchase Type = "purchase"
	Refund   Type = "refund" // all of the order was given back, or a part of it, or it was cancelled after it was told
)

// Conversion is a sale in the shape of IAB Tech Lab's Event and Conversion API 1.0 (github.com/InteractiveAdvertisingBureau/ecapi), from
// which every network's own is made. Personal fields are as the shop sent them: each network has its own form of them.
type Conversion struct {
	Type     Type
	OrderID  string    // the transaction; a network tells by it that it has the sale already
	At       time.Time // when the order was made; of a refund, when it was refunded
	Value    commerce.Amount
	Sold     Sold             // of a refund
	Shipping *commerce.Amount // nil: not known
	Tax      *commerce.Amount // nil: not known
	Coupon   string
	Items    []Item
	PageURL  string // https, of the shop; "": not known
	Person   Person
	Clicks   Clicks
}

// Sold is the sale of which a part, or all, is given back.
type Sold struct {
	At   time.Time
	Left commerce.Amount // what is not given back
}

// Item is one line of the order.
type Item struct {
	ID       string      // of the product, as in the merchant's catalogue
	Quantity int64       // at least 1
	Price    json.Number // of one, a decimal in the conversion's currency; "": not known
}

// Person is who bought, as the shop sent it. What is empty is not known.
type Person struct {
	CustomerID string
	Email      string
	Phone      string // E.164 (identity.NormalPhone)
	Name       string // given names first
	City       string
	State      string // code, without the country
	Zip        string
	Country    string // ISO 3166-1 alpha-2
	Birthdate  string // 2006-01-02
	IP         string
	UserAgent  string
}

// Clicks are what networks gave the shopper, by which they know their own click again. What is empty is not known.
type Clicks struct {
	Meta     string    // fbclid
	MetaAt   time.Time // when the shop's page was opened with it
	Google   string    // gclid
	GoogleA  string    // gbraid, of an app
	GoogleW  string    // wbraid, of a page
	TikTok   string    // ttclid
	Client   string    // by which GA4 knows the browser: "123.456"
	Sessions string    // of GA4, by stream: "AB12CD34EF.1762344000", of several with spaces between
	MetaPage string    // Meta's cookie _fbp

	TikTokPage string // TikTok's cookie _ttp
}

// Account is where a merchant's conversions go at a network.
type Account struct {
	ID     string // Meta: dataset; GA4: measurement id; Google: customer id; TikTok: pixel
	Action string // Google: conversion action; else ""
	Login  string // Google: customer id of the manager account; "": none
	Secret string // access token, or GA4's API secret
	Test   string // Meta and TikTok: code of a test; GA4 and Google: anything but "" only has the event checked
}

// Network is where conversions go.
type Network string

const (
	Meta   Network = "meta"
	GA4    Network = "ga4"
	Google Network = "google"
	TikTok Network = "tiktok"
)

// network is what differs between them.
type network struct {
	horizon time.Duration // how old an event may be
	refunds bool          // it takes them
	anew    bool          // a refund is the sale once more, as old as the sale
	request func(c Conversion, a Account) (Request, error)
	answer  func(status int, body []byte) Outcome
}

// The horizons are the networks' own: Meta and GA4 as their pages say (the pages are named in meta.go and ga4.go); Google's conversion
// window is at most 90 days, of which a month is kept to; TikTok's is not documented, and Meta's is taken.
var networks = map[Network]network{
	Meta:   {horizon: 7 * 24 * time.Hour, request: metaRequest, answer: metaAnswer},
	GA4:    {horizon: 72 * time.Hour, refunds: true, request: ga4Request, answer: ga4Answer},
	Google: {horizon: 30 * 24 * time.Hour, refunds: true, anew: true, request: googleRequest, answer: googleAnswer},
	TikTok: {horizon: 7 * 24 * time.Hour, request: tiktokRequest, answer: tiktokAnswer},
}

// Request is what is sent, by POST; by GET where it has no Body. The URL of GA4 has the secret in it: neither is ever logged.
type Request struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Why there is no request. Nothing is wrong: it is not sent, and what was sent to others stands.
var (
	ErrTooOld   = errors.New("conversion: the network takes no event that is so old")
	ErrNoRefund = errors.New("conversion: the network knows no refunds")
	ErrNobody   = errors.New("conversion: nothing says who bought that the network could know")
)

// KnowsRefunds reports whether a network takes refunds.
func KnowsRefunds(n Network) bool { return networks[n].refunds }

// TooOld reports whether a conversion is too old for a network.
func TooOld(n Network, c Conversion, now time.Time) bool {
	at := c.At
	if c.Type == Refund && networks[n].anew {
		at = c.Sold.At
	}
	return now.Sub(at) > networks[n].horizon-margin
}

// margin is how long before its horizon an event is given up: it must arrive before.
const margin = time.Hour

// RequestOf returns what tells a network of a sale at now. ErrTooOld, ErrNoRefund or ErrNobody where it is not told; another error where
// the conversion or the account lacks something, which names the field.
func RequestOf(n Network, c Conversion, a Account, now time.Time) (Request, error) {
	of, known := networks[n]
	switch {
	case !known:
		return Request{}, fmt.Errorf("conversion: no network %q", n)
	case c.Type != Purchase && c.Type != Refund:
		return Request{}, fmt.Errorf("conversion: type %q", c.Type)
	case c.Type == Refund && !of.refunds:
		return Request{}, ErrNoRefund
	case TooOld(n, c, now):
		return Request{}, ErrTooOld
	case c.OrderID == "": // GA4 takes all purchases without one for the same
		return Request{}, errors.New("conversion: OrderID is empty")
	case a.ID == "" || a.Secret == "":
		return Request{}, errors.New("conversion: the account needs an ID and a Secret")
	}
	if c.At.After(now) { // Meta takes none of more than a minute ahead
		c.At = now
	}
	return of.request(c, a)
}

// AnswerOf says what a network's answer means; body is at most its first 64 KiB. What the status says of the account, of limits and of
// the server counts, whatever the body says: none of it is the event's fault.
func AnswerOf(n Network, status int, body []byte) Outcome {
	of, known := networks[n]
	if !known {
		return Outcome{Verdict: Refused, Words: fmt.Sprintf("no network %q", n)}
	}
	o := of.answer(status, body)
	if by := byStatus(status, o.Words); by.Verdict == Stopped && o.Verdict != Later || by.Verdict == Later && o.Verdict != Stopped {
		return by
	}
	return o
}

// Verdict is what a network made of an event.
type Verdict string

const (
	Taken   Verdict = "taken"
	Later   Verdict = "later"   // try again
	Refused Verdict = "refused" // this event, for good
	Stopped Verdict = "stopped" // any event: the access token or the account is wrong
)

// Outcome is what an answer means.
type Outcome struct {
	Verdict Verdict
	Words   string // the network's own, where it refused; of a stranger: to be shown as text
	Request string // of a Google that took it: its id, by which StatusRequest asks what became of it; "": it said all
}

// byStatus is what an HTTP status means where the body says no more.
func byStatus(status int, words string) Outcome {
	switch {
	case status/100 == 2: // by GA4 alone without a word: an answer of the others without theirs is a proxy's
		return Outcome{Verdict: Taken}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Outcome{Verdict: Stopped, Words: words}
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return Outcome{Verdict: Later, Words: words}
	}
	return Outcome{Verdict: Refused, Words: words}
}

// unlike is an answer that is none of the network's.
func unlike(status int) Outcome {
	if o := byStatus(status, http.StatusText(status)); o.Verdict != Taken && o.Verdict != Refused {
		return o
	}
	return Outcome{Verdict: Later, Words: "the answer is not the network's"}
}

// encode makes a request of JSON.
func encode(url string, body any) (Request, error) {
	text, err := json.Marshal(body)
	return Request{URL: url, Header: http.Header{"Content-Type": {"application/json"}}, Body: text}, err
}

// quantity is how many things were bought.
func (c Conversion) quantity() (n int64) {
	for _, item := range c.Items {
		n += item.Quantity
	}
	return n
}

// eventID is by which a network tells that it has an event already, also from the shop's own pixel: that of a purchase is the order's id.
func (c Conversion) eventID() string {
	if c.Type == Refund {
		return c.OrderID + ":refund"
	}
	return c.OrderID
}
