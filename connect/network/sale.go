package network

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/conversion"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// plan is what an account is to be told of an order.
type plan struct {
	skip       string    // commerce.Skip…: nothing, and why
	wait       time.Time // it is not known before then whether anything may be told; zero: it is known
	conversion conversion.Conversion
	value      commerce.Amount // that the account has of the order once it took this
	again      bool            // then more is to be told
}

// askedAgain is how long it is waited for events of an order whose buyer said nothing yet.
const askedAgain = 2 * time.Minute

// laterEvents is how many events of each of the buyer's browsers after the order are looked at. Where there are as many, nothing is told.
const laterEvents = 1000

// planOf decides what an account is told of an order as it is now; told is what it has of it.
func (s *Sender) planOf(ctx context.Context, to *target, orderID string, told commerce.ToldConversion) (p plan, err error) {
	p.skip = commerce.SkipNotSold
	err = s.deps.Facts.Sold(ctx, to.CompanyID, orderID, func(v caseload.View, o facts.Sold) (err error) {
		switch {
		case !o.Known:
			return nil
		case o.Erased:
			p.skip = commerce.SkipErased
			return nil
		case o.Erasing: // the order's person may be the one
			p.wait = s.now().Add(soon)
			return nil
		}
		if p.skip = p.change(to, &o, told); p.skip != "" {
			return nil
		}
		if p.conversion.Type == conversion.Refund {
			p.conversion.At = s.now()
		}
		if conversion.TooOld(conversion.Network(to.Kind), p.conversion, s.now()) {
			p.skip = commerce.SkipTooOld
			return nil
		}
		buyer, later, err := s.buyer(ctx, v, to.CompanyID, &o)
		if err != nil {
			return err
		}
		known := o.Order.CreatedAt.Add(attribution.KnownAfter)
		if yes, asked := agreed(to.Kind, buyer, later); !yes {
			switch p.skip = commerce.SkipNoConsent; {
			case asked:
			case s.now().Before(known): // the events may be on their way
				p.wait = commerce.Earlier(known, s.now().Add(askedAgain))
			case p.conversion.Type == conversion.Refund: // of a sale that was told: the events are not kept any more
				p.skip = commerce.SkipNobody
			default:
				p.skip = commerce.SkipNotAsked
			}
			return nil
		}
		p.describe(&o, buyer)
		return nil
	})
	return p, err
}

// buyer reads what the browsers did that are proven to be an order's buyer's, and what came of them later, up to now: the newest events
// of each.
func (s *Sender) buyer(ctx context.Context, v caseload.View, companyID string, o *facts.Sold) (b attribution.Buyer, later []facts.Event,
	err error) {
	x, err := s.index(ctx, v, companyID, o.RulesRev)
	if err != nil {
		return b, nil, err
	}
	if _, _, err = caseload.Each(ctx, v, companyID, x.Limits(), []string{o.Order.OrderID}, attribution.ClaimedEvents,
		func(c *facts.Case) bool { b = x.Buyer(c); return true }); err != nil {
		return b, nil, err
	}
	// Until a little later than now: clocks differ.
	after, err := v.EventsBetween(ctx, companyID, b.Visitors, o.Order.CreatedAt, s.now().Add(time.Hour), laterEvents)
	for _, events := range after {
		if len(events) >= laterEvents { // a "no" may be among those that are not read
			b = attribution.Buyer{}
		}
		later = append(later, events...)
	}
	return b, later, err
}

// change decides between a purchase and a refund, and says why neither is told. A purchase of which it is not known whether the network
// took it is told again as it was, where what was given back since can be told after it.
func (p *plan) change(to *target, o *facts.Sold, told commerce.ToldConversion) (skip string) {
	order := &o.Order
	sold := order.Status == commerce.OrderApproved && !order.Test.Or(false)
	total := commerce.Amount{Minor: order.TotalMinor, Currency: order.Currency}
	p.conversion.OrderID, p.conversion.At, p.value = order.OrderID, order.CreatedAt, total
	if !sold {
		p.value.Minor = 0
	}
	less := told.Value.Currency == total.Currency && p.value.Minor < told.Value.Minor
	switch {
	case !told.SentAt.IsZero() && !less:
		return commerce.SkipTold
	case !told.SentAt.IsZero():
		p.conversion.Type, p.conversion.Value = conversion.Refund, told.Value
		p.conversion.Value.Minor -= p.value.Minor
		p.conversion.Sold = conversion.Sold{At: order.CreatedAt, Left: p.value}
		return ""
	case !told.BegunAt.IsZero() && less && conversion.KnowsRefunds(conversion.Network(to.Kind)):
		p.value, p.again = told.Value, true
	case !sold:
		return commerce.SkipNotSold
	case !to.allOrders() && o.State != facts.PayoutEarned:
		return commerce.SkipUnproven
	}
	p.conversion.Type, p.conversion.Value = conversion.Purchase, p.value
	return ""
}

