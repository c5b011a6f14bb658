package dashboard_test

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// payeeSite is a store with a closed statement of Ana's, whose key was k1 at the closing and long before.
type payeeSite struct {
	*linkedSite
	now time.Time
}

func newPayeeSite(t *testing.T) *payeeSite {
	t.Helper()
	s := &payeeSite{linkedSite: newLinkedSite(t, 1), now: time.Now()}
	s.setKey("cli", "k1@example.com")
	s.exec(`update influencer_personal set pix_at = $1`, s.now.AddDate(0, 0, -60))
	s.Close(s.live)
	s.setClock(s.now)
	return s
}

func (s *payeeSite) setKey(actor, key string) {
	s.t.Helper()
	pix := commerce.Pix{Type: commerce.PixEmail, Key: key}
	if key == "" {
		pix.Type = ""
	}
	if err := s.DB.UpdateInfluencer(s.t.Context(), commerce.Author{CompanyID: s.live, Actor: actor, At: s.now}, "Ana Prado",
		commerce.InfluencerChange{Details: commerce.DetailsChange{Pix: wire.Some(pix)}}); err != nil {
		s.t.Fatal(err)
	}
}

// changed is when the key changed last.
func (s *payeeSite) changed() time.Time {
	s.t.Helper()
	payees, err := s.DB.Payees(s.t.Context(), s.live, []string{s.ana})
	if err != nil {
		s.t.Fatal(err)
	}
	return payees[s.ana].Changed[commerce.DetailPix].At
}

func (s *payeeSite) confirm(actor string) error {
	return s.DB.ConfirmPix(s.t.Context(), commerce.Author{CompanyID: s.live, Actor: actor, At: s.now}, s.ana, s.changed())
}

// member makes a person of the store, of whom nobody made the log-in.
func (s *payeeSite) member(email string) (actor, id string) {
	s.t.Helper()
	p, err := s.DB.CreateMember(s.t.Context(), s.Store.StoreID, account.RoleOwner, email, "x")
	if err != nil {
		s.t.Fatal(err)
	}
	return "user/" + p.ID, p.ID
}

// link makes a person's log-in, or a password anew, by a link of another's that is used at an instant.
func (s *payeeSite) link(madeBy, email, resetOf string, at time.Time) (actor, id string) {
	s.t.Helper()
	token := sha256.Sum256([]byte(email + madeBy + resetOf))
	asked := account.NewInvitation{StoreID: s.Store.StoreID, CompanyID: s.live, Email: email, Role: account.RoleOwner, MadeBy: madeBy,
		PersonID: resetOf, At: at, Life: time.Hour, Random: rand.Reader}
	if resetOf != "" {
		asked.Email, asked.Role = "", ""
	}
	if err := s.DB.Invite(s.t.Context(), asked, token); err != nil {
		s.t.Fatal(err)
	}
	id, err := s.DB.UseInvitation(s.t.Context(), token, at, "", "x")
	if err != nil {
		s.t.Fatal(err)
	}
	return "user/" + id, id
}

