package dev

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/dev/demo"
)

// print prints what a new user needs, once everything is ready; from the second start on
// the addresses, keys and links only, which fit a screen.
func (p *program) print(sale demo.Sale) {
	i, postgres := p.info, "TRIBUTARY_POSTGRES below"
	if p.known {
		postgres = "see dev.json"
	}
	fmt.Fprintf(p.Out, `
Tributary is running. Ctrl-C stops it; the data stays in %s.

  Storefront   %s
  Dashboard    %s
               log in as %s with the password %s
  Admin API    %s    sandbox: %s
  Edge         %s    short links: %s/…
  Kafka        %s    PostgreSQL: %s

  companyId    %s    sandbox: %s
  API key      %s
               %s (sandbox)
`, p.Dir, i.StorefrontURL, i.DashboardURL, i.DashboardEmail, i.DashboardPassword, i.AdminURL, i.SandboxURL,
		i.EdgeURL, i.ShortURL, i.Kafka, postgres, i.CompanyID, i.SandboxCompanyID, i.APIKey, i.SandboxAPIKey)
	p.printFakeShop()
	if p.known {
		p.printLinks(sale)
		fmt.Fprintf(p.Out, "\nAll of this is in %s too, for programs. The curl lines and exports again:\n  %s dev --show --data %s\n",
			p.infoFile(), p.Program, p.Dir)
		return
	}
	fmt.Fprintf(p.Out, `
  In dev, links may name hosts that do not resolve, and a link to
  https://%s leads to the demo shop.
`, demo.Host)
	coupon := ""
	if sale.OrderID != "" {
		coupon = `,"discountCode":"ANA10"`
		p.printSale(sale)
	}
	order := fmt.Sprintf(`{"orderId":"1001","orderStatus":0,"createdAt":"%s","totalPrice":200.00,"currency":"BRL"%s}`,
		time.Now().UTC().Format("2006-01-02T15:04:05Z"), coupon)
	// The values are all made by dev: none has a quote.
	fmt.Fprintf(p.Out, `
For a shell of yours, to paste:

export EDGE_URL=%s
export ADMIN_URL=%s
export SANDBOX_URL=%s
export COMPANY_ID=%s
export API_KEY=%s
export TRIBUTARY_POSTGRES='%s'
export TRIBUTARY_HASHING_SECRET=%s
`, i.EdgeURL, i.AdminURL, i.SandboxURL, i.CompanyID, i.APIKey, i.Postgres, p.secrets.Hashing)
	fmt.Fprintf(p.Out, `
Post an order, as your platform would:

curl -sS -X POST %s/order -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'

A moment later, see who gets the credit, and why:

curl -sS %s/order/1001/attribution -H 'Authorization: Bearer %s'

`, i.AdminURL, i.APIKey, order, i.AdminURL, i.APIKey)
}

func (p *program) printLinks(sale demo.Sale) {
	var links strings.Builder
	for _, l := range sale.Links {
		fmt.Fprintf(&links, "  %s    %s\n", l.URL, strings.TrimSuffix(l.Influencer+" / "+l.Campaign, " / "))
	}
	if links.Len() > 0 {
		fmt.Fprintf(p.Out, "\nShort links, to open and buy something:\n\n%s", links.String())
	}
}

func (p *program) printSale(sale demo.Sale) {
	p.printLinks(sale)
	if sale.Influencer == "" {
		fmt.Fprintf(p.Out, "\nThe demo sale %s is not credited to anyone.\n", sale.OrderID)
		return
	}
	fmt.Fprintf(p.Out, "\nA sale, attributed: order %s of %s is credited to %s (%s) by its %s;\nthe commission is %s.\n",
		sale.OrderID, sale.Total, sale.Influencer, sale.Campaign, sale.Evidence, sale.Commission)
}

// printFakeShop tells how the fake shop is connected.
func (p *program) printFakeShop() {
	fake := p.FakeShop
	if fake == nil {
		return
	}
	fmt.Fprintf(p.Out, `
  Fake shop    %s (%s, made from its documentation; its orders end with dev)
               its admin, to refund and deliver: %s/shop-admin
               connect it on the dashboard: %s/shops
`, fake.URL, fake.Platform, fake.URL, p.info.DashboardURL)
	for _, name := range slices.Sorted(maps.Keys(fake.Keys)) {
		fmt.Fprintf(p.Out, "               %s: %s\n", name, fake.Keys[name])
	}
}
