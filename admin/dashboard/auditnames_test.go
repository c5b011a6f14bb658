package dashboard_test

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// A store chooses its orders' ids. One that is the id of somebody of another store, or of
// an influencer, is shown as what it is.
func TestTheAuditLogNamesNobodyByAnOrdersID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	stranger, err := s.DB.CreatePerson(t.Context(), "boss@another.example", "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g")
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{stranger.ID, ana, "no-uuid"} {
		err := s.DB.DecideEvidence(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()},
			commerce.EvidenceDecision{OrderID: order, InfluencerID: ana, Decision: commerce.EvidenceDecisions[0]})
		if err != nil {
			t.Fatal(err)
		}
	}
	owner := s.loggedIn()
	for _, path := range []string{"/dashboard/audit?company=" + s.live, "/dashboard/audit.csv?company=" + s.live} {
		text := s.readAs(owner, path)
		if contains(text, "boss@another.example") {
			t.Errorf("%s tells the e-mail of a person of another store", path)
		}
		if !contains(text, stranger.ID, ana, "no-uuid") {
			t.Errorf("%s does not tell whose evidence was decided: %s", path, text)
		}
	}
}

// The audit log says who was invited while the link is open. It keeps no e-mail of its own:
// of a link that was withdrawn it names nobody, and one that was used is followed by who came.
func TestTheAuditLogNamesWhoIsInvited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	at := "?company=" + s.live
	if status, _, _ := s.send(owner, "/dashboard/people/invite"+at,
		url.Values{"email": {"bia@loja"}, "role": {account.RoleAnalyst}}); status != http.StatusSeeOther {
		t.Fatalf("the invitation: %d", status)
	}
	f := func(named bool) {
		t.Helper()
		if text := s.readAs(owner, "/dashboard/audit"+at); contains(text, "bia@loja") != named {
			t.Errorf("it names who is invited: %t, want %t: %s", !named, named, text)
		}
	}
	f(true)
	open, err := s.DB.Invitations(t.Context(), s.Store.StoreID, time.Now())
	if err != nil || len(open) != 1 {
		t.Fatalf("%+v, %v", open, err)
	}
	// Another store's log names nobody by the invitation's id.
	other := s.NewStore("Outra")
	if err := s.DB.Invite(t.Context(),
		account.NewInvitation{StoreID: other.StoreID, CompanyID: s.live, Email: "boss@another.example", Role: account.RoleOwner, At: time.Now(),
			Life: time.Hour, Random: rand.Reader}, sha256.Sum256([]byte("other"))); err != nil {
		t.Fatal(err)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); contains(text, "boss@another.example") {
		t.Errorf("the log names whom another store invites: %s", text)
	}
	if status, _, _ := s.send(owner, "/dashboard/people/withdraw"+at, url.Values{"link": {open[0].ID}}); status != http.StatusSeeOther {
		t.Fatalf("withdrawn: %d", status)
	}
	f(false)
}
