package edge

import (
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/sdk/core"
)

// The server's visitor cookie (docs/notes/wire.md, "Cookies and click ids"). Browsers keep a
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
	writeCookie(ctx, s.signer.Sign(identity.SignedCookie, id), func(c *fasthttp.Cookie) { c.SetMaxAge(visitorCookieAge) })
}

// expireCookie makes the browser forget the visitor's cookie.
func (s *Server) expireCookie(ctx *fasthttp.RequestCtx) {
	writeCookie(ctx, "", func(c *fasthttp.Cookie) { c.SetExpire(fasthttp.CookieExpireDelete) })
}

func writeCookie(ctx *fasthttp.RequestCtx, value string, last func(c *fasthttp.Cookie)) {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	cookie.SetKey(visitorCookie)
	cookie.SetValue(value)
	cookie.SetPath("/")
	last(cookie)
	cookie.SetHTTPOnly(true)
	cookie.SetSecure(true)
	cookie.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	ctx.Response.Header.SetCookie(cookie)
}

// sameSite tells whether two hosts, with ports or without, are of one site.
func sameSite(a, b string) bool { return publichost.SameSite(hostname(a), hostname(b)) }

func hostname(host string) string {
	if strings.Contains(host, ":") { // or SplitHostPort makes an error
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