// Whoever changes where money goes cannot confirm it: not by an account that they invited, by one that this account invited, by a
// colleague whose password they made anew, or as the one whose log-in another of theirs made.
func TestWhoChangedAKeyCannotConfirmItByAnAccountOfTheirs(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	thief, thiefID := s.member("thief@loja.example")
	honest, honestID := s.member("honest@loja.example")
	puppet, puppetID := s.link(thiefID, "puppet@loja.example", "", s.now)
	second, _ := s.link(puppetID, "second@loja.example", "", s.now)
	other, _ := s.link(thiefID, "other@loja.example", "", s.now)
	f := func(first, who string, want error) {
		t.Helper()
		s.setKey(first, "key"+strconv.FormatInt(time.Now().UnixNano(), 10)+"@example.com")
		if err := s.confirm(who); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	same := commerce.ErrSamePerson
	f(thief, thief, same)
	f(thief, puppet, same)
	f(thief, second, same)
	f(puppet, thief, same)
	f(puppet, other, same) // both are of one person
	f(second, other, same)
	f(thief, "key/any", same)
	f(thief, "cli", same)
	f(thief, honest, nil)
	f(honest, thief, nil)
	s.link(thiefID, "", honestID, s.now.AddDate(0, 0, -31)) // forgotten by now
	f(thief, honest, nil)
	s.link(thiefID, "", honestID, s.now.AddDate(0, 0, -29))
	f(thief, honest, same)
	f(honest, thief, same)

	// A program changed it: who made a key may have used it.
	fourth, _ := s.member("fourth@loja.example")
	made := account.NewAPIKey{CompanyID: s.live, Name: "k", Scopes: []account.Scope{account.WritePayees}, Actor: thief, Random: rand.Reader}
	if _, _, err := s.DB.CreateAPIKey(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	f("key/any", thief, same)
	f("key/any", puppet, same)
	f("key/any", fourth, nil)

	// What is confirmed is the key that was seen.
	s.setKey(thief, "seen@example.com")
	seen := s.changed()
	s.setKey(thief, "stolen@example.com")
	author := commerce.Author{CompanyID: s.live, Actor: fourth, At: s.now}
	if err := s.DB.ConfirmPix(t.Context(), author, s.ana, seen); !errors.Is(err, commerce.ErrConflict) {
		t.Errorf("a key that was not seen: %v", err)
	}
}

// The first key of an influencer who was paid before is a change: it takes the place of how they were paid. So is a key that comes
// where another was taken away.
func TestAFirstKeyIsNoChangeOnlyForWhoWasNeverPaid(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	confirmed := func(influencer string) bool {
		t.Helper()
		payees, err := s.DB.Payees(t.Context(), s.live, []string{influencer})
		if err != nil {
			t.Fatal(err)
		}
		return payees[influencer].PixConfirmed
	}
	set := func(name, key string) {
		t.Helper()
		pix := commerce.Pix{}
		if key != "" {
			pix = commerce.Pix{Type: commerce.PixEmail, Key: key}
		}
		if err := s.DB.UpdateInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: s.now}, name,
			commerce.InfluencerChange{Details: commerce.DetailsChange{Pix: wire.Some(pix)}}); err != nil {
			t.Fatal(err)
		}
	}
	fresh, paid := s.Influencer(s.live, "Fresh"), s.Influencer(s.live, "Paid")
	s.exec(`insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
		values ($1, $2, 1, $3, 'cash', $3, 'cli')`, s.live, s.Ask(s.live, paid, "BRL", "2026-04-30", 0), s.now.AddDate(0, 0, -3))
	set("Fresh", "first@example.com")
	set("Paid", "first@example.com")
	if !confirmed(fresh) || confirmed(paid) {
		t.Errorf("the first key needs no second person: %t for who was never paid, %t for who was", confirmed(fresh), confirmed(paid))
	}
	set("Fresh", "")
	set("Fresh", "second@example.com")
	if confirmed(fresh) {
		t.Error("a key that was taken away and another one count as the first")
	}
}

// A statement is paid to the key of its closing. A new one has no code for 48 hours; then the old one is paid, until a second
// person confirms the new one, which is paid at once. Whoever takes the key away stops both.
func TestAStatementIsPaidToTheKeyOfItsClosing(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	path := "/dashboard/statements/pix" + at
	f := func(what string, present, absent []string) {
		t.Helper()
		if page := s.readRaw(owner, path); !contains(page, present...) || len(absent) > 0 && contains(page, absent...) {
			t.Errorf("%s: %s", what, page)
		}
	}
	code := func(key string) []string { return []string{"01" + strconv.Itoa(len(key)) + key} }
	f("at the closing", code("k1@example.com"), []string{"since this statement was closed"})
	s.exec(`insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
		values ($1, $2, 1, $3, 'x', $3, 'cli')`, s.live, s.Ask(s.live, s.ana, "USD", "2026-04-30", 0), s.now.AddDate(0, 0, -3))
	me, err := s.DB.PersonByEmail(t.Context(), testEmail)
	if err != nil {
		t.Fatal(err)
	}
	s.setKey("user/"+me.ID, "k2@example.com")
	f("just changed", []string{"changed within the last 48 hours", "The key changed since this statement was closed.",
		"The key changed since the last payment.", "Confirm the new key"},
		[]string{"br.gov.bcb.pix"})
	s.exec(`update influencer_personal set pix_at = $1`, s.now.Add(-49*time.Hour))
	s.exec(`update statement_party set pix_at = $1`, s.now.AddDate(0, 0, -60))
	f("two days later", append(code("k1@example.com"), "Confirm the new key"), code("k2@example.com"))

	version := func() string {
		known, err := s.DB.Versions(t.Context(), s.live, []string{s.ana})
		if err != nil {
			t.Fatal(err)
		}
		return known[s.ana].String()
	}
	values := func() url.Values {
		return url.Values{"influencer": {s.ana}, "changed": {strconv.FormatInt(s.changed().UnixMicro(), 10)}, "version": {version()}}
	}
	if status, text, _ := s.send(owner, "/dashboard/statements/pix/confirm"+at, values()); status != http.StatusForbidden ||
		!contains(text, "Somebody else must do it") {
		t.Errorf("who changed it confirms: %d", status)
	}
	finance := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	stale := values()
	s.setKey("user/"+me.ID, "k3@example.com")
	if status, _, _ := s.send(finance, "/dashboard/statements/pix/confirm"+at, stale); status != http.StatusConflict {
		t.Errorf("a stale tab confirms: %d", status)
	}
	analyst := s.join(account.RoleAnalyst, "caio@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(analyst, "/dashboard/statements/pix/confirm"+at, values()); status != http.StatusForbidden {
		t.Errorf("an analyst confirms: %d", status)
	}
	if status, _, _ := s.send(finance, "/dashboard/statements/pix/confirm"+at, values()); status != http.StatusSeeOther {
		t.Errorf("a second person confirms: %d", status)
	}
	f("confirmed", code("k3@example.com"), []string{"Confirm the new key"})
	if _, rows := s.download(owner, "/dashboard/statements/pix.csv"+at); len(rows) != 1 || rows[0]["pix_key"] != "k3@example.com" {
		t.Errorf("the bank's table: %v", rows)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Pix key confirmed", "bia@loja.example") {
		t.Errorf("the audit log: %s", text)
	}
	s.setKey("user/"+me.ID, "")
	f("taken away", []string{"has no Pix key"}, []string{"br.gov.bcb.pix"})
	if err := s.DB.EraseInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: s.now}, s.ana, "Ana Prado"); err != nil {
		t.Fatal(err)
	}
	f("erased", code("k1@example.com"), nil)
}

