package login

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	// mostMembers bounds the list of a store's people.
	mostMembers = 500
	resetLife   = 24 * time.Hour
	// toldFor is how long owners read that a link for a password was made or used.
	toldFor  = 30 * 24 * time.Hour
	mostTold = 20
)

// InvitationLife is how long a link to come into a store works.
const InvitationLife = 7 * 24 * time.Hour

// peoplePage is what templates/people.html shows.
type peoplePage struct {
	site.Head
	Form  *site.Form
	List  []memberRow
	Links []linkRow
	Told  []string // links for passwords that were made or used lately
	// Link is a one-time link that was made just now, for LinkOf: it is shown once.
	Link, LinkOf string
}

type memberRow struct {
	ID, Email, Role, RoleText string
	Seen                      string
	You                       bool
	Others                    []site.Option // the roles that they do not have
}

type linkRow struct{ ID, Email, What, Until string }

func (s *Pages) peopleRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.PeoplePath, Owner: true, Handle: s.peoplePage},
		{Pattern: "POST " + site.PeoplePath + "/invite", Owner: true, Handle: s.invite, Always: true},
		{Pattern: "POST " + site.PeoplePath + "/reset", Owner: true, Handle: s.resetPassword, Always: true},
		{Pattern: "POST " + site.PeoplePath + "/withdraw", Owner: true, Handle: s.withdraw, Always: true},
		{Pattern: "POST " + site.PeoplePath + "/role", Owner: true, Handle: s.changeMember, Always: true},
		{Pattern: "POST " + site.PeoplePath + "/remove", Owner: true, Handle: s.changeMember, Always: true},
		{Pattern: "GET " + site.PeoplePath + site.CSVEnding, Owner: true,
			Handle: s.File("people", []string{"person_id", "email", "role", "last_seen", "invited_until"}, s.peopleFile)},
	}
}

func (s *Pages) peoplePage(w http.ResponseWriter, r *http.Request, v site.Request) {
	page := peoplePage{Form: invitationForm(v, nil)}
	if made := s.TakeMade(w, r, v, site.PeoplePath, 2); made != nil {
		page.LinkOf, page.Link = made[0], made[1]
	}
	s.showPeople(w, r, v, http.StatusOK, page)
}

func (s *Pages) showPeople(w http.ResponseWriter, r *http.Request, v site.Request, status int, page peoplePage) {
	v.Here = v.Path(site.PeoplePath)
	page.Head = v.Head(v.Lang.T("people.title"), "people")
	page.File = v.Path(site.PeoplePath + site.CSVEnding)
	members, err := s.db.Members(r.Context(), v.Current.StoreID, mostMembers)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := v.Zone()
	for _, m := range members {
		row := memberRow{ID: m.PersonID, Email: m.Email, Role: m.Role, RoleText: v.Lang.T("role." + m.Role), You: m.PersonID == v.Access.PersonID}
		for _, role := range account.Roles {
			if role != m.Role {
				row.Others = append(row.Others, site.Option{Value: role, Label: v.Lang.T("people.make_" + role)})
			}
		}
		if !m.LastSeen.IsZero() {
			row.Seen = v.Lang.Time(m.LastSeen.In(zone))
		}
		page.List = append(page.List, row)
	}
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.PersonID
	}
	if page.Versions, err = s.VersionsOf(r.Context(), v.LiveCompany(), ids...); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if page.Told, err = s.told(r.Context(), v, members, ids); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	open, err := s.db.Invitations(r.Context(), v.Current.StoreID, s.Now())
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	for _, i := range open {
		what := v.Lang.T("people.link_reset")
		if !i.Reset() {
			what = v.Lang.T("people.link_invitation", v.Lang.T("role."+i.Role))
		}
		page.Links = append(page.Links, linkRow{i.ID, i.Email, what, v.Lang.Time(i.ExpiresAt.In(zone))})
	}
	s.Render(w, r, status, "people.html", page)
}

// told says which links for passwords were made and used lately: there is no mail, so every owner reads it here.
func (s *Pages) told(ctx context.Context, v site.Request, members []account.Member, ids []string) (list []string, err error) {
	links, err := s.db.PasswordLinks(ctx, v.LiveCompany(), ids, s.Now().Add(-toldFor), mostTold)
	if err != nil {
		return nil, err
	}
	emails := map[string]string{}
	for _, m := range members {
		emails["user/"+m.PersonID] = m.Email
	}
	zone := v.Zone()
	for _, l := range links {
		of, at := emails["user/"+l.PersonID], v.Lang.Time(l.At.In(zone))
		if l.Used {
			list = append(list, v.Lang.T("people.told_used", of, at))
			continue
		}
		by := emails[l.Actor]
		if by == "" { // no member any more
			by = "–"
		}
		list = append(list, v.Lang.T("people.told_made", of, at, by))
	}
	return list, nil
}

func invitationForm(v site.Request, values map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "people", values)
	f.Add(site.Field{Name: "email", Type: "email", Required: true, Max: account.MaxEmail})
	f.Add(site.Field{Name: "role", Type: "select", Value: account.RoleAnalyst,
		Options: f.Options("role", account.RoleAnalyst, account.RoleFinance, account.RoleOwner)})
	return f
}

