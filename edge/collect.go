package edge

import (
	"errors"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// maxBatchEvents is core's bound on the events of one request.
const maxBatchEvents = core.MaxBatchEvents

// importHeader is sent by `tributary import`: its events get no visitor cookie.
const importHeader = "X-Tributary-Import"

// collect is POST /v1/events.
func (s *Server) collect(ctx *fasthttp.RequestCtx) {
	switch mediaType(ctx.Request.Header.ContentType()) {
	case "", "application/json", "text/plain":
	default:
		s.fail(ctx, refusedMediaType)
		return
	}
	encoding := strings.ToLower(strings.TrimSpace(string(ctx.Request.Header.ContentEncoding())))
	body, err := s.inflater.inflate(encoding, ctx.PostBody())
	switch {
	case errors.Is(err, errTooLarge):
		s.fail(ctx, refusedTooLarge)
		return
	case errors.Is(err, errUnknownEncoding):
		s.fail(ctx, refusedEncoding)
		return
	case err != nil:
		s.fail(ctx, refusedBrokenEncoding)
		return
	}
	companyID := string(ctx.QueryArgs().Peek("companyId"))
	w, refused := s.ingest(ctx, body, companyID, "")
	if refused != nil {
		s.fail(ctx, *refused)
		return
	}
	s.answer(ctx, w.results, w.durable)
}

// mediaType is a content type without its parameters, in lower case.
func mediaType(contentType []byte) string {
	name, _, _ := strings.Cut(string(contentType), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// ingest takes a body of events through the whole way and returns when each is
// acknowledged by Kafka: as an event, or as a dead letter with its reason.
func (s *Server) ingest(ctx *fasthttp.RequestCtx, body, companyID string, via wire.Via) (*shipment, *refusal) {
	w, refused := s.prepare(ctx, body, companyID, via)
	if refused != nil {
		return nil, refused
	}
	defer w.land(false) // after a panic: its events may be sent again
	w.sort()
	if err := w.ship(); err != nil {
		s.metrics.events.WithLabelValues(string(statusFailed)).Add(float64(len(w.results)))
		s.logFailure(err)
		return nil, &refusedUnavailable
	}
	return w, nil
}

// prepare parses and checks the request as a whole.
func (s *Server) prepare(ctx *fasthttp.RequestCtx, body, companyID string, via wire.Via) (*shipment, *refusal) {
	now := s.deps.Now()
	batch, violation := core.ParseBatch(body, companyID, core.Options{Now: now.UnixMilli(), NewID: s.deps.NewID})
	if violation != nil {
		return nil, refusedBody(violation)
	}
	c, refused := s.admit(ctx, batch.CompanyID)
	if refused != nil {
		return nil, refused
	}
	if !c.limiter.AllowN(now, len(batch.Items)) {
		return nil, refusedRate(rateWait(c, len(batch.Items)))
	}
	w := &shipment{
		server: s, batch: &batch, now: now, deadline: now.Add(s.config.ProduceTimeout),
		results: make([]result, len(batch.Items)), durable: produce.Kafka, mine: &flight{done: make(chan struct{})},
		arrival: s.arrival(ctx, c, now, batch.SentAt, via),
	}
	s.visit(ctx, w)
	return w, nil
}

// rateWait is how long until the company's bucket holds n events again.
func rateWait(c *company, n int) time.Duration {
	wait := time.Duration(float64(n) / c.perSecond * float64(time.Second))
	return min(max(wait, time.Second), time.Minute)
}

// admit finds the company and lets the request's page in, or says why not.
func (s *Server) admit(ctx *fasthttp.RequestCtx, companyID string) (*company, *refusal) {
	c, known := s.directory.company(companyID)
	switch {
	case !known && !s.directory.fresh():
		return nil, &refusedNotFresh
	case !known:
		return nil, &refusedUnknownCompany
	case c.wrongKey:
		return nil, &refusedWrongSecret
	}
	if origin := ctx.Request.Header.Peek("Origin"); len(origin) > 0 && !c.origins[normalOrigin(string(origin))] {
		return nil, &refusedOrigin
	}
	return c, nil
}

func (s *Server) arrival(ctx *fasthttp.RequestCtx, c *company, now time.Time, sentAt int64, via wire.Via) arrival {
	h := &ctx.Request.Header
	a := arrival{
		company: c, receivedAt: now.UnixMilli(), skew: clockSkew(now, sentAt), via: via,
		ip: truncateIP(clientIP(ctx, s.config.TrustedProxies)), cookieID: visitorID(ctx), bot: wire.BotNone,
		signal: privacySignal(h), imported: string(h.Peek(importHeader)) == "1",
		userAgent: cutText(string(h.UserAgent()), maxUserAgent),
		fromPage:  via != "" || len(h.Peek("Origin")) > 0 || len(h.Peek("Sec-Fetch-Site")) > 0,
	}
	if isPrefetch(h) {
		a.bot = wire.BotPrefetch
	} else if a.fromPage {
		a.bot = s.bots.kind(a.userAgent)
	}
	return a
}

// maxUserAgent is core's bound on context.userAgent, in bytes.
const maxUserAgent = 512

func cutText(text string, n int) string {
	if len(text) > n {
		text = strings.ToValidUTF8(text[:n], "")
	}
	return text
}

// visit gives the page's visitor a cookie where it is first-party, new and
// allowed by what the last event says of consent.
func (s *Server) visit(ctx *fasthttp.RequestCtx, w *shipment) {
	a := &w.arrival
	if a.cookieID != "" || a.bot != wire.BotNone || a.imported || !fromSameSite(ctx) {
		return
	}
	last := w.batch.Items[len(w.batch.Items)-1]
	if last.Err == nil && a.company.mayCookie(a.company.consent(last.Event.Consent, a.signal)) {
		a.cookieID = s.giveVisitorID(ctx)
	}
}

// shipment is one request's events on their way to Kafka.
type shipment struct {
	server   *Server
	batch    *core.Batch
	arrival  arrival
	now      time.Time
	deadline time.Time
	results  []result
	durable  produce.Durability // the weakest of its records'

	mine    *flight
	landed  bool
	keys    []eventKey // of the events in this flight
	events  []kafka.Record
	letters []kafka.Record
	twins   []*flight // other requests that carry some of the same events
	err     error
}

// sort makes each item's record and result. What it claims, land gives free.
func (w *shipment) sort() {
	c := w.arrival.company
	buffer := make([]byte, 0, w.sizeHint())
	ends := make([]int, 0, len(w.batch.Items))
	w.keys = make([]eventKey, 0, len(w.batch.Items))
	for i := range w.batch.Items {
		item := &w.batch.Items[i]
		w.results[i] = result{eventID: item.Event.ID, status: statusOK}
		if item.Err != nil {
			w.results[i] = result{item.Event.ID, statusRejected, item.Err.Code, reason(item.Err)}
			letter, err := rejectedRecord(c, item, w.now)
			if err != nil {
				w.err = errors.Join(w.err, err)
				continue
			}
			w.letters = append(w.letters, letter)
			continue
		}
		key := eventKey{c.CompanyID, uuidBytes(item.Event.ID)}
		first, twin := w.server.duplicates.claim(key, w.mine)
		if !first {
			w.results[i].status = statusDuplicate
			if twin != nil && twin != w.mine {
				w.twins = append(w.twins, twin)
			}
			continue
		}
		w.keys = append(w.keys, key)
		via := w.arrival.via
		if via == "" {
			via = viaLibrary(item.Event.Context.Library.Name, item.Raw)
		}
		buffer = w.server.appendRecord(buffer, &item.Event, &w.arrival, via, nil)
		ends = append(ends, len(buffer))
	}
	key := []byte(c.CompanyID)
	w.events = make([]kafka.Record, len(ends))
	begin := 0
	for i, end := range ends {
		w.events[i] = kafka.Record{Key: key, Value: buffer[begin:end:end]}
		begin = end
	}
}

// sizeHint is about what the records will take: the texts, and what the edge adds.
func (w *shipment) sizeHint() int {
	size := 0
	for i := range w.batch.Items {
		size += len(w.batch.Items[i].Text) + 400
	}
	return size
}

// land tells the twins what became of this request's events, once.
func (w *shipment) land(ok bool) {
	if !w.landed {
		w.landed = true
		w.server.duplicates.land(w.mine, w.keys, ok)
	}
}

// ship sends the records and waits for all acks, its twins' too. On an error
// some may be in the log: the client sends all again, and what was
// acknowledged comes back as a duplicate.
func (w *shipment) ship() error {
	s := w.server
	timer := time.NewTimer(w.deadline.Sub(s.deps.Now()))
	defer timer.Stop()
	// Letters first: were they refused after the events, the events would be
	// in the log of a request that failed.
	err := w.err
	var letters, events []*produce.Chunk
	if err == nil && len(w.letters) > 0 {
		letters, err = s.batcher.Enqueue(wire.TopicRejected, w.arrival.company.CompanyID, w.letters, w.deadline, nil)
	}
	if err == nil && len(w.events) > 0 {
		events, err = s.batcher.Enqueue(wire.TopicEvents, w.arrival.company.CompanyID, w.events, w.deadline, nil)
	}
	if err == nil {
		err = w.await(events, timer.C)
	}
	// The events' fate does not hang on the letters': a twin need not wait for them.
	w.land(err == nil)
	if err != nil {
		return err
	}
	if err := w.await(letters, timer.C); err != nil {
		return err
	}
	for _, twin := range w.twins {
		select {
		case <-twin.done:
			if !twin.ok {
				return produce.ErrTimeout
			}
		case <-timer.C:
			return produce.ErrTimeout
		}
	}
	return nil
}

// await waits until all chunks are durable, and keeps the weakest durability.
func (w *shipment) await(chunks []*produce.Chunk, timeout <-chan time.Time) error {
	for _, c := range chunks {
		durable, err := c.Await(timeout)
		if err != nil {
			return err
		}
		if durable != produce.Kafka {
			w.durable = durable
		}
	}
	return nil
}
