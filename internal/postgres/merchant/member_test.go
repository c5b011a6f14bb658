package merchant_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// crew is a store whose owner is Ana.
type crew struct {
	t     *testing.T
	db    *merchant.Store
	store commerce.Store
	ana   string // person
	now   time.Time
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{t: t, db: openPeople(t), now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	c.store = c.newStore("Loja")
	c.ana = c.member(c.store, account.RoleOwner, "ana@loja.example")
	return c
}

func (c *crew) newStore(name string) commerce.Store {
	c.t.Helper()
	store, err := c.db.CreateStore(c.t.Context(), commerce.NewStore{Actor: "test", Name: name, Random: rand.Reader})
	if err != nil {
		c.t.Fatal(err)
	}
	return store
}

func (c *crew) member(store commerce.Store, role, email string) string {
	c.t.Helper()
	p, err := c.db.CreateMember(c.t.Context(), store.StoreID, role, email, "hash of "+email)
	if err != nil {
		c.t.Fatal(err)
	}
	return p.ID
}

func (c *crew) change(store commerce.Store, personID, role string) error {
	return c.db.ChangeMembership(context.Background(),
		account.MembershipChange{StoreID: store.StoreID, CompanyID: store.Live.CompanyID, PersonID: personID, Role: role, Actor: "test"})
}

func (c *crew) invite(store commerce.Store, by, personID, email, role, token string) error {
	return c.db.Invite(context.Background(),
		account.NewInvitation{StoreID: store.StoreID, CompanyID: store.Live.CompanyID, Email: email, Role: role,
			PersonID: personID, MadeBy: by, At: c.now, Life: time.Hour, Random: rand.Reader}, sha256.Sum256([]byte(token)))
}

func (c *crew) use(token, personID string, after time.Duration) (string, error) {
	return c.db.UseInvitation(context.Background(), sha256.Sum256([]byte(token)), c.now.Add(after), personID, "new hash")
}

// roleOf is a person's role in the crew's store; empty for one who is no member.
func (c *crew) roleOf(personID string) string {
	c.t.Helper()
	list, err := c.db.Members(c.t.Context(), c.store.StoreID, 100)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range list {
		if m.PersonID == personID {
			return m.Role
		}
	}
	return ""
}

func TestAStoreKeepsAnOwner(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	bia := c.member(c.store, account.RoleAnalyst, "bia@loja.example")
	f := func(what, person, role string, want error) {
		t.Helper()
		if err := c.change(c.store, person, role); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	f("the last owner leaves", c.ana, "", account.ErrLastOwner)
	f("the last owner becomes an analyst", c.ana, account.RoleAnalyst, account.ErrLastOwner)
	f("somebody else's person", "00000000-0000-0000-0000-000000000000", account.RoleOwner, commerce.ErrNotFound)
	f("a second owner", bia, account.RoleOwner, nil)
	f("the first becomes an analyst", c.ana, account.RoleAnalyst, nil)
	f("the second may not", bia, account.RoleAnalyst, account.ErrLastOwner)
	f("an analyst leaves", c.ana, "", nil)
	f("and is gone", c.ana, "", commerce.ErrNotFound)
	list, err := c.db.Members(t.Context(), c.store.StoreID, 10)
	if err != nil || len(list) != 1 || list[0].Email != "bia@loja.example" {
		t.Errorf("the members are %+v, %v", list, err)
	}
}

func TestALinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	if err := c.invite(c.store, c.ana, "", "Carla@loja.example ", account.RoleAnalyst, "a"); err != nil {
		t.Fatal(err)
	}
	f := func(what, token string, after time.Duration, want error) {
		t.Helper()
		if _, err := c.use(token, "", after); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	f("another token", "b", 0, commerce.ErrNotFound)
	f("too late", "a", time.Hour, commerce.ErrNotFound)
	f("in time", "a", time.Minute, nil)
	f("twice", "a", time.Minute, commerce.ErrNotFound)
	carla, err := c.db.PersonByEmail(t.Context(), "carla@loja.example")
	if err != nil || carla.PasswordHash != "new hash" {
		t.Fatalf("%+v, %v", carla, err)
	}
	if list, err := c.db.Accesses(t.Context(), carla.ID); err != nil || len(list) != 2 || list[0].Role != account.RoleAnalyst {
		t.Errorf("Carla may see %+v, %v", list, err)
	}
}

// A log-in may be made in advance by somebody else: an owner of another store invites an
// e-mail that is not theirs, and uses the link. The operator's link takes it back.
func TestTheOperatorsLinkSetsTheLogInsPassword(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	other := c.newStore("Outra")
	mallory := c.member(other, account.RoleOwner, "mallory@outra.example")
	if err := c.invite(other, mallory, "", "boss@loja.example", account.RoleAnalyst, "planted"); err != nil {
		t.Fatal(err)
	}
	boss, err := c.use("planted", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.db.SetPassword(t.Context(), boss, "mallory's hash"); err != nil {
		t.Fatal(err)
	}
	session, err := c.db.StartSession(t.Context(), boss, "mallory's browser", sha256.Sum256([]byte("s")), c.now, c.now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.invite(c.store, "", "", "boss@loja.example", account.RoleOwner, "operator"); err != nil {
		t.Fatal(err)
	}
	if i, err := c.db.InvitationOf(t.Context(), sha256.Sum256([]byte("operator")), c.now); err != nil || !i.ChoosesPassword() {
		t.Errorf("%+v, %v: want a link that chooses a password", i, err)
	}
	if _, err := c.use("operator", boss, 0); err != nil {
		t.Fatal(err)
	}
	if p, err := c.db.PersonByID(t.Context(), boss); err != nil || p.PasswordHash != "new hash" {
		t.Errorf("the log-in has %q, %v", p.PasswordHash, err)
	}
	if open, err := c.db.OpenSessions(t.Context(), boss, c.now, 10); err != nil || len(open) != 0 {
		t.Errorf("sessions are open: %+v, %v; %+v was", open, err, session)
	}
	if role := c.roleOf(boss); role != account.RoleOwner {
		t.Errorf("the boss is %q in the store", role)
	}
}

// Somebody with a log-in comes into a second store by it, and keeps the password.
func TestALinkForSomebodyWithALogIn(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	other := c.newStore("Outra")
	bia := c.member(other, account.RoleOwner, "bia@loja.example")
	if err := c.invite(c.store, c.ana, "", "bia@loja.example", account.RoleAnalyst, "a"); err != nil {
		t.Fatal(err)
	}
	if who, err := c.use("a", bia, 0); err != nil || who != bia {
		t.Fatalf("%s, %v", who, err)
	}
	p, err := c.db.PersonByID(t.Context(), bia)
	if err != nil || p.PasswordHash != "hash of bia@loja.example" {
		t.Errorf("%+v, %v", p, err)
	}
	if list, _ := c.db.Accesses(t.Context(), bia); len(list) != 4 {
		t.Errorf("Bia may see %+v", list)
	}
}

// An invitation gives a role and takes none: else the last owner who uses one for
// analysts leaves a store without an owner.
func TestAnInvitationTakesNoOwner(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	bia := c.member(c.store, account.RoleAnalyst, "bia@loja.example")
	f := func(what, email, person, role, want string) {
		t.Helper()
		if err := c.invite(c.store, c.ana, "", email, role, what); err != nil {
			t.Fatal(err)
		}
		if _, err := c.use(what, person, 0); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := c.roleOf(person); got != want {
			t.Errorf("%s: the role is %q, want %q", what, got, want)
		}
	}
	f("an owner as analyst", "ana@loja.example", c.ana, account.RoleAnalyst, account.RoleOwner)
	f("an analyst as analyst", "bia@loja.example", bia, account.RoleAnalyst, account.RoleAnalyst)
	f("an analyst as owner", "bia@loja.example", bia, account.RoleOwner, account.RoleOwner)
}

// Whoever was taken from a store, or owns it no more, has no link left by which to come
// back: neither one that was made for them nor one that they made.
func TestLinksEndWithTheMembership(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"", account.RoleAnalyst} {
		c := newCrew(t)
		bia := c.member(c.store, account.RoleOwner, "bia@loja.example")
		for _, link := range []struct{ by, email, token string }{
			{bia, "friend@loja.example", "made by them"}, {c.ana, "Bia@loja.example", "made for them"}, {c.ana, "carla@loja.example", "of others"},
		} {
			if err := c.invite(c.store, link.by, "", link.email, account.RoleOwner, link.token); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.change(c.store, bia, role); err != nil {
			t.Fatal(err)
		}
		f := func(token, person string, want error) {
			t.Helper()
			if _, err := c.use(token, person, 0); !errors.Is(err, want) {
				t.Errorf("role %q, a link %s: %v, want %v", role, token, err, want)
			}
		}
		f("made by them", "", commerce.ErrNotFound)
		f("made for them", bia, commerce.ErrNotFound)
		f("of others", "", nil)
		if got := c.roleOf(bia); got != role {
			t.Errorf("the role is %q, want %q", got, role)
		}
	}
}

// A new password ends the links that would set another one.
func TestANewPasswordEndsTheLinksForOne(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	bia := c.member(c.store, account.RoleAnalyst, "bia@loja.example")
	for _, token := range []string{"a", "b", "c"} {
		if err := c.invite(c.store, c.ana, bia, "", "", token); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.use("a", "", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.use("b", "", 0); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("a second link after the first was used: %v", err)
	}
	if err := c.invite(c.store, c.ana, bia, "", "", "d"); err != nil {
		t.Fatal(err)
	}
	if err := c.db.SetPassword(t.Context(), bia, "own hash"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.use("d", "", 0); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("a link of before the own new password: %v", err)
	}
}

// An owner sets the password of somebody who is in no other store anew; of somebody
// who is, that would open the other store.
func TestAnOwnerCannotComeIntoAnotherStoreByAReset(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	other := c.newStore("Outra")
	bia := c.member(c.store, account.RoleAnalyst, "bia@loja.example")
	carla := c.member(other, account.RoleOwner, "carla@loja.example")
	if err := c.db.SetMembership(t.Context(), c.store.StoreID, carla, account.RoleOwner); err != nil {
		t.Fatal(err)
	}
	f := func(what, by, of, token string, want error) {
		t.Helper()
		if err := c.invite(c.store, by, of, "", "", token); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	f("somebody of this store alone", c.ana, bia, "a", nil)
	f("somebody who owns another", c.ana, carla, "b", account.ErrElsewhere)
	f("somebody of another store", c.ana, "00000000-0000-0000-0000-000000000000", "c", commerce.ErrNotFound)
	// Between the link and its use Bia came into the other store.
	if err := c.db.SetMembership(t.Context(), other.StoreID, bia, account.RoleAnalyst); err != nil {
		t.Fatal(err)
	}
	if _, err := c.use("a", "", 0); !errors.Is(err, account.ErrElsewhere) {
		t.Errorf("a link of before: %v", err)
	}
	f("somebody who came into another", c.ana, bia, "d", account.ErrElsewhere)
	f("by an owner of both", carla, bia, "e", nil)
	token := sha256.Sum256([]byte("session"))
	login, err := c.db.StartSession(t.Context(), bia, "Firefox, Linux", token, c.now, c.now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.use("e", "", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.db.SessionAccesses(t.Context(), bia, login.Family); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("the session of before the reset: %v", err)
	}
}

func TestOpenLinksAreBounded(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	for i := range account.MaxInvitations {
		if err := c.invite(c.store, c.ana, "", fmt.Sprintf("x%d@loja.example", i), account.RoleAnalyst, string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.invite(c.store, c.ana, "", "x@loja.example", account.RoleAnalyst, "one more"); !errors.Is(err,
		account.ErrTooManyInvitations) {
		t.Errorf("one more: %v", err)
	}
	c.now = c.now.Add(2 * time.Hour) // the others are expired
	if err := c.invite(c.store, c.ana, "", "x@loja.example", account.RoleAnalyst, "later"); err != nil {
		t.Error(err)
	}
	open, err := c.db.Invitations(t.Context(), c.store.StoreID, c.now)
	if err != nil || len(open) != 1 || open[0].Store != "Loja" {
		t.Fatalf("%+v, %v", open, err)
	}
	change := account.MembershipChange{StoreID: c.store.StoreID, CompanyID: c.store.Live.CompanyID, Actor: "test"}
	if err := c.db.WithdrawInvitation(t.Context(), change, open[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := c.use("later", "", 0); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("a withdrawn link: %v", err)
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	start := func(name, browser string, after time.Duration) string {
		t.Helper()
		login, err := c.db.StartSession(t.Context(), c.ana, browser, sha256.Sum256([]byte(name)), c.now.Add(after), c.now.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return login.Family
	}
	phone, laptop, old := start("phone", "Chrome, Android", 0), start("laptop", "Firefox, Linux", time.Minute), start("old", "", -time.Minute)
	if _, err := c.db.RotateSession(t.Context(),
		account.SessionRotation{Token: sha256.Sum256([]byte("phone")), Next: sha256.Sum256([]byte("phone2")),
			At: c.now.Add(10 * time.Minute), ExpiresAt: c.now.Add(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	f := func(after time.Duration, want ...string) {
		t.Helper()
		list, err := c.db.OpenSessions(t.Context(), c.ana, c.now.Add(after), 10)
		var got []string
		for _, s := range list {
			got = append(got, s.Family)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("after %s: %v, %v; want %v", after, got, err, want)
		}
	}
	f(0, phone, laptop, old)
	f(90*time.Minute, phone)
	list, err := c.db.OpenSessions(t.Context(), c.ana, c.now, 10)
	if err != nil || list[0].Browser != "Chrome, Android" || !list[0].Started.Equal(c.now) ||
		!list[0].LastSeen.Equal(c.now.Add(10*time.Minute)) {
		t.Errorf("the phone's session is %+v, %v", list[0], err)
	}
	watch := func(family, company string) account.Watch {
		return account.Watch{PersonID: c.ana, Family: family, CompanyID: company}
	}
	live, other := c.store.Live.CompanyID, c.newStore("Outra").Live.CompanyID
	may := func(want ...account.Watch) {
		t.Helper()
		still, err := c.db.StillWatching(t.Context(), []account.Watch{watch(phone, live), watch(laptop, live), watch(phone, other)})
		byFamily := func(a, b account.Watch) int { return strings.Compare(a.Family, b.Family) }
		slices.SortFunc(still, byFamily)
		slices.SortFunc(want, byFamily)
		if err != nil || !slices.Equal(still, want) {
			t.Errorf("still watching: %v, %v; want %v", still, err, want)
		}
	}
	may(watch(phone, live), watch(laptop, live))
	if err := c.db.EndSessions(t.Context(), c.ana, old, false); err != nil {
		t.Fatal(err)
	}
	f(0, phone, laptop)
	if err := c.db.EndSessions(t.Context(), c.ana, laptop, true); err != nil {
		t.Fatal(err)
	}
	f(0, laptop)
	may(watch(laptop, live))
}
