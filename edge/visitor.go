package edge

import (
	"net"
	"strings"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/publicsuffix"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/sdk/core"
)

// The server's visitor cookie (docs/wire.md, "Event (request)"). Browsers keep a
// cookie for 400 days at most (RFC 6265bis, 5.5).
const (
	visitorCookie    = "trb_vid"
	visitorCookieAge = 400 * 24 * 60 * 60 // seconds
)

// visitorID is the visitor's cookie, if an edge of this installation signed it: a
// cookie that a shopper's browser was made to send must not join the shopper to
// another. old says that the former hashing secret signed it.
func (s *Server) visitorID(ctx *fasthttp.RequestCtx) (id string, old bool) {
	signed := ctx.Request.Header.Cookie(visitorCookie)
	if len(signed) == 0 {
		return "", false
	}
	id, old, ok := s.signer.Verify(identity.SignedCookie, string(signed))
	if !ok || !core.ValidUUIDv7(id) {
		return "", false
	}
	return id, old
}

// newVisitorID sets a new visitor cookie and returns the visitor's id.
func (s *Server) newVisitorID(ctx *fasthttp.RequestCtx) string {
	id := s.deps.NewID()
	s.setCookie(ctx, id)
	return id
}

func (s *Server) setCookie(ctx *fasthttp.RequestCtx, id string) {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	cookie.SetKey(visitorCookie)
	cookie.SetValue(s.signer.Sign(identity.SignedCookie, id))
	cookie.SetPath("/")
	cookie.SetMaxAge(visitorCookieAge)
	cookie.SetHTTPOnly(true)
	cookie.SetSecure(true)
	cookie.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	ctx.Response.Header.SetCookie(cookie)
}

// fromSameSite tells whether the page that sends the request is on the edge's
// own site: only then is its cookie first-party.
func fromSameSite(ctx *fasthttp.RequestCtx) bool {
	switch string(ctx.Request.Header.Peek("Sec-Fetch-Site")) {
	case "same-origin", "same-site":
		return true
	case "cross-site", "none":
		return false
	}
	origin := string(ctx.Request.Header.Peek("Origin"))
	_, host, found := strings.Cut(origin, "://")
	return found && sameSite(host, string(ctx.Host()))
}

// fromForeignFrame tells whether the browser says that the page which sends the
// request is in a frame of a page of another site: to a server of the frame's own
// site, it says how far the frame may use its cookies only then.
func fromForeignFrame(h *fasthttp.RequestHeader) bool {
	switch string(h.Peek("Sec-Fetch-Site")) {
	case "same-origin", "same-site":
		return len(h.Peek("Sec-Fetch-Storage-Access")) > 0
	}
	return false
}

// sameSite tells whether two hosts, with ports or without, share a registrable
// domain, or are the same address.
func sameSite(a, b string) bool {
	a, b = hostname(a), hostname(b)
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	siteA, errA := publicsuffix.EffectiveTLDPlusOne(a)
	siteB, errB := publicsuffix.EffectiveTLDPlusOne(b)
	return errA == nil && errB == nil && siteA == siteB && net.ParseIP(a) == nil
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// privacySignal tells whether the browser sends Global Privacy Control or Do Not Track.
func privacySignal(h *fasthttp.RequestHeader) bool {
	return string(h.Peek("Sec-GPC")) == "1" || string(h.Peek("DNT")) == "1"
}
