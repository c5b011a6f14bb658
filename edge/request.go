package edge

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/sdk/core"
)

// request is what the edge knows of one request while it is handled. Its memory is
// used again afterwards. Nothing that outlives the request may hold a part of it:
// records, which wait for Kafka, have memory of their own.
type request struct {
	id       []byte // UUIDv7, or the client's own
	headers  headers
	body     body
	inflated bytes.Buffer
	delivery delivery
	answer   []byte
	segment  bool // it is at one of Segment's routes
	span     *tracing.Span
}

// requestKey is the name of the user value that is the request.
const requestKey = "request"

// requestOf is the request that begin has made.
func requestOf(ctx *fasthttp.RequestCtx) *request { return ctx.UserValue(requestKey).(*request) }

// begin reads the headers and gives the request an id: the client's own, if the
// log may hold it.
func (s *Server) begin(ctx *fasthttp.RequestCtx) *request {
	r := s.pools.requests.Get().(*request)
	r.id = r.id[:0]
	ctx.SetUserValue(requestKey, r)
	r.headers.read(&ctx.Request.Header)
	r.segment = strings.HasPrefix(s.pathOf(ctx), segmentPath)
	if id := string(r.headers.requestID); shortCode(id) != "" && scrub.Strict(id) == id {
		r.id = append(r.id, id...)
	} else {
		at := ctx.Time()
		if at.IsZero() { // a connection's first request, which could not be read
			at = time.Now()
		}
		r.id = appendRequestID(r.id, at)
	}
	setHeader(ctx, headerRequestID, r.id)
	setHeader(ctx, headerSniffing, noSniff)
	s.setStrict(ctx)
	return r
}

// requestID is the request's id; good while the request is handled.
func requestID(ctx *fasthttp.RequestCtx) string { return guard.TextOf(requestOf(ctx).id) }

// appendRequestID appends a UUIDv7. It is no secret: the runtime's generator is
// good enough for it.
func appendRequestID(dst []byte, at time.Time) []byte {
	var random [10]byte
	binary.NativeEndian.PutUint16(random[:], uint16(rand.Uint32())) //nolint:gosec // see above
	binary.NativeEndian.PutUint64(random[2:], rand.Uint64())        //nolint:gosec // see above
	return core.AppendUUIDv7(dst, at.UnixMilli(), random)
}

// Names of fields of answers, as fasthttp writes them.
var (
	headerRequestID = []byte("X-Request-Id")
	headerSniffing  = []byte("X-Content-Type-Options")
	headerVary      = []byte("Vary")
	noSniff         = []byte("nosniff") // a browser takes an answer for nothing else than its Content-Type says
	varyOrigin      = []byte("Origin")
)

func setHeader(ctx *fasthttp.RequestCtx, name, value []byte) {
	ctx.Response.Header.SetCanonical(name, value)
}
