package attribution

import (
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

func TestEachClickIDHasAChannel(t *testing.T) {
	known := map[string]bool{}
	for _, name := range core.ClickIDs() {
		known[name] = true
		if ad, found := adClicks[name]; name != core.TrbClick && (!found || channelOf(ad.source, ad.medium) == ChannelOther) {
			t.Errorf("%s has no channel", name)
		}
	}
	for name := range adClicks {
		if !known[name] {
			t.Errorf("%s has a channel, and no event carries it", name)
		}
	}
}

// docs/attribution.md, "Touches", "Channel".
func TestChannels(t *testing.T) {
	f := func(source, medium, want string) {
		t.Helper()
		if got := channelOf(source, medium); got != want {
			t.Errorf("%s / %s is %s, want %s", source, medium, got, want)
		}
	}
	f("", "", ChannelOther) // a touch without any evidence is not asked about
	f("", "(none)", ChannelDirect)
	f("(direct)", "(none)", ChannelDirect)
	f("direct", "none", ChannelDirect)
	f("google", "none", ChannelOrganicSearch)
	f("direct", "email", ChannelEmail)
	f("google", "organic", ChannelOrganicSearch)
	f("blog.example.org", "organic", ChannelOrganicSearch)
	f(" Google ", "CPC", ChannelPaidSearch)
	f("google", "ppc", ChannelPaidSearch)
	f("google", "retargeting", ChannelPaidSearch)
	f("google", "paidsearch", ChannelPaidSearch)
	f("x.example.org", "cpc", ChannelPaidSearch)
	f("x.example.org", "ppc", ChannelOther)
	f("facebook", "cpc", ChannelPaidSocial)
	f("facebook", "paid", ChannelPaidSocial)
	f("tiktok", "paid_social", ChannelPaidSocial)
	f("a.example.org", "paid_social", ChannelPaidSocial)
	f("instagram", "", ChannelOrganicSocial)
	f("www.instagram.com", "referral", ChannelOrganicSocial)
	f("l.instagram", "referral", ChannelOrganicSocial)
	f("influencer", "social", ChannelOrganicSocial)
	f("x", "", ChannelOrganicSocial)
	f("x.com", "", ChannelOrganicSocial)
	f("t.co", "", ChannelOrganicSocial)
	f("t.example.org", "", ChannelOther)
	f("news", "email", ChannelEmail)
	f("newsletter", "", ChannelEmail)
	f("blog.example.org", "referral", ChannelReferral)
	f("x", "affiliate", ChannelAffiliates)
	f("google", "display", ChannelDisplay)
	f("google", "cpm", ChannelDisplay)
	f("facebook", "cpm", ChannelPaidSocial)
	f("m.facebook.com", "cpm", ChannelPaidSocial)
	f("afiliados", "cpa", ChannelAffiliates)
	f("Programa-Afiliados", "cpa", ChannelAffiliates)
	f("lomadee", "afiliado", ChannelAffiliates)
	f("blog-de-afiliados.com.br", "referral", ChannelReferral)
	f("l.instagram.com", "", ChannelOrganicSocial)
	f("l.instagram.com", "cpc", ChannelPaidSocial)
	f("ig", "stories", ChannelOrganicSocial)
	f("ig.com.br", "", ChannelOther)
	f("ig.com.br", "referral", ChannelReferral)
	f("google.com.br", "", ChannelOrganicSearch)
	f("google.com.br", "cpc", ChannelPaidSearch)
	f("docs.google.com", "referral", ChannelReferral)
	f("mail.google.com", "", ChannelEmail)
	f("br.mail.yahoo.com", "referral", ChannelEmail)
	f("com.google.android.gm", "", ChannelEmail)
	f("facebook.example.org", "", ChannelOther) // a label of somebody's own domain
	f("qr", "poster", ChannelOther)
	f("qr", "", ChannelOther)
}

func TestReferrersHaveTheirSource(t *testing.T) {
	f := func(host, source, medium string) {
		t.Helper()
		if gotSource, gotMedium := referrerSource(host); gotSource != source || gotMedium != medium {
			t.Errorf("%s is %s / %s, want %s / %s", host, gotSource, gotMedium, source, medium)
		}
	}
	f("google.com.br", "google", "organic")
	f("br.search.yahoo.com", "yahoo", "organic")
	f("google.co.uk", "google", "organic")
	f("images.google.com", "google", "organic")
	f("docs.google.com", "docs.google.com", "referral")
	f("google.com.evil.example.org", "google.com.evil.example.org", "referral")
	f("google", "google", "referral") // a host of an own network
	f("google.localhost", "google.localhost", "referral")
	f("yahoo.com", "yahoo", "organic")
	f("br.noticias.yahoo.com", "br.noticias.yahoo.com", "referral")
	f("br.mail.yahoo.com", "br.mail.yahoo.com", "email")
	f("ig.com.br", "ig.com.br", "referral")
	f("blog.ig.com.br", "blog.ig.com.br", "referral")
	f("com.br", "com.br", "referral") // a public suffix
	f("br.pinterest.com", "pinterest", "social")
	f("pinterest.pt", "pinterest", "social")
	f("web.whatsapp.com", "whatsapp", "social")
	f("com.google.android.gm", "com.google.android.gm", "email")
	f("com.instagram.android", "instagram", "social")
	f("com.google.android.googlequicksearchbox", "google", "organic")
	f("com.example.app", "com.example.app", "referral")
	f("gmail.com", "gmail.com", "email")
	f("webmail.example.com.br", "webmail.example.com.br", "email")
	f("instagram.example.org", "instagram.example.org", "referral") // a label of somebody's own domain
	f("mail.google.com", "mail.google.com", "email")
	f("outlook.live.com", "outlook.live.com", "email")
	f("mailing.example.org", "mailing.example.org", "referral")
	f("m.facebook.com", "facebook", "social")
	f("l.instagram.com", "instagram", "social")
	f("youtu.be", "youtu", "social")
	f("ask.fm", "ask.fm", "social")
	f("www.ask.com", "ask", "organic") // another company
	f("pt.xing.com", "xing", "social")
	f("wa.me", "wa", "social")
	f("x.com", "x", "social")
	f("mobile.x.com", "x", "social")
	f("t.co", "t", "social")
	f("t.example.org", "t.example.org", "referral")
	f("example.tiktok", "example.tiktok", "referral") // the last label is no name
	f("blog.example.org", "blog.example.org", "referral")
}

func TestForeignHosts(t *testing.T) {
	x := testIndex(nil) // its own host is loja.example.com
	f := func(referrer, page, want string) {
		t.Helper()
		settings := &facts.Settings{PassingHosts: []string{"pay.example.org", "-hotmart.com"}}
		if got := x.foreignHost(settings, addressOf(&wire.Context{Page: wire.Page{URL: page, Referrer: referrer}})); got != want {
			t.Errorf("%q on %q: %q, want %q", referrer, page, got, want)
		}
	}
	f("", "", "")
	f("://", "", "")
	f("https://WWW.Blog.Example.org.:8443/x", "", "blog.example.org")
	f("https://blog.example.org/", "https://www.blog.example.org/", "") // the page's own
	f("https://loja.example.com/", "https://checkout.example/", "")
	f("https://sub.loja.example.com/", "", "")
	f("https://malloja.example.com/", "", "malloja.example.com")
	f("https://www.paypal.com/", "", "")
	f("https://notpaypal.com/", "", "notpaypal.com")
	f("https://www.pay.example.org/x", "", "")
	f("https://hotmart.com/", "", "hotmart.com")
	f("android-app://com.Instagram.android/", "", "com.instagram.android")
	f("about:blank", "", "")
	f("https://blog.example.org/50%?q=%", "", "blog.example.org")
	f("https://user:50%@blog.example.org/", "", "") // no host can be read
	f("https://blog.example.org#50%", "", "blog.example.org")
}
