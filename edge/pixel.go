package edge

import (
	"cmp"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/sdk/core"
)

// pixelGIF is one transparent pixel (GIF89a).
const pixelGIF = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00," +
	"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// pixel is GET /v1/pixel.gif: one event in the query (companyId, event,
// eventId, timestamp, visitorId, sessionId, consent, url, referrer, title, payload as
// JSON text), for mail and pages without scripts. It takes no identity: servers
// on the way write queries to their logs.
func (s *Server) pixel(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Cache-Control", "no-store")
	now := s.deps.Now()
	from := s.principalOf(ctx, now)
	if refused := s.admit(&from, now); refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	args := ctx.QueryArgs()
	body, violation := pixelBody(args, string(ctx.Request.Header.Referer()))
	if violation != nil {
		s.charge(&from, now, tokensFor(1, len(args.Peek("payload"))))
		s.refuse(ctx, *refusedBody(violation))
		return
	}
	d, refused := s.ingest(ctx, &from, now,
		incoming{at: entryPixel, companyID: string(args.Peek("companyId")), body: string(body), size: len(body)})
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	s.metrics.countEvents(d.results)
	ctx.SetContentType("image/gif")
	ctx.SetBodyString(pixelGIF)
}

// pixelBody is the event of a query, as a body of POST /v1/events. The page is
// referer where the query does not name one.
func pixelBody(args *fasthttp.Args, referer string) ([]byte, *core.Violation) {
	get := func(name string) string { return string(args.Peek(name)) }
	body := core.AppendString([]byte(`{"event":`), cmp.Or(get("event"), core.PageView))
	for _, member := range []string{"eventId", "timestamp", "visitorId", "sessionId", "consent"} {
		body = appendMember(body, 0, member, get(member))
	}
	if payload := get("payload"); payload != "" {
		// One value and nothing after it: what follows would be members of the event.
		value := core.Scan(payload, 1)
		if value.Skip(); !value.Done() {
			return nil, &core.Violation{Code: core.CodeInvalidPayload, Message: "payload is not JSON"}
		}
		body = append(body, `,"payload":`...)
		body = append(body, payload...)
	}
	body = append(body, `,"context":{"page":{`...)
	first := len(body)
	body = appendMember(body, first, "url", cmp.Or(get("url"), referer))
	body = appendMember(body, first, "referrer", get("referrer"))
	body = appendMember(body, first, "title", get("title"))
	return append(body, `}}}`...), nil
}