// describe adds what was bought, by whom, and by which clicks. A refund of a part names neither items nor shipping: what of them was given
// back is not known.
func (p *plan) describe(o *facts.Sold, buyer attribution.Buyer) {
	c, order := &p.conversion, &o.Order
	if c.Type == conversion.Purchase || c.Value.Minor == order.TotalMinor {
		for _, item := range order.Items.Or(nil) {
			c.Items = append(c.Items, itemOf(item))
		}
		c.Shipping, c.Tax = amountOf(order.ShippingMinor, order.Currency), amountOf(order.TaxMinor, order.Currency)
	}
	if codes := facts.OrderCodes(order); len(codes) > 0 {
		c.Coupon = codes[0]
	}
	if o.Personal != nil {
		c.Person = personOf(o.Personal)
	}
	for i := range buyer.Proven { // the newest first
		e := &buyer.Proven[i]
		p.clicksOf(e)
		if c.Person.UserAgent == "" {
			c.Person.UserAgent = e.Context.UserAgent
		}
		if c.PageURL == "" && (e.Event.Event == core.CheckoutCompleted || e.Event.Event == core.InitiateCheckout) {
			c.PageURL = pageOf(e.Context.Page.URL)
		}
	}
}

// clicksOf adds what an event, which is not newer than those before, has of networks' clicks.
func (p *plan) clicksOf(e *facts.Event) {
	c := &p.conversion.Clicks
	ids := e.Context.ClickIDs
	if e.Context.Page.URL != "" {
		_, found := core.ParseCampaign(e.Context.Page.URL)
		ids = map[string]string{}
		for _, id := range found {
			ids[id.Name] = id.Value
		}
	}
	if id := ids["fbclid"]; id != "" && (c.Meta == "" || c.Meta == id) { // when it was first seen
		c.Meta, c.MetaAt = id, e.At
	}
	for name, into := range map[string]*string{"gclid": &c.Google, "gbraid": &c.GoogleA, "wbraid": &c.GoogleW, "ttclid": &c.TikTok} {
		if *into == "" {
			*into = ids[name]
		}
	}
	networks := e.Context.NetworkIDs
	if c.Client == "" { // sessions of that browser, then
		c.Client, c.Sessions = networks[wire.NetworkIDGA], networks[wire.NetworkIDGASession]
	}
	c.MetaPage, c.TikTokPage = cmp.Or(c.MetaPage, networks[wire.NetworkIDFBP]), cmp.Or(c.TikTokPage, networks[wire.NetworkIDTTP])
}

// personOf is the shop's own words of who bought.
func personOf(n *wire.Personal) conversion.Person {
	customer := n.Customer.Or(wire.Customer{})
	country := customer.CountryCode.Or("")
	return conversion.Person{CustomerID: customer.CustomerID.Or(""), Email: customer.Email.Or(""),
		Phone: identity.NormalPhone(customer.Phone.Or(""), country), Name: customer.Name.Or(""), City: customer.City.Or(""),
		State: customer.ProvinceCode.Or(""), Zip: customer.Zip.Or(""), Country: country, Birthdate: customer.Birthdate.Or(""),
		IP: n.BrowserIP.Or(""), UserAgent: n.UserAgent.Or("")}
}

func itemOf(item wire.Item) conversion.Item {
	out := conversion.Item{ID: item.ProductID, Quantity: max(1, item.Quantity)}
	if item.VariantID != "" {
		out.ID = item.VariantID
	}
	if price, err := decimal.NewFromString(item.Price); err == nil {
		out.Price = json.Number(price.String())
	}
	return out
}

func amountOf(minor wire.Optional[int64], currency string) *commerce.Amount {
	if !minor.Valid {
		return nil
	}
	return &commerce.Amount{Minor: minor.Value, Currency: currency}
}

// pageOf is a page's address without what may be of a person; "" where it is not https.
func pageOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
}
