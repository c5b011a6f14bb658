package rules

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

// renameForm asks for an influencer's new name.
func renameForm(v site.Request, i commerce.Influencer, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "r-"
	f.Add(site.Field{Name: "new_name", Required: true, Max: commerce.MaxName, Value: i.Name})
	return f
}

// rename gives an influencer another name, once it was shown what that moves.
func (s *Pages) rename(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	f, name := renameForm(v, i, r.PostForm), strings.TrimSpace(r.PostForm.Get("new_name"))
	f.Stored = renameForm(v, i, nil)
	if name == i.Name {
		s.back(w, r, v, "influencer_saved")
		return
	}
	f.Refuse(commerce.CheckNewName(name), map[string]string{"new_name": "new_name"})
	f.Say("new_name", i.Name+" → "+name)
	s.saveHere(w, r, v, i, f, influencerPage{Rename: f}, func(ctx context.Context) error {
		return s.db.UpdateInfluencer(ctx, s.Author(v), i.Name, commerce.InfluencerChange{Name: name})
	})
}

// formerNames are the names that an influencer had before, but for the present one in other letters.
func formerNames(i commerce.Influencer) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(i.FormerNames), func(name string) bool { return name == i.Name }), ", ")
}
