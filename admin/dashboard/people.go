package dashboard

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	// mostMembers bounds the list of a store's people.
	mostMembers = 500
	resetLife   = 24 * time.Hour
)

// InvitationLife is how long a link to come into a store works.
const InvitationLife = 7 * 24 * time.Hour

// peoplePage is what templates/people.html shows.
type peoplePage struct {
	head
	Form  *form
	List  []memberRow
	Links []linkRow
	// Link is a one-time link that was made just now, for LinkOf: it is shown once.
	Link, LinkOf string
}

type memberRow struct {
	ID, Email, Role, RoleText string
	Seen                      string
	You                       bool
}

type linkRow struct{ ID, Email, What, Until string }

func (s *loginPages) peopleRoutes() []route {
	return []route{
		{pattern: "GET " + peoplePath, owner: true, handle: s.peoplePage},
		{pattern: "POST " + peoplePath + "/invite", owner: true, handle: s.invite, always: true},
		{pattern: "POST " + peoplePath + "/reset", owner: true, handle: s.resetPassword, always: true},
		{pattern: "POST " + peoplePath + "/withdraw", owner: true, handle: s.withdraw, always: true},
		{pattern: "POST " + peoplePath + "/role", owner: true, handle: s.changeMember, always: true},
		{pattern: "POST " + peoplePath + "/remove", owner: true, handle: s.changeMember, always: true},
		{pattern: "GET " + peoplePath + csvEnding, owner: true,
			handle: s.file("people", []string{"person_id", "email", "role", "last_seen", "invited_until"}, s.peopleFile)},
	}
}

func (s *loginPages) peoplePage(w http.ResponseWriter, r *http.Request, v pageRequest) {
	s.showPeople(w, r, v, http.StatusOK, peoplePage{Form: invitationForm(v, nil)})
}

func (s *loginPages) showPeople(w http.ResponseWriter, r *http.Request, v pageRequest, status int, page peoplePage) {
	v.here = storePath(peoplePath, v.current.CompanyID)
	page.head = v.head(v.lang.T("people.title"), "people")
	page.File = storePath(peoplePath+csvEnding, v.current.CompanyID)
	members, err := s.db.Members(r.Context(), v.current.StoreID, mostMembers)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	zone := zoneOf(v.current.Timezone)
	for _, m := range members {
		row := memberRow{ID: m.PersonID, Email: m.Email, Role: m.Role, RoleText: v.lang.T("role." + m.Role), You: m.PersonID == v.access.personID}
		if !m.LastSeen.IsZero() {
			row.Seen = v.lang.Time(m.LastSeen.In(zone))
		}
		page.List = append(page.List, row)
	}
	open, err := s.db.Invitations(r.Context(), v.current.StoreID, s.Now())
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	for _, i := range open {
		what := v.lang.T("people.link_reset")
		if !i.Reset() {
			what = v.lang.T("people.link_invitation", v.lang.T("role."+i.Role))
		}
		page.Links = append(page.Links, linkRow{i.ID, i.Email, what, v.lang.Time(i.ExpiresAt.In(zone))})
	}
	s.render(w, r, status, "people.html", page)
}

func invitationForm(v pageRequest, values map[string][]string) *form {
	f := newForm(v.lang, "people", values)
	f.add(field{Name: "email", Type: "email", Required: true, Max: account.MaxEmail})
	f.add(field{Name: "role", Type: "select", Value: account.RoleAnalyst,
		Options: f.options("role", account.RoleAnalyst, account.RoleOwner)})
	return f
}

func (s *loginPages) invite(w http.ResponseWriter, r *http.Request, v pageRequest) {
	f := invitationForm(v, r.PostForm)
	asked := s.invitationOf(v, InvitationLife)
	asked.Email, asked.Role = strings.ToLower(strings.TrimSpace(r.PostForm.Get("email"))), r.PostForm.Get("role")
	f.refuse(asked.Check(), nil)
	if f.Failed() {
		s.showPeople(w, r, v, http.StatusUnprocessableEntity, peoplePage{Form: f})
		return
	}
	s.makeLink(w, r, v, f, asked, asked.Email)
}

func (s *loginPages) resetPassword(w http.ResponseWriter, r *http.Request, v pageRequest) {
	asked := s.invitationOf(v, resetLife)
	if asked.PersonID = r.PostForm.Get("person"); !uuidtext.Is(asked.PersonID) {
		s.problemOf(w, r, http.StatusNotFound, "no_person")
		return
	}
	s.makeLink(w, r, v, invitationForm(v, nil), asked, r.PostForm.Get("email"))
}

