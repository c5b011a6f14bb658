package edge

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/edge/segment"
	"github.com/tributary-io/tributary/internal/lenient"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// collect is POST /v1/events.
func (s *Server) collect(ctx *fasthttp.RequestCtx) {
	r := requestOf(ctx)
	var from principal
	now := s.deps.Now()
	body, refused := s.admitBody(ctx, r, &from, now)
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	companyID := guard.TextOf(ctx.QueryArgs().Peek("companyId"))
	d, refused := s.ingest(ctx, &from, now, incoming{at: entryAPI, companyID: companyID, body: body, size: len(body)})
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	s.answer(ctx, d)
}

// admitBody admits the sender of a request with events, into from, and returns its body, inflated.
func (s *Server) admitBody(ctx *fasthttp.RequestCtx, r *request, from *principal, now time.Time) (body string, refused *refusal) {
	if !takesMediaType(ctx.Request.Header.ContentType()) {
		return "", &refusedMediaType
	}
	if refused := refuseKeyInBrowser(r, ctx.Request.Header.UserAgent()); refused != nil {
		return "", refused
	}
	*from = s.principalOf(ctx, now)
	if refused := s.admit(from, now); refused != nil {
		return "", refused
	}
	return s.inflate(r, from, now)
}

// inflate is the request's body as it was before Content-Encoding. Where it cannot be had, it is charged for.
func (s *Server) inflate(r *request, from *principal, now time.Time) (body string, refused *refusal) {
	encoding := strings.ToLower(strings.TrimSpace(guard.TextOf(r.headers.contentEncoding)))
	body, err := s.inflater.Inflate(encoding, r.body.bytes, &r.inflated)
	if err == nil {
		return body, nil
	}
	inflated := len(r.body.bytes) + r.inflated.Len()
	if errors.Is(err, guard.ErrTooDense) {
		inflated = max(inflated, guard.TooDenseBytes)
	}
	s.charge(from, now, tokensFor(0, inflated))
	why := refusedInflate(err)
	return "", &why
}

// refusedInflate is why a body could not be inflated.
func refusedInflate(err error) refusal {
	switch {
	case errors.Is(err, guard.ErrTooLarge):
		return refusedTooLarge
	case errors.Is(err, guard.ErrTooDense):
		return refusal{http.StatusRequestEntityTooLarge, codePayloadTooLarge, "the body inflates to more than 100 times its length", 0}
	case errors.Is(err, guard.ErrUnknownEncoding):
		return refusedEncoding
	}
	return refusedBrokenEncoding
}

// takesMediaType tells whether a body of this Content-Type is read: JSON, or plain text,
// which a page may send to another origin without asking first. One without is taken
// as JSON.
func takesMediaType(contentType []byte) bool {
	name, _, _ := strings.Cut(guard.TextOf(contentType), ";")
	name = strings.TrimSpace(name)
	return name == "" || strings.EqualFold(name, "application/json") || strings.EqualFold(name, "text/plain")
}

// entry is a route by which events come in.
type entry int

const (
	entryAPI     entry = iota // pages, libraries and servers send a body, with an API key or without
	entrySegment              // the same in Segment's protocol
	entryPixel                // a picture in a page
	entryLink                 // a short link: the edge makes the event
)

// takesKey tells whether events of the route may come with an API key.
func (e entry) takesKey() bool { return e == entryAPI || e == entrySegment }

// incoming are a request's events.
type incoming struct {
	at        entry
	companyID string // "" where the body says it
	body      string // as of POST /v1/events
	size      int    // of the body as it was sent, inflated: it is charged for
	refused   []*segment.Refusal
}

// via is how an event came in. At entryAPI what the event says of its library tells.
func (e entry) via(library string, raw bool) wire.Via {
	switch e {
	case entrySegment:
		return wire.ViaSegment
	case entryPixel:
		return wire.ViaPixel
	case entryLink:
		return wire.ViaLink
	}
	return viaLibrary(library, raw)
}

// ingest stores the events of a body and returns when each of them is durable:
// as an event, or as a dead letter with its reason.
func (s *Server) ingest(ctx *fasthttp.RequestCtx, from *principal, now time.Time, in incoming) (*delivery, *refusal) {
	d, refused := s.newDelivery(ctx, from, now, in)
	if refused != nil {
		return nil, refused
	}
	defer d.end()
	d.sending = s.beginSend(ctx, d.arrival.company.CompanyID)
	err := errPanicked // unless it is said below
	defer func() { s.endSend(d.sending, len(d.claimed), d.durable, err) }()
	d.makeRecords()
	if err = d.send(); err != nil {
		s.metrics.events.WithLabelValues(string(statusFailed)).Add(float64(len(d.results)))
		s.logFailure(requestID(ctx), err)
		return nil, &refusedUnavailable
	}
	return d, nil
}

