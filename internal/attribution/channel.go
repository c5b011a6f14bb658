package attribution

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Channels of touches that belong to no influencer. Names and rules follow the
// default channel group of Google Analytics 4, shortened
// (support.google.com/analytics/answer/9756891).
const (
	ChannelDirect        = "Direct"
	ChannelOrganicSearch = "Organic Search"
	ChannelPaidSearch    = "Paid Search"
	ChannelOrganicSocial = "Organic Social"
	ChannelPaidSocial    = "Paid Social"
	ChannelEmail         = "Email"
	ChannelReferral      = "Referral"
	ChannelAffiliates    = "Affiliates"
	ChannelDisplay       = "Display"
	ChannelOther         = "Other"
	ChannelMarketplace   = "marketplace"  // orders with source 1
	Unattributed         = "unattributed" // orders without any touch
)

// CouponChannel stands before an influencer's name in the channel of orders that are known by the influencer's coupon
// alone: they have no touch.
const CouponChannel = "coupon:"

// IsUntouched reports whether a channel is one of orders without a touch: no journey led to them.
func IsUntouched(channel string) bool {
	return channel == ChannelMarketplace || channel == Unattributed || strings.HasPrefix(channel, CouponChannel)
}

// adClicks has the source and medium of each ad network's click id. fbclid is social,
// not paid: Facebook and Instagram add it to every link. A test compares the names
// with core.ClickIDs.
var adClicks = map[string]struct{ source, medium string }{
	"gclid":     {"google", "cpc"},
	"gbraid":    {"google", "cpc"},
	"wbraid":    {"google", "cpc"},
	"dclid":     {"google", "display"},
	"msclkid":   {"bing", "cpc"},
	"yclid":     {"yandex", "cpc"},
	"fbclid":    {"facebook", "social"},
	"ttclid":    {"tiktok", "paid_social"},
	"twclid":    {"twitter", "paid_social"},
	"li_fat_id": {"linkedin", "paid_social"},
	"ScCid":     {"snapchat", "paid_social"},
	"epik":      {"pinterest", "paid_social"},
	"rdt_cid":   {"reddit", "paid_social"},
}

// foreignHost returns the referrer's host where it is another site, and "" where it is
// the page's own host, one of the store's hosts, or one through which a shopper passes
// (commerce.Passing).
func (x *Index) foreignHost(settings *facts.Settings, a *facts.Address) string {
	host := a.Referrer
	if a.FromApp || host == "" {
		return host
	}
	if host == a.Host {
		return ""
	}
	within := func(parent string) bool { return host == parent || strings.HasSuffix(host, "."+parent) }
	if slices.ContainsFunc(x.hosts, within) || commerce.Passing(host, settings.PassingHosts) {
		return ""
	}
	return host
}

// SiteOf returns a URL's scheme, and its host in lower case, without "www.", a final dot and a port. What stands
// behind the host is not looked at: a bare "%" there makes no URL another one.
func SiteOf(address string) (scheme, host string) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return "", ""
	}
	if end := strings.IndexAny(rest, "/?#\\"); end >= 0 {
		rest = rest[:end]
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return "", ""
	}
	return u.Scheme, bareHost(u.Hostname())
}

// bareHost returns a host in lower case, without "www." and a final dot.
func bareHost(host string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(host), "."), "www.")
}

// channelOf returns the channel of the source and medium of a touch that has evidence.
func channelOf(source, medium string) string {
	source, medium = strings.ToLower(strings.TrimSpace(source)), strings.ToLower(strings.TrimSpace(medium))
	is := func(text string, list ...string) bool { return slices.Contains(list, text) }
	known, _ := knownSource(source)
	social, search := known.medium == mediumSocial, known.medium == mediumOrganic
	paid := strings.Contains(medium, "cp") || medium == "ppc" || medium == "retargeting" || strings.HasPrefix(medium, "paid")
	switch {
	case source == "" && medium == "":
		return ChannelOther
	case is(source, "", "direct", "(direct)") && is(medium, "", "none", "(none)"):
		return ChannelDirect
	case isAffiliate(medium) || isAffiliate(source) && medium != mediumReferral:
		return ChannelAffiliates
	case paid && social || medium == "paid_social":
		return ChannelPaidSocial
	case is(medium, "display", "banner", "expandable", "interstitial", "cpm"):
		return ChannelDisplay
	case is(source, "email", "e-mail", "e_mail", "newsletter") || is(medium, "email", "e-mail", "e_mail", "newsletter") ||
		known.medium == mediumEmail:
		return ChannelEmail
	case paid && search:
		return ChannelPaidSearch
	case paid && medium == "cpc":
		return ChannelPaidSearch
	case social || is(medium, "social", "social-network", "social-media", "sm", "social network", "social media"):
		return ChannelOrganicSocial
	case search || medium == "organic":
		return ChannelOrganicSearch
	case is(medium, "referral", "app", "link"):
		return ChannelReferral
	}
	return ChannelOther
}

// isAffiliate reports whether a source or a medium says so, in English or Portuguese:
// "affiliates", "afiliado", "programa-afiliados".
func isAffiliate(text string) bool {
	return strings.Contains(text, "affiliate") || strings.Contains(text, "afiliad")
}
