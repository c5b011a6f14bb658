package rules

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Partners changes influencers as a whole.
type Partners interface {
	// RestoreInfluencer may return commerce.ErrNotFound and a *commerce.NameTakenError.
	RestoreInfluencer(ctx context.Context, author commerce.Author, influencerID, name string) (commerce.Restored, error)
	// EraseInfluencer removes what is known of the person, whose name confirms it: another one is commerce.ErrNotFound.
	EraseInfluencer(ctx context.Context, author commerce.Author, influencerID, name string) error
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
		_, err := s.partners.RestoreInfluencer(ctx, s.Author(v), id, "")
		return err
	})
	var taken *commerce.NameTakenError
	switch {
	case answered:
	case errors.As(err, &taken):
		s.refuseRestore(w, r, v, id, taken)
	case err != nil:
		s.NotFoundOr(w, r, err, "no_influencer")
	default:
		s.back(w, r, v, "influencer_restored")
	}
}

// refuseRestore says whose the name of an archived influencer is, and what to do.
func (s *Pages) refuseRestore(w http.ResponseWriter, r *http.Request, v site.Request, id string, taken *commerce.NameTakenError) {
	i, err := s.db.Influencer(r.Context(), v.Current.CompanyID, id)
	if err != nil {
		s.NotFoundOr(w, r, err, "no_influencer")
		return
	}
	alert := v.Lang.T("influencer.restore_taken", i.Name)
	if fold.Name(taken.Influencer) != fold.Name(i.Name) {
		alert = v.Lang.T("influencer.restore_former", i.Name, taken.Influencer)
	}
	s.showKnown(w, r, v, i, http.StatusConflict, influencerPage{Alert: alert})
}

// eraseForm asks for the influencer's name, which confirms that the person is erased.
func eraseForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "e-"
	f.Add(site.Field{Name: "confirm_name", Required: true, Max: commerce.MaxName})
	return f
}

// erase removes for good what is known of an influencer's person, archived or not.
func (s *Pages) erase(w http.ResponseWriter, r *http.Request, v site.Request) {
	id, f := strings.ToLower(r.URL.Query().Get("id")), eraseForm(v, r.PostForm)
	err := error(commerce.ErrNotFound)
	var i commerce.Influencer
	if uuidtext.Is(id) {
		i, err = s.db.Influencer(r.Context(), v.Current.CompanyID, id)
	}
	if err == nil && fold.Name(r.PostForm.Get("confirm_name")) != fold.Name(i.Name) {
		f.Fail("confirm_name", v.Lang.T("influencer.confirm_wrong"))
		s.showKnown(w, r, v, i, f.Status(), influencerPage{Erase: f})
		return
	}
	if err == nil {
		err = s.partners.EraseInfluencer(r.Context(), s.Author(v), id, i.Name)
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_influencer")
		return
	}
	s.back(w, r, v, "influencer_erased")
}