func (s *loginPages) invitationOf(v pageRequest, life time.Duration) account.NewInvitation {
	return account.NewInvitation{StoreID: v.current.StoreID, CompanyID: v.liveCompany(), MadeBy: v.access.personID, At: s.Now(),
		Life: life, Random: s.Random}
}

// makeLink makes a one-time link and shows it, once: there is no mail server, so
// the owner hands it on.
func (s *loginPages) makeLink(w http.ResponseWriter, r *http.Request, v pageRequest, f *form, asked account.NewInvitation, of string) {
	var token [32]byte
	if _, err := io.ReadFull(s.Random, token[:]); err != nil {
		s.unavailable(w, r, fmt.Errorf("dashboard: make a link: %w", err))
		return
	}
	err := s.db.Invite(r.Context(), asked, hashToken(token))
	switch {
	case errors.Is(err, account.ErrElsewhere):
		f.fail("", v.lang.T("people.elsewhere", of))
	case errors.Is(err, account.ErrTooManyInvitations):
		f.fail("", v.lang.T("people.too_many", account.MaxInvitations))
	case err != nil:
		s.notFoundOr(w, r, err, "no_person")
		return
	}
	if f.Failed() {
		s.showPeople(w, r, v, http.StatusConflict, peoplePage{Form: f})
		return
	}
	s.showPeople(w, r, v, http.StatusOK, peoplePage{
		Form: invitationForm(v, nil), LinkOf: of,
		Link: s.originFor(r) + JoinPath + "?token=" + base64.RawURLEncoding.EncodeToString(token[:]),
	})
}

func (s *loginPages) withdraw(w http.ResponseWriter, r *http.Request, v pageRequest) {
	id := r.PostForm.Get("link")
	err := error(commerce.ErrNotFound)
	if uuidtext.Is(id) {
		err = s.db.WithdrawInvitation(r.Context(), s.membershipOf(v, ""), id)
	}
	if err != nil {
		s.notFoundOr(w, r, err, "no_person")
		return
	}
	done(w, r, storePath(peoplePath, v.current.CompanyID), "link_withdrawn")
}

func (s *loginPages) membershipOf(v pageRequest, personID string) account.MembershipChange {
	return account.MembershipChange{StoreID: v.current.StoreID, CompanyID: v.liveCompany(), PersonID: personID, Actor: v.actor()}
}

// changeMember changes a role, or takes somebody from the store.
func (s *loginPages) changeMember(w http.ResponseWriter, r *http.Request, v pageRequest) {
	change, what := s.membershipOf(v, r.PostForm.Get("person")), "person_removed"
	if strings.HasSuffix(r.URL.Path, "/role") {
		change.Role, what = r.PostForm.Get("role"), "role_changed"
		if change.Role != account.RoleOwner && change.Role != account.RoleAnalyst {
			s.problemOf(w, r, http.StatusBadRequest, "bad_form")
			return
		}
	}
	err := error(commerce.ErrNotFound)
	if uuidtext.Is(change.PersonID) {
		err = s.db.ChangeMembership(r.Context(), change)
	}
	if errors.Is(err, account.ErrLastOwner) {
		f := invitationForm(v, nil)
		f.fail("", v.lang.T("people.last_owner"))
		s.showPeople(w, r, v, http.StatusConflict, peoplePage{Form: f})
		return
	}
	if err != nil {
		s.notFoundOr(w, r, err, "no_person")
		return
	}
	s.config.Recheck()
	if change.PersonID == v.access.personID { // they may not see this page any more
		http.Redirect(w, r, "/dashboard/", http.StatusSeeOther)
		return
	}
	done(w, r, storePath(peoplePath, v.current.CompanyID), what)
}

// peopleFile lists who may log in, then who is invited.
func (s *loginPages) peopleFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	members, err := s.db.Members(ctx, v.current.StoreID, mostMembers)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := f.add(m.PersonID, m.Email, m.Role, momentText(m.LastSeen), ""); err != nil {
			return err
		}
	}
	open, err := s.db.Invitations(ctx, v.current.StoreID, s.Now())
	if err != nil {
		return err
	}
	for _, i := range open {
		if i.Reset() { // of somebody who is listed already
			continue
		}
		if err := f.add("", i.Email, i.Role, "", momentText(i.ExpiresAt)); err != nil {
			return err
		}
	}
	return nil
}
