package edge

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"net"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
)

// Steps in which a body gets memory, in bytes. After secondBody each step doubles it.
const (
	secondBody = 64 << 10
	restBodies = 4 // after one that is refused: times the largest body
)

// body is a request's body, and what it has taken of the bound.
type body struct {
	bytes []byte // used again by the next request

	of        *guard.Memory
	principal uint64
	taken     int
}

// end gives back what the body has taken.
func (b *body) end() {
	if b.taken > 0 {
		b.of.Give(b.principal, b.taken)
		b.taken = 0
	}
}

// beforeBody is fasthttp.Server's HeaderReceived: of a body that is announced to be too large
// one byte is waited for, as fasthttp does at least.
func (s *Server) beforeBody(header *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if header.ContentLength() > s.config.MaxBody {
		c.MaxRequestBodySize = 1
	}
	return c
}

// readBody reads the request's body to its end, or answers why it cannot, and then
// the connection ends: what follows is no request. The body has memory for what has
// arrived: a client may announce 1 MiB and send it slowly, or not at all.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, b *body) (whole bool) {
	b.bytes = b.bytes[:0]
	from := ctx.RequestBodyStream()
	if from == nil { // it has none, or one that is there as a whole
		b.bytes = append(b.bytes, ctx.PostBody()...)
		return true
	}
	announced := ctx.Request.Header.ContentLength() // below 0: it comes in chunks
	if announced < 0 && hasLength(ctx.Request.Header.RawHeaders()) {
		s.refuseBody(ctx, refusedTwoLengths, 0)
		return false
	}
	if announced > s.config.MaxBody {
		s.refuseBody(ctx, refusedTooLarge, s.config.MaxBody)
		return false
	}
	most := announced
	if announced < 0 {
		most = s.config.MaxBody + 1
	}
	room := min(guard.FreeBody, most)
	for len(b.bytes) != announced {
		if len(b.bytes) == room {
			if room == most {
				s.refuseBody(ctx, refusedTooLarge, room)
				return false
			}
			next := min(max(secondBody, 2*room), most)
			if !s.takeBody(ctx, b, next-room) {
				s.metrics.refusedBodies.Inc()
				s.refuseBody(ctx, refusedBusy, room)
				return false
			}
			room = next
		}
		b.bytes = slices.Grow(b.bytes, room-len(b.bytes))
		n, err := from.Read(b.bytes[len(b.bytes):room])
		b.bytes = b.bytes[:len(b.bytes)+n]
		// fasthttp does not tell the end of chunks from that of a connection between two of them.
		if errors.Is(err, io.EOF) && (announced < 0 || len(b.bytes) == announced) {
			break
		}
		if err != nil {
			s.chargeBody(ctx, len(b.bytes))
			s.refuseRest(ctx, refusedRead(err))
			return false
		}
	}
	return true
}

// hasLength tells whether a request's header lines have a Content-Length. fasthttp forgets
// it beside chunks.
func hasLength(lines []byte) bool {
	for line := range bytes.Lines(lines) {
		if name, _, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			return true
		}
	}
	return false
}

// takeBody takes n more bytes for a body, of what those have who show an API key that may
// be used, or of what all others have.
func (s *Server) takeBody(ctx *fasthttp.RequestCtx, b *body, n int) (taken bool) {
	if b.taken == 0 {
		from := s.principalOf(ctx, s.deps.Now())
		b.of, b.principal = s.openBodies, from.network
		if from.company != nil {
			b.of, b.principal = s.keyedBodies, maphash.String(s.seed, from.company.CompanyID)
		}
	}
	if taken = b.of.Take(b.principal, n); taken {
		b.taken += n
	}
	return taken
}

// refuseBody refuses a request of whose body so many bytes were read, reads on for a while, so
// that the client sees the answer, and charges for all.
func (s *Server) refuseBody(ctx *fasthttp.RequestCtx, r refusal, read int) {
	if conn := guard.ConnectionOf(ctx.Conn()); conn != nil {
		read += guard.ReadRest(conn.Conn, restBodies*s.config.MaxBody, conn.ReadDeadline(), time.Now)
	}
	s.chargeBody(ctx, read)
	s.refuseRest(ctx, r)
}

// chargeBody takes the tokens of a body that is refused before it is whole.
func (s *Server) chargeBody(ctx *fasthttp.RequestCtx, read int) {
	now := s.deps.Now()
	from := s.principalOf(ctx, now)
	s.charge(&from, now, tokensFor(0, read))
}

// refuseRest refuses a request that was not read to its end.
func (s *Server) refuseRest(ctx *fasthttp.RequestCtx, r refusal) {
	ctx.SetConnectionClose()
	s.allowOrigin(ctx)
	s.refuse(ctx, r)
}

// refusedRead is why a request could not be read.
func refusedRead(err error) refusal {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.As(err, &small):
		return refusedHeaders
	case errors.As(err, &network) && network.Timeout():
		return refusedTooSlow
	}
	return refusedUnreadable
}
