package dashboard

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Addresses of pages to which others lead. The first page is "/dashboard/".
const (
	loginPath       = "/dashboard/login"
	overviewPath    = "/dashboard/overview"
	ordersPath      = "/dashboard/orders"
	productsPath    = "/dashboard/products"
	pathsPath       = "/dashboard/paths"
	influencersPath = "/dashboard/influencers"
	influencerPath  = "/dashboard/influencer"
	reviewsPath     = "/dashboard/reviews"
	signsPath       = "/dashboard/signs"
	payoutsPath     = "/dashboard/payouts"
	statementsPath  = "/dashboard/statements"
	costsPath       = "/dashboard/costs"
	installPath     = "/dashboard/install"
	eventsPath      = "/dashboard/events"
	deliveryPath    = "/dashboard/delivery"
	keysPath        = "/dashboard/keys"
	settingsPath    = "/dashboard/settings"
	peoplePath      = "/dashboard/people"
	auditPath       = "/dashboard/audit"
)

// withValue is an address with one more parameter.
func withValue(address, name, value string) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + name + "=" + url.QueryEscape(value)
}

// storePath is the address of a page of a company, with more parameters in pairs
// of name and value; those with an empty value are left out.
func storePath(path, companyID string, more ...string) string {
	address := path + "?company=" + url.QueryEscape(companyID)
	var rest strings.Builder
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			rest.WriteString("&" + more[i] + "=" + url.QueryEscape(more[i+1]))
		}
	}
	return address + rest.String()
}

func orderPath(companyID, orderID string) string {
	return "/dashboard/order?" + url.Values{"company": {companyID}, "id": {orderID}}.Encode()
}

func dayPath(companyID, day string) string {
	q := url.Values{"company": {companyID}}
	if day != "" {
		q.Set("day", day)
	}
	return "/dashboard/?" + q.Encode()
}

// apiPath is where the store's platform calls an operation.
func apiPath(environment, operation string) string {
	base := "/admin/v1/"
	if environment == commerce.Sandbox {
		base = "/sandbox" + base
	}
	return fmt.Sprint(base, operation)
}

// localPath returns the page to show after the log-in: next where that is one of
// ours, else the first page. A link to the log-in must not lead to another site.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsAny(next, "\\\r\n") ||
		!strings.HasPrefix(next, "/dashboard/") || strings.HasPrefix(u.Path, "/dashboard/log") {
		return "/dashboard/"
	}
	return next
}
