package edge

import (
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/wire"
)

// preflightAge is how long a browser may keep a preflight's answer. Chromium
// keeps none longer.
const preflightAge = "7200" // seconds

// maxOrigin bounds the origin that is echoed, in bytes: a host has at most 253
// (RFC 1035).
const maxOrigin = 300

// noOrigin is the Origin of a frame that has none: one in a sandbox, as Shopify's pixels
// are, or a file's page. A company may list it. Any page can make such a frame: it never gets
// credentials.
const noOrigin = wire.NoOrigin

// Headers of CORS that more than one place sets.
const (
	headerAllowOrigin      = "Access-Control-Allow-Origin"
	headerAllowCredentials = "Access-Control-Allow-Credentials"
)

// allowOrigin lets the page read the answer, whatever it says, so that a page
// whose origin is not listed can read that. Credentials are allowed only if some
// company lists the origin; findCompany checks which company's events the page
// may send.
func (s *Server) allowOrigin(ctx *fasthttp.RequestCtx) (listed bool) {
	setHeader(ctx, headerVary, varyOrigin)
	h := &ctx.Response.Header
	origin := string(requestOf(ctx).headers.origin)
	if origin == "" || len(origin) > maxOrigin || strings.ContainsAny(origin, "*, ") {
		return false
	}
	h.Set(headerAllowOrigin, origin)
	h.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
	if listed = origin != noOrigin && s.directory.allowsOrigin(normalOrigin(origin)); listed {
		h.Set(headerAllowCredentials, "true")
	}
	return listed
}

// refuseOrigin is the refusal of a page whose origin the company does not list. Its
// message is for the page's developer: the browser SDK writes it to the console.
func refuseOrigin(ctx *fasthttp.RequestCtx, companyID string) *refusal {
	ctx.Response.Header.Del(headerAllowCredentials)
	r, origin := refusedOrigin, string(requestOf(ctx).headers.origin)
	if len(origin) <= maxOrigin {
		dashboard := " in the dashboard, page \"Prepare your shop\", or"
		if origin == noOrigin { // which that page does not take
			dashboard = ""
		}
		r.message += ": allow " + origin + dashboard + " by `tributary company set " + companyID + " --add-origin " + origin + "`"
	}
	return &r
}

// preflight answers OPTIONS. It says how a request may be made; whether the page
// may send a company's events is said by the answer to the events, which the page
// can read. It names a company in its query only: without one, the origins that
// any company lists may send credentials.
func (s *Server) preflight(ctx *fasthttp.RequestCtx, methods string) {
	h := &ctx.Response.Header
	ctx.SetStatusCode(http.StatusNoContent)
	origin := string(requestOf(ctx).headers.origin)
	if origin == "" {
		h.Set("Allow", methods)
		return
	}
	listed := s.allowOrigin(ctx)
	if id := string(ctx.QueryArgs().Peek("companyId")); listed && id != "" {
		if c, known := s.directory.company(id); !known || !c.origins[normalOrigin(origin)] {
			listed = false
			h.Del(headerAllowCredentials)
		}
	}
	h.Set("Access-Control-Allow-Methods", methods)
	headers := "Content-Type, Content-Encoding, X-Request-Id"
	if requestOf(ctx).segment {
		headers += ", Authorization, X-Retry-Count" // which analytics-next sends
	}
	h.Set("Access-Control-Allow-Headers", headers)
	if listed {
		h.Set("Access-Control-Max-Age", preflightAge)
	} else {
		h.Set("Access-Control-Max-Age", "0") // the origin may be listed a moment later
	}
}
