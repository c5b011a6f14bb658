package rules

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// detailLine is one thing that is known of an influencer's person.
type detailLine struct{ Name, Value string }

// viewDetails are the lines of an influencer's details: masked, but for owners.
func viewDetails(v site.Request, d commerce.Details) (list []detailLine) {
	if !v.MayChange() {
		d = d.Masked()
	}
	pix := ""
	if d.Pix.Type != "" {
		pix = v.Lang.T("influencer.pix_type_"+d.Pix.Type) + ": " + shownPix(d.Pix)
	}
	for _, line := range []detailLine{{"email", d.Email}, {"phone", d.Phone}, {"document", commerce.ShownDocument(d.Document)}, {"pix", pix},
		{"handles", strings.Join(d.Handles, ", ")}, {"notes", d.Notes}} {
		if line.Value != "" {
			list = append(list, detailLine{v.Lang.T("influencer." + line.Name), line.Value})
		}
	}
	return list
}

// shownPix writes a key as people know it.
func shownPix(p commerce.Pix) string {
	if p.Type == commerce.PixCPF || p.Type == commerce.PixCNPJ {
		return commerce.ShownDocument(p.Key)
	}
	return p.Key
}

// detailsForm asks for what is known of an influencer's person; nil for those who may not see all of it.
func (s *Pages) detailsForm(v site.Request, d commerce.Details, typed map[string][]string) *site.Form {
	if !v.MayChange() {
		return nil
	}
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "d-"
	f.Add(site.Field{Name: "email", Type: "email", Value: d.Email, Max: 254})
	f.Add(site.Field{Name: "phone", Type: "tel", Value: d.Phone, Max: 64})
	f.Add(site.Field{Name: "document", Value: commerce.ShownDocument(d.Document), Max: 28})
	f.Add(site.Field{Name: "pix_type", Type: "select", Value: d.Pix.Type,
		Options: f.Options("pix_type", append([]string{""}, commerce.PixTypes...)...)})
	f.Add(site.Field{Name: "pix_key", Value: shownPix(d.Pix), Max: 100})
	f.Add(site.Field{Name: "handles", Type: "textarea", Value: strings.Join(d.Handles, "\n")})
	f.Add(site.Field{Name: "notes", Type: "textarea", Value: d.Notes, Max: commerce.MaxNotes})
	return f
}

// detailNames are the fields of the form, by the paths of violations.
var detailNames = map[string]string{"details.email": "email", "details.phone": "phone", "details.document": "document",
	"details.pix.type": "pix_type", "details.pix.key": "pix_key", "details.handles": "handles", "details.notes": "notes"}

// setDetails saves what is known of an influencer's person.
func (s *Pages) setDetails(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	f, get := s.detailsForm(v, i.Details, r.PostForm), r.PostForm.Get
	asked := commerce.DetailsChange{
		Email: wire.Some(get("email")), Phone: wire.Some(get("phone")), Document: wire.Some(get("document")), Notes: wire.Some(get("notes")),
		Pix: wire.Some(commerce.Pix{Type: get("pix_type"), Key: get("pix_key")}),
		Handles: wire.Some(slices.DeleteFunc(strings.Split(strings.ReplaceAll(get("handles"), "\r", ""), "\n"),
			func(line string) bool { return strings.TrimSpace(line) == "" })),
	}
	f.Refuse(asked.Check(func(raw string) string { return identity.NormalPhone(raw, company.Country) }), detailNames)
	if f.Failed() {
		s.showInfluencer(w, r, v, http.StatusUnprocessableEntity, influencerPage{Details: f})
		return
	}
	if s.hasher != nil {
		asked.Keys = facts.PartnerKeys(asked, s.hasher.Company(company.CompanyID, company.Country))
	}
	err = s.OnKafka(r, v, s.db.UpdateInfluencer(r.Context(), s.Author(v), i.Name, commerce.InfluencerChange{Details: asked,
		OffersMessage: true}))
	if err != nil {
		s.NotFoundOr(w, r, err, "no_influencer")
		return
	}
	s.back(w, r, v, "influencer_saved")
}
