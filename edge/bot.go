package edge

import (
	"strings"

	"github.com/mileusna/useragent"

	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/wire"
)

// previewers fetch a link to draw its card in a chat or feed. The in-app
// browsers of the same companies have other names: their users are people.
var previewers = []string{
	"facebookexternalhit", "facebookcatalog", "meta-externalfetcher", "twitterbot", "linkedinbot", "slackbot", "slack-imgproxy",
	"discordbot", "telegrambot", "skypeuripreview", "pinterestbot", "redditbot", "embedly", "iframely", "vkshare",
	"viber", "line-poker", "mastodon/", "bluesky cardyb", "google-pagerenderer", "snap url preview", "whatsapp/",
	"signal-android/", "signal-ios/", "signal-desktop/", "ms-office", "msoffice", "safelinks",
	"bingpreview", "microsoftpreview", "google web preview", "yahoo link preview", "snapurlpreview", "blueskypreviewbot", "facebot",
}

// crawlers are names that useragent's list lacks: of what reads shops' pages, chosen
// from github.com/monperrus/crawler-user-agents 1.67.0. That list itself also names
// in-app browsers and the HTTP libraries by which a shop's own programs speak.
var crawlers = []string{
	"googleother", "storebot-google", "google-inspectiontool", "adsbot-google", "apis-google", "mediapartners-google", "feedfetcher-google",
	"google-read-aloud", "google-site-verification", "google-safety", "googleproducer", "google-agent", "googleagent-", "google favicon",
	"google-adwords", "google-structured-data", "adidxbot", "slurp", "duckduckbot", "duckassistbot", "yandex.com/bots", "baiduspider",
	"mojeekbot", "seznambot",
	"coccocbot", "criteobot", "tiktokspider", "facebookbot", "meta-webindexer", "meta-externalads", "claude-user",
	"claude-searchbot", "claude-web",
	"anthropic-ai", "perplexity-user", "cohere-ai", "mistralai-user", "archive.org_bot", "ia_archiver", "heritrix", "turnitin", "brightedge",
	"screaming frog", "sitebulb", "semrush", "ahrefs", "mj12bot", "dotbot", "rogerbot", "serpstatbot", "seokicks", "sistrix", "xenu link",
	"deepcrawl", "oncrawl",
	"botify", "siteaudit", "gtmetrix", "dareboost", "site24x7", "checkly", "newrelicsynthetics", "datadogsynthetics", "ptst/",
	"uptime-kuma", "better uptime",
	"freshpingbot", "hetrixtools", "virustotal", "censysinspect", "zgrab", "masscan", "nikto", "sqlmap", "wpscan", "nmap scripting",
	"scrapy", "phantomjs",
	"curl/", "wget/", "httpie/", "libwww-perl", "datafeedwatch", "productsup",
	"gptbot", "oai-searchbot", "chatgpt-user", "claudebot", "perplexitybot", "ccbot", "bytespider", "amazonbot", "petalbot",
	"dataforseobot", "applebot", "uptimerobot", "pingdom", "statuscake", "lighthouse", "meta-externalagent", "google-extended",
}

// bots tells people from programs by their User-Agent, and remembers its answers. Safe for
// concurrent use.
type bots struct{ known agent.Answers[wire.Bot] }

func newBots() *bots { return &bots{} }

func (b *bots) kind(userAgent string) wire.Bot {
	if userAgent == "" {
		return wire.BotNone // a backend need not send one
	}
	return b.known.Of(userAgent, classifyAgent)
}

// kindAtLink is kind of what opens a short link. People open one in a browser, also inside
// an app: its User-Agent begins as every browser's does. All else is a program: an HTTP
// library, a scanner of links in mails, a preview.
func (b *bots) kindAtLink(userAgent string) wire.Bot {
	kind := b.kind(userAgent)
	if kind == wire.BotNone && !strings.HasPrefix(userAgent, "Mozilla/") && !strings.HasPrefix(userAgent, "Opera/") {
		return wire.BotKnown
	}
	return kind
}

func classifyAgent(agent string) wire.Bot {
	lower := strings.ToLower(agent)
	for _, name := range previewers {
		// The previewer's name begins with "WhatsApp/2.23"; an in-app browser's holds it later.
		if name == "whatsapp/" && !strings.HasPrefix(lower, name) {
			continue
		}
		if strings.Contains(lower, name) {
			return wire.BotPreview
		}
	}
	for _, name := range crawlers {
		if strings.Contains(lower, name) {
			return wire.BotKnown
		}
	}
	// A headless Chrome does not say what it is for: a store's own tests use one
	// too. Only what names itself a crawler is left out of attribution.
	if parsed := useragent.Parse(agent); parsed.Bot && parsed.Name != useragent.HeadlessChrome {
		return wire.BotKnown
	}
	return wire.BotNone
}
