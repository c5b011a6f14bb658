package site

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Addresses of pages to which others lead. The first page is "/dashboard/".
const (
	LoginPath       = "/dashboard/login"
	OverviewPath    = "/dashboard/overview"
	OrdersPath      = "/dashboard/orders"
	ProductsPath    = "/dashboard/products"
	PrivacyPath     = "/dashboard/privacy"
	CouponsPath     = "/dashboard/coupons"
	PathsPath       = "/dashboard/paths"
	InfluencersPath = "/dashboard/influencers"
	InfluencerPath  = "/dashboard/influencer"
	ReviewsPath     = "/dashboard/reviews"
	SignsPath       = "/dashboard/signs"
	PayoutsPath     = "/dashboard/payouts"
	StatementsPath  = "/dashboard/statements"
	StatementPath   = "/dashboard/statement" // statementlink.Path begins with it, and has a token after it
	CostsPath       = "/dashboard/costs"
	InstallPath     = "/dashboard/install"
	ShopsPath       = "/dashboard/shops"
	ShopPath        = "/dashboard/shops/shop"
	ConnectPath     = "/dashboard/shops/connect"
	WebhooksPath    = "/dashboard/webhooks"
	WebhookPath     = "/dashboard/webhooks/endpoint"
	ConversionsPath = "/dashboard/conversions"
	ConversionPath  = "/dashboard/conversions/account"
	MailsPath       = "/dashboard/mails"
	EventsPath      = "/dashboard/events"
	DeliveryPath    = "/dashboard/delivery"
	KeysPath        = "/dashboard/keys"
	SettingsPath    = "/dashboard/settings"
	PeoplePath      = "/dashboard/people"
	AuditPath       = "/dashboard/audit"
)

// WithValue is an address with one more parameter.
func WithValue(address, name, value string) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + name + "=" + url.QueryEscape(value)
}

// StorePath is the address of a page of a company, with more parameters in pairs
// of name and value; those with an empty value are left out.
func StorePath(path, companyID string, more ...string) string {
	address := path + "?company=" + url.QueryEscape(companyID)
	var rest strings.Builder
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			rest.WriteString("&" + more[i] + "=" + url.QueryEscape(more[i+1]))
		}
	}
	return address + rest.String()
}

// OrderPath is the address of an order's page.
func OrderPath(companyID, orderID string) string {
	return "/dashboard/order?" + url.Values{"company": {companyID}, "id": {orderID}}.Encode()
}

// DayPath is the address of a day's page; without a day, of today's.
func DayPath(companyID, day string) string {
	q := url.Values{"company": {companyID}}
	if day != "" {
		q.Set("day", day)
	}
	return "/dashboard/?" + q.Encode()
}

// APIPath is where the store's platform calls an operation.
func APIPath(environment, operation string) string {
	base := "/admin/v1/"
	if environment == commerce.Sandbox {
		base = "/sandbox" + base
	}
	return fmt.Sprint(base, operation)
}

// LocalPath returns the page to show after the log-in: next where that is one of
// ours, else the first page. A link to the log-in must not lead to another site.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsAny(next, "\\\r\n") ||
		!strings.HasPrefix(next, "/dashboard/") || strings.HasPrefix(u.Path, "/dashboard/log") {
		return "/dashboard/"
	}
	return next
}
