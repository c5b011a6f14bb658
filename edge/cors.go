package edge

import (
	"net/http"

	"github.com/valyala/fasthttp"
)

// preflightAge is how long a browser may keep a preflight's answer. Chromium
// keeps none longer.
const preflightAge = "7200" // seconds

// allowOrigin lets the page read the answer if any company lists its origin.
// findCompany checks which company's events the page may send.
func (s *Server) allowOrigin(ctx *fasthttp.RequestCtx) (allowed bool) {
	setHeader(ctx, headerVary, varyOrigin)
	origin := string(requestOf(ctx).headers.origin)
	if origin == "" || !s.directory.allowsOrigin(normalOrigin(origin)) {
		return false
	}
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
	return true
}

// preflight answers OPTIONS. It names a company in its query only; without one,
// each origin that any company lists is allowed.
func (s *Server) preflight(ctx *fasthttp.RequestCtx, methods string) {
	origin := string(requestOf(ctx).headers.origin)
	if origin == "" {
		ctx.Response.Header.Set("Allow", methods)
		ctx.SetStatusCode(http.StatusNoContent)
		return
	}
	allowed := s.allowOrigin(ctx)
	if id := string(ctx.QueryArgs().Peek("companyId")); allowed && id != "" {
		c, known := s.directory.company(id)
		allowed = known && c.origins[normalOrigin(origin)]
	}
	switch {
	case !allowed && !s.directory.fresh():
		s.refuse(ctx, refusedNotFresh)
	case !allowed:
		s.refuse(ctx, refusedPreflight)
	default:
		h := &ctx.Response.Header
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", "Content-Type, Content-Encoding, X-Request-Id")
		h.Set("Access-Control-Max-Age", preflightAge)
		ctx.SetStatusCode(http.StatusNoContent)
	}
}
