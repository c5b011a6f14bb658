package attribution

import (
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// site is what a referrer's host, or a utm_source, is known as.
type site struct{ source, medium string }

// Mediums of a site, as Google Analytics names them.
const (
	mediumOrganic  = "organic"
	mediumSocial   = "social"
	mediumEmail    = "email"
	mediumReferral = "referral"
)

// sites has what is known of registrable domains: search engines, social networks and
// mail providers, chosen from the source categories of Google Analytics 4
// (support.google.com/analytics/answer/9756891) and from what Brazilian shops see.
// searchOnly says which parts of a search engine's domain are its search.
var sites = map[string]site{
	"bing.com": {"bing", mediumOrganic}, "duckduckgo.com": {"duckduckgo", mediumOrganic}, "ecosia.org": {"ecosia", mediumOrganic},
	"baidu.com": {"baidu", mediumOrganic}, "ask.com": {"ask", mediumOrganic}, "qwant.com": {"qwant", mediumOrganic},
	"brave.com":     {"brave", mediumOrganic},
	"startpage.com": {"startpage", mediumOrganic}, "naver.com": {"naver", mediumOrganic}, "seznam.cz": {"seznam", mediumOrganic},
	"sogou.com": {"sogou", mediumOrganic}, "so.com": {"so.com", mediumOrganic}, "aol.com": {"aol", mediumOrganic},
	"mojeek.com": {"mojeek", mediumOrganic},
	"kagi.com":   {"kagi", mediumOrganic}, "swisscows.com": {"swisscows", mediumOrganic}, "daum.net": {"daum", mediumOrganic},
	"coccoc.com": {"coccoc", mediumOrganic},

	"facebook.com": {"facebook", mediumSocial}, "fb.com": {"facebook", mediumSocial}, "fb.me": {"facebook", mediumSocial},
	"messenger.com": {"facebook", mediumSocial}, "m.me": {"facebook", mediumSocial},
	"instagram.com": {"instagram", mediumSocial}, "ig.me": {"instagram", mediumSocial}, "instagr.am": {"instagram", mediumSocial},
	"tiktok.com": {"tiktok", mediumSocial}, "twitter.com": {"twitter", mediumSocial}, "x.com": {"x", mediumSocial},
	"t.co":         {"t", mediumSocial},
	"linkedin.com": {"linkedin", mediumSocial}, "lnkd.in": {"lnkd", mediumSocial}, "pin.it": {"pinterest", mediumSocial},
	"youtube.com": {"youtube", mediumSocial}, "youtu.be": {"youtu", mediumSocial}, "whatsapp.com": {"whatsapp", mediumSocial},
	"wa.me":        {"wa", mediumSocial},
	"telegram.org": {"telegram", mediumSocial}, "telegram.me": {"telegram", mediumSocial}, "t.me": {"telegram", mediumSocial},
	"reddit.com": {"reddit", mediumSocial}, "redd.it": {"reddit", mediumSocial}, "kwai.com": {"kwai", mediumSocial},
	"kwai-video.com": {"kwai", mediumSocial},
	"threads.net":    {"threads", mediumSocial}, "threads.com": {"threads", mediumSocial}, "snapchat.com": {"snapchat", mediumSocial},
	"bsky.app": {"bluesky", mediumSocial}, "discord.com": {"discord", mediumSocial}, "twitch.tv": {"twitch", mediumSocial},
	"tumblr.com": {"tumblr", mediumSocial},
	"quora.com":  {"quora", mediumSocial}, "vk.com": {"vk", mediumSocial}, "weibo.com": {"weibo", mediumSocial},
	"vimeo.com": {"vimeo", mediumSocial}, "linktr.ee": {"linktree", mediumSocial},
	"ask.fm": {"ask.fm", mediumSocial}, "xing.com": {"xing", mediumSocial}, "line.me": {"line", mediumSocial},
	"plurk.com": {"plurk", mediumSocial}, "ok.ru": {"ok.ru", mediumSocial},
	"flickr.com": {"flickr", mediumSocial}, "livejournal.com": {"livejournal", mediumSocial}, "myspace.com": {"myspace", mediumSocial},
	"mastodon.social": {"mastodon", mediumSocial},

	"gmail.com": {"gmail.com", mediumEmail}, "outlook.com": {"outlook.com", mediumEmail}, "hotmail.com": {"hotmail.com", mediumEmail},
	"mail.ru": {"mail.ru", mediumEmail}, "proton.me": {"proton.me", mediumEmail}, "protonmail.com": {"protonmail.com", mediumEmail},
	"web.de": {"web.de", mediumEmail},
}

// manyCountries are the companies that have their name under the public suffixes of
// many countries: google.com.br, yahoo.co.jp.
var manyCountries = map[string]site{
	"google": {"google", mediumOrganic}, "yahoo": {"yahoo", mediumOrganic}, "yandex": {"yandex", mediumOrganic},
	"pinterest": {"pinterest", mediumSocial}, "gmx": {"gmx", mediumEmail},
}

// apps has what is known of Android apps, by package name: android-app://… is what
// their links' referrer says.
var apps = map[string]site{
	"com.google.android.gm": {"com.google.android.gm", mediumEmail}, "com.google.android.gm.lite": {"com.google.android.gm.lite", mediumEmail},
	"com.microsoft.office.outlook":            {"com.microsoft.office.outlook", mediumEmail},
	"com.yahoo.mobile.client.android.mail":    {"com.yahoo.mobile.client.android.mail", mediumEmail},
	"com.google.android.googlequicksearchbox": {"google", mediumOrganic}, "com.google.android.apps.searchlite": {"google", mediumOrganic},
	"com.instagram.android": {"instagram", mediumSocial}, "com.instagram.lite": {"instagram", mediumSocial},
	"com.instagram.barcelona": {"threads", mediumSocial},
	"com.facebook.katana":     {"facebook", mediumSocial}, "com.facebook.lite": {"facebook", mediumSocial},
	"com.facebook.orca": {"facebook", mediumSocial},
	"com.whatsapp":      {"whatsapp", mediumSocial}, "com.whatsapp.w4b": {"whatsapp", mediumSocial},
	"com.twitter.android":      {"twitter", mediumSocial},
	"com.zhiliaoapp.musically": {"tiktok", mediumSocial}, "com.ss.android.ugc.trill": {"tiktok", mediumSocial},
	"com.linkedin.android": {"linkedin", mediumSocial},
	"com.pinterest":        {"pinterest", mediumSocial}, "com.reddit.frontpage": {"reddit", mediumSocial},
	"com.google.android.youtube": {"youtube", mediumSocial},
	"org.telegram.messenger":     {"telegram", mediumSocial}, "com.kwai.video": {"kwai", mediumSocial},
	"com.snapchat.android": {"snapchat", mediumSocial},
}

// knownNames has what a utm_source without a dot is known as: the sources of the tables
// above, and what people write for them.
var knownNames = func() map[string]site {
	all := map[string]site{"fb": {"facebook", mediumSocial}, "ig": {"instagram", mediumSocial}, "insta": {"instagram", mediumSocial},
		"wpp": {"whatsapp", mediumSocial}}
	for _, table := range []map[string]site{sites, manyCountries} {
		for _, s := range table {
			if s.medium != mediumEmail && !strings.Contains(s.source, ".") {
				all[s.source] = s
			}
		}
	}
	return all
}()

// searchOnly are the parts of a search engine's domain that are its search:
// "br.search.yahoo.com", "images.google.com". The others are sites: "docs.google.com".
var searchOnly = []string{"search", "images", "image", "news", "busca", "buscar", "m", "r", "cse", "html", "lite", "web", "wap"}

// mailHosts are the parts of a host that say that it is a mail program.
var mailHosts = []string{"mail", "webmail", "email", "outlook", "inbox"}

// referrerSource returns the source and medium of a referrer's host, or of an app's
// package name: a search engine or a social network by its name, a mail program and
// any other site by its host.
func referrerSource(host string) (source, medium string) {
	if app, known := apps[host]; known {
		return app.source, app.medium
	}
	domain, labels, managed := registrable(host)
	if slices.ContainsFunc(labels, func(label string) bool { return slices.Contains(mailHosts, label) }) {
		return host, mediumEmail
	}
	known, found := sites[domain]
	if !found && managed {
		name, _, _ := strings.Cut(domain, ".")
		known, found = manyCountries[name]
	}
	switch {
	case !found:
		return host, mediumReferral
	case known.medium == mediumEmail:
		return host, mediumEmail
	case known.medium == mediumOrganic && len(labels) > 0 &&
		!slices.ContainsFunc(labels, func(label string) bool { return slices.Contains(searchOnly, label) }):
		return host, mediumReferral
	}
	return known.source, known.medium
}

// registrable returns the domain that a host's owner registered, by the public suffix
// list, and the labels before it without "www". managed is false where the host is a
// public suffix itself, or ends in none that a registry manages.
func registrable(host string) (domain string, labels []string, managed bool) {
	suffix, icann := publicsuffix.PublicSuffix(host)
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host, nil, false
	}
	if before := strings.TrimSuffix(strings.TrimSuffix(host, domain), "."); before != "" {
		labels = slices.DeleteFunc(strings.Split(before, "."), func(label string) bool { return label == "www" })
	}
	return domain, labels, icann || strings.Contains(suffix, ".")
}

// knownSource returns what a utm_source is known as: a name, such as "ig", or a host,
// such as "l.instagram.com". Some write a host without its suffix: "l.instagram".
func knownSource(source string) (s site, found bool) {
	source = bareHost(source)
	if s, found := knownNames[source]; found {
		return s, true
	}
	if !strings.Contains(source, ".") {
		return site{}, false
	}
	name, medium := referrerSource(source)
	if medium != mediumReferral {
		return site{name, medium}, true
	}
	if _, _, managed := registrable(source); !managed {
		s, found = knownNames[source[strings.LastIndexByte(source, '.')+1:]]
	}
	return s, found
}
