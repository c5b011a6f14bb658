package dashboard_test

import (
	"testing"
	"time"

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
