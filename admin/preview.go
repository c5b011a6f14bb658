package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/preview"
)

// previewPath is the route that says what a change would move.
const previewPath = "/preview"

// previewed is a kind of change that can be previewed: as the audit log names it, with
// the scope of the route that makes it.
type previewed struct {
	name  string
	scope account.Scope
	read  changeReader
}

// previewed returns every kind of change that can be previewed.
func (s *Server) previewed() []previewed {
	return []previewed{
		{"influencer.create", account.WriteInfluencers, s.createInfluencer},
		{"influencer.update", account.WriteInfluencers, s.updateInfluencer},
		{"influencer.archive", account.WriteInfluencers, s.deleteInfluencer},
		{"influencer.restore", account.WriteInfluencers, s.restoreInfluencer},
		{"coupon.create", account.WriteInfluencers, s.createCoupon},
		{"coupon.delete", account.WriteInfluencers, s.deleteCoupon},
		{"cost.create", account.WriteInfluencers, s.createInfluencerCost},
		{"cost.delete", account.WriteInfluencers, s.deleteInfluencerCost},
		{"order.evidence", account.WriteEvidence, s.decideEvidence},
		{"order.assign", account.AssignOrders, s.assignOrder},
	}
}

// preview is POST /preview: what a change would move. It is refused as the change itself
// would be, and changes nothing.
func (s *Server) preview(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	if s.deps.Previews == nil {
		return answer{}, notFound("there are no previews here")
	}
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	asked := required(o, "change", func(value any) (map[string]any, *fault) {
		values, ok := value.(map[string]any)
		if !ok {
			return nil, wrongType("an object", value)
		}
		return values, nil
	})
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	change := newBody(asked)
	change.notes.strict = o.notes.strict
	found, err := s.previewOf(r.Context(), c, change)
	if err != nil {
		return answer{}, ofChange(err)
	}
	for _, warning := range change.notes.warnings {
		warning.Field = "change." + warning.Field
		o.notes.add(warning)
	}
	return answer{data: found}, nil
}

// previewOf previews a change: the body of its route, with a type.
func (s *Server) previewOf(ctx context.Context, c caller, o object) (*preview.Answer, error) {
	name := required(o, "type", word)
	kinds := s.previewed()
	i := slices.IndexFunc(kinds, func(k previewed) bool { return k.name == name })
	if i < 0 && !o.bad.Any() {
		var names []string
		for _, k := range kinds {
			names = append(names, k.name)
		}
		o.bad.Add("type", commerce.CodeInvalidValue, "must be one of %s", strings.Join(names, ", "))
	}
	if err := brokenRules(o.bad); err != nil {
		return nil, err
	}
	if !c.has(kinds[i].scope) {
		return nil, missingScope(kinds[i].scope)
	}
	made, err := kinds[i].read(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return s.deps.Previews.Preview(ctx, c.companyID, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
		defer cancel()
		_, err := made(ctx, c.author(s.now()))
		return err
	})
}

// PreviewChange previews a change in a company without a server: text is the field
// "change" of POST /preview. An error says all that is wrong with it.
func PreviewChange(ctx context.Context, db Database, previews Previews, companyID, actor string, text []byte) (*preview.Answer, error) {
	s := &Server{
		deps: Deps{Database: db, Previews: previews}, now: time.Now, random: rand.Reader,
		links: newLinkPolicy(net.DefaultResolver, true), accepted: newAcceptedOrders(1),
	}
	s.config.defaults()
	o, err := parseObject(text)
	var found *preview.Answer
	if err == nil {
		o.notes.strict = true // who typed it can mend it
		found, err = s.previewOf(ctx, caller{companyID: companyID, actor: actor, scopes: account.Scopes}, o)
	}
	var p *problem
	if errors.As(err, &p) {
		wrong := []error{errors.New(p.message)}
		for _, d := range p.details {
			wrong = append(wrong, errors.New(d.Field+" "+d.Message))
		}
		return nil, errors.Join(wrong...)
	}
	return found, err
}

// ofChange returns an error of a change with the paths of its fields as they are in a
// preview's body.
func ofChange(err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return err
	}
	moved := *p
	moved.details, moved.data = slices.Clone(p.details), nil
	for i := range moved.details {
		moved.details[i].Field = "change." + moved.details[i].Field
	}
	return &moved
}

// missingScope is the 403 of a key that lacks a scope.
func missingScope(scope account.Scope) *problem {
	return &problem{status: http.StatusForbidden, code: codeScope, message: "this needs an API key with the scope " + string(scope)}
}