// newDelivery parses the body and checks the request as a whole.
func (s *Server) newDelivery(ctx *fasthttp.RequestCtx, from *principal, now time.Time, in incoming) (*delivery, *refusal) {
	d := &requestOf(ctx).delivery
	batch := &d.batch
	violation := batch.Parse(in.body, in.companyID, core.Options{Now: now.UnixMilli(), NewID: s.deps.NewID})
	tokens := tokensFor(len(batch.Items), in.size)
	s.charge(from, now, tokens)
	if violation != nil {
		return nil, refusedBody(violation)
	}
	c, refused := s.findCompany(ctx, batch.CompanyID)
	if refused != nil {
		if refused.code == codeOriginNotAllowed {
			known, _ := s.directory.company(batch.CompanyID)
			s.refused.add(known, string(requestOf(ctx).headers.origin), len(batch.Items))
		}
		return nil, refused
	}
	by := sender{trust: wire.TrustOpen}
	if in.at.takesKey() {
		if by, refused = s.authorize(from, c.CompanyID); refused != nil {
			return nil, refused
		}
	}
	if by.trust == wire.TrustOpen && !c.open.Take(now, float64(tokens)) {
		return nil, refusedRate(rateWait(c, tokens))
	}
	d.server, d.now, d.deadline = s, now, now.Add(s.config.ProduceTimeout)
	d.durable, d.attempt = produce.Kafka, new(attempt)
	d.arrival = s.arrival(ctx, from.address, c, now, batch.SentAt, in.at)
	d.arrival.sender = by
	d.origin = requestOf(ctx).headers.origin
	if how := requestOf(ctx).headers.handling; in.at == entryAPI && how != "" {
		d.warnings.strict = how == lenient.Strict
		ctx.Response.Header.Set("Preference-Applied", "handling="+how) // RFC 7240, section 3
	}
	if batch.Dropped != (core.Dropped{}) {
		d.stream = streamOf(batch, c) // before its events are scrubbed
	}
	refuseMessages(batch, in.refused)
	s.setVisitorCookie(ctx, d)
	return d, nil
}

// rateWait is how long until one of the company's buckets holds n tokens again.
func rateWait(c *company, n int) time.Duration {
	return boundedWait(time.Duration(float64(n) / c.perSecond * float64(time.Second)))
}

// findCompany returns the company if the request's page may send events to it,
// and why not otherwise.
func (s *Server) findCompany(ctx *fasthttp.RequestCtx, companyID string) (*company, *refusal) {
	c, known := s.directory.company(companyID)
	switch {
	case !known && !s.directory.fresh():
		return nil, &refusedNotFresh
	case !known:
		return nil, &refusedUnknownCompany
	case c.ArchivedAt != nil && !s.directory.fresh(): // it may be in use again, and SDKs drop what is refused for good
		return nil, &refusedNotFresh
	case c.ArchivedAt != nil:
		return nil, &refusedArchived
	case c.wrongKey:
		return nil, &refusedWrongSecret
	}
	if origin := requestOf(ctx).headers.origin; len(origin) > 0 && !c.origins[normalOrigin(string(origin))] {
		return nil, refuseOrigin(ctx, c.CompanyID)
	}
	return c, nil
}

// arrival reads what the request itself says of its events.
func (s *Server) arrival(ctx *fasthttp.RequestCtx, address netip.Addr, c *company, now time.Time, sentAt int64, at entry) arrival {
	h := &requestOf(ctx).headers
	network := s.known.network(c, address)
	a := arrival{
		company: c, skew: clockSkew(now, sentAt), entry: at,
		ip: network.ip, frame: h.fromForeignFrame(), bot: wire.BotNone,
		signal: h.privacySignal(), sender: sender{trust: wire.TrustOpen},
		userAgent: cutText(guard.TextOf(ctx.Request.Header.UserAgent()), maxUserAgent),
		fromPage:  !at.takesKey() || len(h.origin) > 0 || len(h.fetchSite) > 0,
	}
	core.AppendTime(a.receivedAt[:0], now.UnixMilli())
	// What Segment's libraries send is mostly a server's: there a page alone is at the buyer's network.
	if at != entryPixel && !h.fromForeignPage() && (at != entrySegment || a.fromPage) {
		a.netKey, a.formerNetKey = network.key, network.former
	}
	// On a request of another site's page the cookie would say whom that page made
	// open the shop, and not who came.
	if at == entryLink || h.fromSameSite(ctx.Host()) {
		a.cookieID, a.oldCookie = s.visitorID(ctx)
	}
	switch {
	case h.prefetch:
		a.bot = wire.BotPrefetch
	case at == entryLink:
		a.bot = s.bots.kindAtLink(a.userAgent)
	case a.fromPage:
		a.bot = s.bots.kind(a.userAgent)
	}
	return a
}

func cutText(text string, n int) string {
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "")
	}
	return text
}

// setVisitorCookie gives a new visitor a cookie, and takes it back from one who
// denies, if the page is on the edge's own site, by what the request's last event
// says of consent. A pixel takes none back by what its address says, since whoever may put
// a picture into the shop's page has written that; by the browser's signal it does.
func (s *Server) setVisitorCookie(ctx *fasthttp.RequestCtx, d *delivery) {
	a := &d.arrival
	last := &d.batch.Items[len(d.batch.Items)-1]
	if last.Err != nil || a.bot != wire.BotNone || a.trust != wire.TrustOpen || !requestOf(ctx).headers.fromSameSite(ctx.Host()) {
		return
	}
	consent := a.company.consent(last.Event.Consent, a.signal)
	switch {
	case a.company.anonymous(consent) && a.cookieID != "":
		if a.entry != entryPixel || a.signal {
			s.expireCookie(ctx)
		}
	case !a.company.mayCookie(consent):
	case a.cookieID == "":
		a.cookieID = s.newVisitorID(ctx)
	case a.oldCookie: // signed anew, so that the former secret can be given up
		s.setCookie(ctx, a.cookieID)
	}
}
