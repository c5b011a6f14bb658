package edge

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/edge/segment"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// segmentPath begins the paths of Segment's protocol: what its libraries take as their host,
// and the version that they add.
const segmentPath = "/segment/v1/"

// segment serves what stands behind segmentPath, and returns the route's name for metrics.
func (s *Server) segment(ctx *fasthttp.RequestCtx, path string) (route string) {
	if call, known := segment.CallOf(path); known {
		if s.allowsCrossOrigin(ctx, "POST") {
			s.segmentCall(ctx, call)
		}
		return "segment"
	}
	if rest, found := strings.CutPrefix(path, "projects/"); found {
		if key, found := strings.CutSuffix(rest, "/settings"); found {
			if s.allowsCrossOrigin(ctx, "GET, HEAD") {
				s.segmentSettings(ctx, key)
			}
			return "segment_settings"
		}
	}
	s.allowOrigin(ctx)
	s.refuse(ctx, refusedNotFound)
	return "none"
}

// segmentCall is POST /segment/v1/{call}. Its events are translated, and then go the way of all
// events.
func (s *Server) segmentCall(ctx *fasthttp.RequestCtx, call segment.Call) {
	r := requestOf(ctx)
	var from principal
	now := s.deps.Now()
	body, refused := s.admitBody(ctx, r, &from, now)
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	in, refused := s.translate(r, &from, now, call, body)
	if refused != nil {
		s.charge(&from, now, tokensFor(0, len(body)))
		s.refuse(ctx, *refused)
		return
	}
	d, refused := s.ingest(ctx, &from, now, in)
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	s.answerSegment(ctx, d)
}

// translate makes the events of a call's body, of the company that its write key names.
func (s *Server) translate(r *request, from *principal, now time.Time, call segment.Call, body string) (incoming, *refusal) {
	in := incoming{at: entrySegment, size: len(body)}
	if len(body) > segment.MaxBody {
		return in, &refusedSegmentSize
	}
	read, violation := segment.Read(call, body)
	if violation != nil {
		return in, refusedBody(violation)
	}
	source := segment.Source{CompanyID: r.headers.basic(), Trust: wire.TrustOpen, Now: now.UnixMilli()}
	switch {
	case from.key != nil:
		source.CompanyID = from.key.CompanyID
		if trust, ok := from.key.Trust(); ok {
			source.Trust = trust
		}
	case from.bearer && !s.directory.fresh():
		return in, &refusedKeyNotFresh
	case from.bearer:
		return in, &refusedUnauthorized
	case source.CompanyID == "":
		source.CompanyID = read.WriteKey
	}
	if source.CompanyID == "" {
		return in, &refusedNoWriteKey
	}
	if isAPIKey(source.CompanyID) {
		return in, &refusedKeyInBody
	}
	events := read.Events(source)
	in.companyID, in.body, in.refused = source.CompanyID, events.Body, events.Refused
	return in, nil
}

// refuseMessages refuses the items whose messages are no events.
func refuseMessages(batch *core.Batch, refused []*segment.Refusal) {
	for i, r := range refused {
		if r != nil {
			batch.Items[i] = core.Item{Event: core.Event{ID: r.EventID}, Err: &r.Violation}
		}
	}
}

var (
	refusedNoWriteKey = refusal{http.StatusUnauthorized, codeUnauthorized,
		"the write key is missing: a companyId or an API key as the user's name of Basic authorization", 0}
	refusedKeyInBody = refusal{http.StatusForbidden, codeKeyInBrowser,
		"an API key stands in the Authorization header alone, and never in a page: revoke it if a page has it", 0}
	// Segment answers 400 and not 413 too.
	refusedSegmentSize = refusal{http.StatusBadRequest, codePayloadTooLarge, "the body is larger than 500 KB", 0}
)

// isSegmentsOwn tells whether a path is that of Segment's own host: some libraries leave out the path of the
// host that they are given.
func isSegmentsOwn(path string) bool {
	rest, found := strings.CutPrefix(path, "/v1/")
	if _, known := segment.CallOf(rest); found && known {
		return true
	}
	return found && strings.HasPrefix(rest, "projects/")
}

