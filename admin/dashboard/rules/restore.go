package rules

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Partners changes influencers as a whole.
type Partners interface {
	// RestoreInfluencer may return commerce.ErrNotFound and ErrNameTaken.
	RestoreInfluencer(ctx context.Context, author commerce.Author, influencerID string) (commerce.Restored, error)
}

// stateArchived, in the parameter "state" of the list, leaves only influencers who are archived.
const stateArchived = "archived"

// restore takes an influencer back who is archived, once what it moves was shown.
func (s *Pages) restore(w http.ResponseWriter, r *http.Request, v site.Request) {
	id := strings.ToLower(r.URL.Query().Get("id"))
	if !uuidtext.Is(id) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_influencer")
		return
	}
	i := commerce.Influencer{InfluencerID: id}
	answered, err := s.save(w, r, v, nil, s.influencerHere(v, i), func(ctx context.Context) error {
		_, err := s.partners.RestoreInfluencer(ctx, s.Author(v), id)
		return err
	})
	switch {
	case answered:
	case errors.Is(err, commerce.ErrNameTaken):
		s.ProblemOf(w, r, http.StatusConflict, "name_taken")
	case err != nil:
		s.NotFoundOr(w, r, err, "no_influencer")
	default:
		s.back(w, r, v, "influencer_restored")
	}
}
