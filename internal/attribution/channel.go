package attribution

import (
	"net/url"
	"slices"
	"strings"
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

// searchSources are the names of search engines, as a host or utm_source has them.
var searchSources = []string{"google", "bing", "yahoo", "duckduckgo", "ecosia", "baidu", "yandex", "ask", "qwant", "brave"}

// socialSources are the names of social networks, as a host or utm_source has them.
var socialSources = []string{
	"facebook", "fb", "instagram", "ig", "tiktok", "twitter", "x", "t", "linkedin", "lnkd", "pinterest", "youtube",
	"youtu", "whatsapp", "wa", "telegram", "reddit", "kwai", "threads", "snapchat", "l.instagram", "l.facebook", "lm.facebook",
}

// notArrivals are the hosts of payment and sign-in pages. A shopper who comes back
// from one has not arrived again (docs/attribution.md, "Touches").
var notArrivals = []string{
	"accounts.google.com", "appleid.apple.com", "login.microsoftonline.com", "login.live.com", "login.yahoo.com",
	"paypal.com", "mercadopago.com", "mercadopago.com.br", "mercadolivre.com.br", "pagseguro.uol.com.br", "pagseguro.com.br", "pagbank.com.br",
	"checkout.stripe.com", "hooks.stripe.com", "js.stripe.com", "pay.google.com", "pay.amazon.com", "payments.amazon.com", "checkout.shopify.com", "shop.app",
	"adyen.com", "klarna.com", "cielo.com.br", "userede.com.br", "getnet.com.br", "pagar.me", "iugu.com", "picpay.com", "ebanx.com", "pay.ebanx.com",
	"checkout.yampi.com.br", "seguro.yampi.com.br", "cartpanda.com", "appmax.com.br", "3dsecure.io", "cardinalcommerce.com",
}

// foreignHost returns the referrer's host where it is another site, and "" where it is
// the page's own host, one of the store's hosts, or one of notArrivals.
func (x *Index) foreignHost(referrer, pageHost string) string {
	if referrer == "" {
		return ""
	}
	u, err := url.Parse(referrer)
	if err != nil {
		return ""
	}
	host := bareHost(u.Hostname())
	if u.Scheme == "android-app" {
		return strings.ToLower(u.Host) // an app's package name
	}
	if host == "" || host == bareHost(pageHost) {
		return ""
	}
	within := func(parent string) bool { return host == parent || strings.HasSuffix(host, "."+parent) }
	if slices.ContainsFunc(x.hosts, within) || slices.ContainsFunc(notArrivals, within) {
		return ""
	}
	return host
}

// bareHost returns a host in lower case, without "www." and a final dot.
func bareHost(host string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(host), "."), "www.")
}

// referrerSource returns the source and medium of a referrer's host, as Google
// Analytics does: a search engine or a social network by its name, any other site by
// its host.
func referrerSource(host string) (source, medium string) {
	if strings.HasPrefix(host, "mail.") || strings.HasPrefix(host, "outlook.") {
		return host, "email"
	}
	for _, label := range strings.Split(host, ".") {
		if slices.Contains(searchSources, label) {
			return label, "organic"
		}
	}
	switch host {
	case "x.com", "mobile.x.com":
		return "x", "social"
	case "t.co":
		return "t", "social"
	}
	labels := strings.Split(host, ".")
	for _, label := range labels[:len(labels)-1] {
		if len(label) > 1 && slices.Contains(socialSources, label) { // any site may have a label "t" or "x"
			return label, "social"
		}
	}
	return host, "referral"
}

// channelOf returns the channel of a source and a medium.
func channelOf(source, medium string) string {
	source, medium = strings.ToLower(strings.TrimSpace(source)), strings.ToLower(strings.TrimSpace(medium))
	is := func(text string, list ...string) bool { return slices.Contains(list, text) }
	social, search := slices.Contains(socialSources, bareName(source)), slices.Contains(searchSources, bareName(source))
	paid := strings.Contains(medium, "cp") || medium == "ppc" || medium == "retargeting" || strings.HasPrefix(medium, "paid")
	switch {
	case (source == "" || source == "direct" || source == "(direct)") && is(medium, "", "none", "(none)"):
		return ChannelDirect
	case is(medium, "display", "banner", "expandable", "interstitial", "cpm"):
		return ChannelDisplay
	case is(medium, "affiliate", "affiliates"):
		return ChannelAffiliates
	case is(source, "email", "e-mail", "e_mail", "newsletter") || is(medium, "email", "e-mail", "e_mail", "newsletter"):
		return ChannelEmail
	case paid && social || medium == "paid_social":
		return ChannelPaidSocial
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

// bareName returns the name in a source, such as "instagram" for
// "www.instagram.com". A host with one letter before its first dot, such as
// "t.example.org", is returned whole, except x.com and t.co.
func bareName(source string) string {
	source = bareHost(source)
	if i := strings.IndexByte(source, '.'); i == 1 && source != "x.com" && source != "t.co" {
		return source
	}
	if i := strings.IndexByte(source, '.'); i > 0 {
		return source[:i]
	}
	return source
}
