package edge

import (
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/sdk/core"
)

// refuse answers {"error":{"code","message"},"request_id"}, and at Segment's routes as Segment does.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, r refusal) {
	s.metrics.refusals.WithLabelValues(string(r.code)).Inc()
	if r.retryAfter > 0 {
		seconds := int(r.retryAfter.Round(time.Second) / time.Second)
		ctx.Response.Header.Set("Retry-After", strconv.Itoa(max(1, seconds)))
	}
	if r.status == http.StatusUnauthorized {
		ctx.Response.Header.Set("WWW-Authenticate", "Bearer") // RFC 9110, 15.5.2
	}
	ctx.SetStatusCode(r.status)
	ctx.SetContentType("application/json")
	if requestOf(ctx).segment {
		ctx.SetBody(appendSegmentError(nil, string(r.code), r.message, requestID(ctx)))
		return
	}
	body := append([]byte(nil), `{"error":{"code":`...)
	body = core.AppendString(body, string(r.code))
	body = append(body, `,"message":`...)
	body = core.AppendString(body, r.message)
	body = append(body, `},"request_id":`...)
	body = core.AppendString(body, requestID(ctx))
	ctx.SetBody(append(body, '}'))
}

// result is what became of one event.
type result struct {
	eventID string
	status  status
	code    core.Code // of a rejected one
	message string
}

// saysAs tells whether another result says the same, of another event.
func (r *result) saysAs(other *result) bool {
	return r.status == other.status && r.code == other.code && r.message == other.message
}

// status is what became of one event.
type status string

const (
	statusOK        status = "ok"
	statusDuplicate status = "duplicate"
	statusRejected  status = "rejected"
	statusFailed    status = "failed" // in the metrics alone: the request was refused
)

// answer writes the results of a request whose events are all durable.
func (s *Server) answer(ctx *fasthttp.RequestCtx, d *delivery) {
	r, results, warned := requestOf(ctx), d.results, d.warnings.list
	body := append(r.answer[:0], `{"results":[`...)
	begin, end := 0, 0 // in body, of what follows the id in the result before
	for i := range results {
		r := &results[i]
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"eventId":`...)
		body = core.AppendString(body, r.eventID)
		if i > 0 && r.saysAs(&results[i-1]) {
			body = append(body, body[begin:end]...)
		} else {
			begin = len(body)
			body = append(body, `,"status":"`...)
			body = append(body, r.status...)
			body = append(body, '"')
			if r.code != "" {
				body = append(body, `,"code":`...)
				body = core.AppendString(body, string(r.code))
				body = append(body, `,"message":`...)
				body = core.AppendString(body, r.message)
			}
			end = len(body)
		}
		if len(warned) > 0 && warned[0].event == i {
			body, warned = appendWarnings(body, warned)
		}
		body = append(body, '}')
	}
	s.metrics.countEvents(results)
	body = append(body, `],"durability":`...)
	body = core.AppendString(body, string(d.durable))
	body = append(body, `,"request_id":`...)
	body = core.AppendString(body, guard.TextOf(r.id))
	body = append(body, '}')
	ctx.SetContentType("application/json")
	ctx.SetBody(body) // copies it
	r.answer = body
}
