package edge

import (
	"encoding/json"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// maxKnownBody bounds a question about events, in bytes: 500 ids take 20 KB.
const maxKnownBody = 32 << 10

// knownEvents is POST /v1/known: which of these events has this edge acknowledged? The body is
// {"companyId", "eventIds": [UUIDv7, …]}, the answer {"known": [those]}. A page asks for
// what it has sent by beacon, which has no answer, so that it need not send it again. An event that
// is not named may be known all the same, to another edge: it is sent again, and counts once.
func (s *Server) knownEvents(ctx *fasthttp.RequestCtx) {
	now := s.deps.Now()
	from := s.principalOf(ctx, now)
	if refused := s.admit(&from, now); refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	body := requestOf(ctx).body.bytes
	tokens := tokensFor(0, len(body))
	s.charge(&from, now, tokens)
	if len(body) > maxKnownBody {
		s.refuse(ctx, refusedTooLarge)
		return
	}
	var asked struct {
		CompanyID string   `json:"companyId"`
		EventIDs  []string `json:"eventIds"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		s.refuse(ctx, refusal{http.StatusBadRequest, Code(core.CodeInvalidJSON),
			`the body must be {"companyId": text, "eventIds": [text, …]}`, 0})
		return
	}
	if len(asked.EventIDs) > core.MaxBatchEvents {
		s.refuse(ctx, refusal{http.StatusBadRequest, Code(core.CodeTooManyEvents), "ask for at most 500 events", 0})
		return
	}
	c, refused := s.findCompany(ctx, asked.CompanyID)
	if refused == nil && !c.open.Take(now, float64(tokens)) {
		refused = refusedRate(rateWait(c, tokens))
	}
	if refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	sender := s.duplicates.sender(c.CompanyID, wire.TrustOpen)
	answer := append([]byte(nil), `{"known":[`...)
	first := len(answer)
	for _, id := range asked.EventIDs {
		if core.ValidUUIDv7(id) && s.duplicates.acknowledged(s.duplicates.fingerprint(sender, uuidBytes(id))) {
			if len(answer) > first {
				answer = append(answer, ',')
			}
			answer = core.AppendString(answer, id)
		}
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(append(answer, `]}`...))
}

// forgetVisitor is POST /v1/forget: the browser is made to forget the server's visitor cookie, as
// after a log-out or a denial. Another site's page cannot do that.
func (s *Server) forgetVisitor(ctx *fasthttp.RequestCtx) {
	now := s.deps.Now()
	from := s.principalOf(ctx, now)
	if refused := s.admit(&from, now); refused != nil {
		s.refuse(ctx, *refused)
		return
	}
	s.charge(&from, now, tokensFor(0, len(requestOf(ctx).body.bytes)))
	if requestOf(ctx).headers.fromSameSite(ctx.Host()) {
		s.expireCookie(ctx)
	}
	ctx.SetStatusCode(http.StatusNoContent)
}