// Where many are paid together, and on the influencer's page, it is said that the key is another one than at the last payment.
func TestANewKeyIsToldWhereMoneyLeaves(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	all := url.Values{"all": {"yes"}, "paid_on": {s.now.Format(time.DateOnly)}, "reference": {"PIX"}}
	chosen := func() string {
		t.Helper()
		status, text, _ := s.send(owner, "/dashboard/statements/chosen"+at, all)
		if status != http.StatusOK || !contains(text, "Ana Prado") {
			t.Fatalf("%d %s", status, text)
		}
		return text
	}
	page := "/dashboard/influencer" + at + "&id=" + s.ana
	const since, closing = "The key changed since the last payment.", "The key changed since this statement was closed."
	if text := chosen() + s.readRaw(owner, page); contains(text, since) || contains(text, closing) {
		t.Error("a key is told to be new that is not")
	}
	s.exec(`insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
		values ($1, $2, 1, $3, 'x', $3, 'cli')`, s.live, s.Ask(s.live, s.ana, "USD", "2026-04-30", 0), s.now.AddDate(0, 0, -3))
	s.setKey("cli", "k2@example.com")
	if text := chosen(); !contains(text, since, closing) {
		t.Errorf("paid together: %s", text)
	}
	analyst := s.join(account.RoleAnalyst, "caio@loja.example", s.Store.StoreID)
	for name, who := range map[string]*http.Client{"an owner": owner, "an analyst": analyst} {
		if text := s.readRaw(who, page); !contains(text, since) {
			t.Errorf("the influencer's page, %s: %s", name, text)
		}
	}
}

// The confirmation of a key is on Kafka before it is answered, as the change itself is.
func TestAConfirmedKeyIsOnKafka(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	first, _ := s.member("first@loja.example")
	s.setKey(first, "k2@example.com")
	records := func() int {
		return s.Count(`select count(*) from outbox where convert_from(value, 'UTF8') like '%"kind":"rule"%"change":"updated"%'`)
	}
	before := records()
	s.mu.Lock()
	s.kafkaAway = fmt.Errorf("%w: away", commerce.ErrNotOnKafka)
	s.mu.Unlock()
	known, err := s.DB.Versions(t.Context(), s.live, []string{s.ana})
	if err != nil {
		t.Fatal(err)
	}
	if status, text, _ := s.send(s.loggedIn(), "/dashboard/statements/pix/confirm?company="+s.live, url.Values{"influencer": {s.ana},
		"changed": {strconv.FormatInt(s.changed().UnixMicro(), 10)}, "version": {known[s.ana].String()}}); status !=
		http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, text)
	}
	if n := records(); n != before+1 {
		t.Errorf("%d records, want %d", n, before+1)
	}
}