func (s *Pages) invite(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := invitationForm(v, r.PostForm)
	asked := s.invitationOf(v, InvitationLife)
	asked.Email, asked.Role = strings.ToLower(strings.TrimSpace(r.PostForm.Get("email"))), r.PostForm.Get("role")
	f.Refuse(asked.Check(), nil)
	if f.Failed() {
		s.showPeople(w, r, v, http.StatusUnprocessableEntity, peoplePage{Form: f})
		return
	}
	s.makeLink(w, r, v, f, asked, asked.Email)
}

func (s *Pages) resetPassword(w http.ResponseWriter, r *http.Request, v site.Request) {
	asked := s.invitationOf(v, resetLife)
	if asked.PersonID = r.PostForm.Get("person"); !uuidtext.Is(asked.PersonID) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_person")
		return
	}
	s.makeLink(w, r, v, invitationForm(v, nil), asked, r.PostForm.Get("email"))
}

func (s *Pages) invitationOf(v site.Request, life time.Duration) account.NewInvitation {
	return account.NewInvitation{StoreID: v.Current.StoreID, CompanyID: v.LiveCompany(), MadeBy: v.Access.PersonID, At: s.Now(),
		Life: life, Random: s.Random}
}

// makeLink makes a one-time link and shows it, once: there is no mail server, so
// the owner hands it on.
func (s *Pages) makeLink(w http.ResponseWriter, r *http.Request, v site.Request, f *site.Form, asked account.NewInvitation,
	of string) {
	var token [32]byte
	if _, err := io.ReadFull(s.Random, token[:]); err != nil {
		s.Unavailable(w, r, fmt.Errorf("dashboard: make a link: %w", err))
		return
	}
	err := s.db.Invite(r.Context(), asked, hashToken(token))
	switch {
	case errors.Is(err, account.ErrElsewhere):
		f.Fail("", v.Lang.T("people.elsewhere", of))
	case errors.Is(err, account.ErrTooManyInvitations):
		f.Fail("", v.Lang.T("people.too_many", account.MaxInvitations))
	case err != nil:
		s.NotFoundOr(w, r, err, "no_person")
		return
	}
	if f.Failed() {
		s.showPeople(w, r, v, http.StatusConflict, peoplePage{Form: f})
		return
	}
	s.Made(w, r, v, site.PeoplePath, nil, of, s.OriginFor(r)+JoinPath+"?token="+base64.RawURLEncoding.EncodeToString(token[:]))
}

func (s *Pages) withdraw(w http.ResponseWriter, r *http.Request, v site.Request) {
	id := r.PostForm.Get("link")
	err := error(commerce.ErrNotFound)
	if uuidtext.Is(id) {
		err = s.db.WithdrawInvitation(r.Context(), s.membershipOf(v, ""), id)
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_person")
		return
	}
	site.Done(w, r, v.Path(site.PeoplePath), "link_withdrawn")
}

func (s *Pages) membershipOf(v site.Request, personID string) account.MembershipChange {
	return account.MembershipChange{StoreID: v.Current.StoreID, CompanyID: v.LiveCompany(), PersonID: personID, Actor: v.Actor()}
}

// changeMember changes a role, or takes somebody from the store.
func (s *Pages) changeMember(w http.ResponseWriter, r *http.Request, v site.Request) {
	change, what := s.membershipOf(v, r.PostForm.Get("person")), "person_removed"
	if strings.HasSuffix(r.URL.Path, "/role") {
		change.Role, what = r.PostForm.Get("role"), "role_changed"
		if !slices.Contains(account.Roles, change.Role) {
			s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
			return
		}
	}
	err := error(commerce.ErrNotFound)
	if uuidtext.Is(change.PersonID) {
		err = s.db.ChangeMembership(r.Context(), change)
	}
	if errors.Is(err, account.ErrLastOwner) {
		f := invitationForm(v, nil)
		f.Fail("", v.Lang.T("people.last_owner"))
		s.showPeople(w, r, v, http.StatusConflict, peoplePage{Form: f})
		return
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_person")
		return
	}
	s.config.Recheck()
	if change.PersonID == v.Access.PersonID { // they may not see this page any more
		http.Redirect(w, r, "/dashboard/", http.StatusSeeOther)
		return
	}
	site.Done(w, r, v.Path(site.PeoplePath), what)
}

// peopleFile lists who may log in, then who is invited.
func (s *Pages) peopleFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	members, err := s.db.Members(ctx, v.Current.StoreID, mostMembers)
	if err != nil {
		return err
	}
	for _, m := range members {
		f.Add(m.PersonID, m.Email, m.Role, site.MomentText(m.LastSeen), "")
	}
	open, err := s.db.Invitations(ctx, v.Current.StoreID, s.Now())
	if err != nil {
		return err
	}
	for _, i := range open {
		if i.Reset() { // of somebody who is listed already
			continue
		}
		f.Add("", i.Email, i.Role, "", site.MomentText(i.ExpiresAt))
	}
	return nil
}
