package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// statementLink is a link as it is answered.
type statementLink struct {
	URL     string `json:"url"`
	Expires string `json:"expires_at"`
}

// linkStatement is POST /statements/{id}/link: makes a signed link that shows the
// influencer the statement without a log-in.
func (s *Server) linkStatement(ctx context.Context, r *http.Request, c caller, o object) (answer, error) {
	days := int64(statementlink.Days)
	if given := optional(o, "days", integer); given.Valid {
		if days = given.Value; days < 1 || days > statementlink.MostDays {
			o.bad.Add("days", commerce.CodeOutOfRange, "must be from 1 to %d", statementlink.MostDays)
		}
	}
	revoke := optional(o, "revoke", boolean).Value
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	id := strings.ToLower(r.PathValue("id"))
	if s.deps.Links == nil || !uuidtext.Is(id) {
		return answer{}, noStatement()
	}
	statement, err := s.deps.Database.Statement(ctx, c.companyID, id)
	var number int64
	if err == nil {
		number, err = s.deps.Database.LinkNumber(ctx, c.author(s.now()), id, revoke)
	}
	if err != nil {
		return answer{}, missing(err, noStatement())
	}
	expires := s.now().Add(time.Duration(days) * 24 * time.Hour).Truncate(time.Second)
	url, err := s.deps.Links.StatementLink(r,
		statementlink.Link{CompanyID: c.companyID, StatementID: id, InfluencerID: statement.InfluencerID, Number: number, Expires: expires})
	if err != nil {
		return answer{}, err
	}
	return answer{data: statementLink{url, expires.UTC().Format(timestampFormat)}}, nil
}
