package edge

import (
	"errors"
	"fmt"
	"hash/maphash"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// The values every short link's destination gets (docs/edge.md, "Short links").
const (
	linkSource = "influencer"
	linkMedium = "link"
)

// shortLink is GET or HEAD of a short link: it redirects to the destination and
// counts a click, unless a program asks.
func (s *Server) shortLink(ctx *fasthttp.RequestCtx, code string) {
	h := &ctx.Response.Header
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	link, known := s.directory.link(code)
	if !known {
		s.answerNoLink(ctx)
		return
	}
	opened := requestOf(ctx).headers.openedAsDocument()
	click := wire.Click{ID: s.deps.NewID(), Code: code, Verified: true, LinkID: link.LinkID}
	signed := s.signer.Sign(identity.SignedClick, click.Name())
	c, known := s.directory.company(link.CompanyID)
	archived := known && c.ArchivedAt != nil
	if archived {
		signed = "" // no click is recorded to which it could lead
	}
	destination, err := s.destination(link, signed, opened)
	if err != nil {
		s.deps.Logger.Error("short link: the destination is no URL", "code", code, "error", err)
		s.answerNoLink(ctx)
		return
	}
	if !s.directory.opensOn(string(ctx.Host()), link, hostOf(link)) {
		s.answerNoLink(ctx)
		return
	}
	click.Destination = destination.String()
	ctx.SetStatusCode(http.StatusFound)
	h.Set("Location", click.Destination)
	switch {
	case !opened:
		s.metrics.countClick(clickEmbedded)
	case ctx.IsHead():
		s.metrics.countClick(clickHead)
	case requestOf(ctx).headers.prefetch:
		s.metrics.countClick(clickPrefetch)
	case archived:
		s.metrics.countClick(clickArchived)
	default:
		s.countClick(ctx, link, click, signed, destination.Host)
	}
}

// destination is the link's URL, where it was opened with our parameters in place
// of its own of the same names; its other parameters and its fragment stay as they
// are.
func (s *Server) destination(link *wire.Link, signedClick string, opened bool) (*url.URL, error) {
	u, err := url.Parse(link.URL)
	if err != nil {
		return nil, fmt.Errorf("edge: destination of a link: %w", err)
	}
	if opened {
		u.RawQuery = withOurs(u.RawQuery, link, signedClick)
	}
	if origin, found := s.config.RewriteHosts[u.Host]; found {
		to, err := url.Parse(origin)
		if err != nil {
			return nil, fmt.Errorf("edge: rewrite of host %s: %w", u.Host, err)
		}
		u.Scheme, u.Host = to.Scheme, to.Host
	}
	return u, nil
}

// hostOf is the host of the link's URL.
func hostOf(link *wire.Link) string {
	u, err := url.Parse(link.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// withOurs is a query with our parameters in it.
func withOurs(query string, link *wire.Link, signedClick string) string {
	ours := []core.Param{
		{Name: "utm_source", Value: linkSource},
		{Name: "utm_medium", Value: linkMedium},
		{Name: "utm_campaign", Value: link.Influencer},
		{Name: "utm_content", Value: link.Campaign},
		{Name: core.TrbClick, Value: signedClick},
	}
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if unescaped, err := url.QueryUnescape(name); err == nil {
			name = unescaped
		}
		if pair != "" && !named(ours, name) {
			pairs = append(pairs, pair)
		}
	}
	for _, p := range ours {
		if p.Value != "" { // utm_content of a link without a campaign, a click id of an archived company
			pairs = append(pairs, p.Name+"="+url.QueryEscape(p.Value))
		}
	}
	return strings.Join(pairs, "&")
}

func named(params []core.Param, name string) bool {
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// clickWait is a redirect's wait for its click's ack.
const clickWait = 50 * time.Millisecond

// countClick produces the click's event and waits for its ack for at most
// clickWait: a shopper must not wait for Kafka. The landing carries the
// click's id, so a click that is lost, and counted as lost, still leads to its
// link.
func (s *Server) countClick(ctx *fasthttp.RequestCtx, link *wire.Link, click wire.Click, signed, destinationHost string) {
	id := strings.Clone(requestID(ctx)) // it may be lost after the answer
	lost := func(err error) {
		s.metrics.countClick(clickLost)
		s.logFailure(id, err)
	}
	c, known := s.directory.company(link.CompanyID)
	if !known {
		lost(fmt.Errorf("edge: the company of link %s is not in the directory", click.Code))
		return
	}
	now := s.deps.Now()
	from := guard.ClientIP(ctx, s.config.TrustedProxies)
	a := s.arrival(ctx, from, c, now, 0, entryLink)
	recorded := s.judgeClick(from, &a, click.Code, now)
	consent := c.consent(core.ConsentUnknown, a.signal)
	if a.cookieID == "" && a.bot == wire.BotNone && c.mayCookie(consent) && sameSite(destinationHost, string(ctx.Host())) {
		a.cookieID = s.newVisitorID(ctx)
	}
	if recorded != clickCounted {
		s.metrics.countClick(recorded)
		return
	}
	e := core.Event{
		ID: click.ID, Name: core.LinkClick, Timestamp: now.UnixMilli(),
		Context: core.Context{
			Page:     core.Page{Referrer: cutText(string(ctx.Request.Header.Referer()), maxURL)},
			Campaign: core.Campaign{Source: linkSource, Medium: linkMedium, Name: link.Influencer, Content: link.Campaign},
			ClickIDs: []core.Param{{Name: core.TrbClick, Value: signed}},
		},
	}
	if _, err := s.batcher.Partitions(wire.TopicEvents, now.Add(clickWait)); err != nil {
		lost(err)
		return
	}
	outcome := clickCounted
	if a.bot != wire.BotNone {
		outcome = clickBot
	}
	p := s.batcher.NewParcel()
	defer p.Release()
	p.Buffer = s.appendRecord(p.Buffer, &e, &a, wire.ViaLink, &click)
	send := s.beginSend(ctx, c.CompanyID)
	p.Records = append(p.Records, wire.Record{Key: []byte(c.CompanyID), Value: p.Buffer, Trace: send.Trace()})
	p.Settled = func(err error) {
		if err != nil {
			lost(err)
			return
		}
		s.metrics.countClick(outcome)
	}
	if err := s.batcher.Enqueue(wire.TopicEvents, c.CompanyID, p, now.Add(s.config.ProduceTimeout)); err != nil {
		s.endSend(send, 1, "", err)
		lost(err)
		return
	}
	timer := time.NewTimer(clickWait)
	defer timer.Stop()
	durable, err := p.Await(timer.C)
	s.endSend(send, 1, durable, err)
	if errors.Is(err, produce.ErrTimeout) {
		s.metrics.countClick(clickLate)
	}
}

// judgeClick tells whether a click is recorded: clickCounted, or why it is not. The
// redirect works in any case, and its landing still leads to the link.
func (s *Server) judgeClick(address netip.Addr, a *arrival, code string, now time.Time) clickOutcome {
	var h maphash.Hash
	h.SetSeed(s.seed)
	part := func(text string) {
		_, _ = h.WriteString(text)
		_ = h.WriteByte(0)
	}
	client := guard.OneClient(address).As16()
	_, _ = h.Write(client[:])
	part(code)
	part(a.userAgent)
	part(a.cookieID)
	if !s.repeats.Take(h.Sum64(), now, 1) {
		return clickRepeated
	}
	h.Reset()
	part(code)
	if !s.clicks.Take(h.Sum64()^s.networkID(address), now, 1) {
		return clickLimited
	}
	return clickCounted
}

// answerNoLink answers with a page for the person who followed an unknown link.
func (s *Server) answerNoLink(ctx *fasthttp.RequestCtx) {
	status, title, text := http.StatusNotFound, "Link não encontrado · Link not found",
		"Este link não existe ou foi encerrado. Confira o endereço. · This link does not exist or has ended. Please check the address."
	if !s.directory.fresh() {
		status, title, text = http.StatusServiceUnavailable, "Um momento · One moment",
			"Este link ainda não pode ser aberto. Tente de novo em instantes. · This link cannot be opened yet. Please try again shortly."
		ctx.Response.Header.Set("Retry-After", "2")
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.SetBodyString(`<!doctype html><html lang="pt-BR"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
		`<title>` + html.EscapeString(title) +
		`</title><style>body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>` +
		`<h1>` + html.EscapeString(title) + `</h1><p>` + html.EscapeString(text) + `</p></html>`)
}

// shortCode is the code in a path's last segment, "" where there is none.
func shortCode(segment string) string {
	segment = strings.TrimSuffix(segment, "/")
	if segment == "" || len(segment) > 64 {
		return ""
	}
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_') {
			return ""
		}
	}
	return segment
}