// refusedSegmentPath says where a library finds what it asks for.
func refusedSegmentPath(prefix, path string) refusal {
	if len(path) > maxSegmentPath {
		path = "/v1/…"
	}
	return refusal{http.StatusNotFound, codeNotFound, "Segment's protocol is at " + prefix + "/segment" + path +
		": give your library a host that ends with " + prefix + "/segment; if it leaves out the host's path (analytics-node), set its path to " +
		prefix + "/segment/v1/batch", 0}
}

// maxSegmentPath bounds the path that an answer repeats, in bytes.
const maxSegmentPath = 64

// answerSegment answers as Segment does: 200 says that what is not in rejected is taken. Where all
// is rejected it is 400, which libraries do not send again.
func (s *Server) answerSegment(ctx *fasthttp.RequestCtx, d *delivery) {
	s.metrics.countEvents(d.results)
	rejected := 0
	for i := range d.results {
		if d.results[i].status == statusRejected {
			rejected++
		}
	}
	ctx.SetContentType("application/json")
	if rejected == 0 {
		ctx.SetBodyString(`{"success":true}`)
		return
	}
	if rejected == len(d.results) {
		first := &d.results[0]
		s.metrics.refusals.WithLabelValues(string(first.code)).Inc()
		ctx.SetStatusCode(http.StatusBadRequest)
		ctx.SetBody(appendSegmentError(nil, string(first.code), first.message, requestID(ctx)))
		return
	}
	body := append(requestOf(ctx).answer[:0], `{"success":true,"rejected":[`...)
	before := `{"index":`
	told := 0
	for i := range d.results {
		r := &d.results[i]
		if r.status != statusRejected {
			continue
		}
		body = appendRejected(append(body, before...), i, r)
		before = `,{"index":`
		if told++; told == maxWarnings {
			break
		}
	}
	body = append(body, `],"request_id":`...)
	body = append(core.AppendString(body, guard.TextOf(requestOf(ctx).id)), '}')
	ctx.SetBody(body)
	requestOf(ctx).answer = body
}

func appendRejected(dst []byte, i int, r *result) []byte {
	dst = append(strconv.AppendInt(dst, int64(i), 10), `,"code":`...)
	dst = append(core.AppendString(dst, string(r.code)), `,"message":`...)
	return append(core.AppendString(dst, r.message), '}')
}

// appendSegmentError appends an error as Segment's libraries read it.
func appendSegmentError(dst []byte, code, message, requestID string) []byte {
	dst = core.AppendString(append(dst, `{"success":false,"code":`...), code)
	dst = core.AppendString(append(dst, `,"message":`...), message)
	dst = core.AppendString(append(dst, `,"request_id":`...), requestID)
	return append(dst, '}')
}

// segmentSettings is GET /segment/v1/projects/{key}/settings, which analytics-next asks for where it
// is told cdnURL: where its events go, and that there is nothing else to load.
func (s *Server) segmentSettings(ctx *fasthttp.RequestCtx, key string) {
	now := s.deps.Now()
	from := s.principalOf(ctx, now)
	if refused := s.admit(&from, now); refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	s.charge(&from, now, 1)
	if isAPIKey(key) {
		s.refuse(ctx, refusedKeyInBrowser)
		return
	}
	c, refused := s.findCompany(ctx, key)
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	before, _, _ := strings.Cut(string(ctx.Path()), segmentPath)
	body := core.AppendString([]byte(`{"integrations":{"Segment.io":{"apiKey":`), c.CompanyID)
	body = core.AppendString(append(body, `,"apiHost":`...), string(ctx.Host())+before+strings.TrimSuffix(segmentPath, "/"))
	body = core.AppendString(append(body, `,"protocol":`...), s.segmentScheme(ctx))
	body = append(body, `,"addBundledMetadata":false,"unbundledIntegrations":[]}},"plan":{},"metrics":{"sampleRate":0},`+
		`"middlewareSettings":{},"enabledMiddleware":{},"remotePlugins":[],"legacyVideoPluginsEnabled":false}`...)
	ctx.Response.Header.Set("Cache-Control", "no-store")
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

// segmentScheme is that of the edge's address: without TLS here a proxy before it has TLS, unless it
// is on this machine.
func (s *Server) segmentScheme(ctx *fasthttp.RequestCtx) string {
	host := hostname(string(ctx.Host()))
	address, err := netip.ParseAddr(host)
	if s.config.TLS == nil && (host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && address.IsLoopback()) {
		return "http"
	}
	return "https"
}
