package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Viewer is live.Deps.Viewer: the same cookies open a websocket.
func (s *Pages) Viewer(w http.ResponseWriter, r *http.Request, companyID string) (live.Viewer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), site.Timeout)
	defer cancel()
	a, err := s.authenticate(w, r.WithContext(ctx))
	if err != nil {
		return live.Viewer{}, viewerError(err)
	}
	if companyID == "" {
		return live.Viewer{}, fmt.Errorf("dashboard: company: %w", commerce.ErrNotFound)
	}
	v, err := s.requestOf(ctx, a, companyID)
	if err != nil {
		return live.Viewer{}, viewerError(err)
	}
	return live.Viewer{PersonID: a.PersonID, Family: a.Family, Company: v.Current, Until: a.Until}, nil
}

// viewerError tells a person who may not look from a store that does not answer.
func viewerError(err error) error {
	if errors.Is(err, errNotLoggedIn) || errors.Is(err, errNoStore) || errors.Is(err, commerce.ErrNotFound) ||
		errors.Is(err, commerce.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", commerce.ErrUnavailable, err)
}
