package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Proof": the highest revision counts, and a repeat changes
// nothing, in whatever order they come.
func TestTheLastDecisionCounts(t *testing.T) {
	f := func(want string, all ...string) {
		t.Helper()
		var decisions []Decision
		for i, text := range all {
			influencer, decision, _ := strings.Cut(text, " ")
			decisions = append(decisions,
				Decision{InfluencerID: influencer, Decision: decision, Rev: int64(i), AcceptedAt: noon.Add(time.Duration(i) * time.Minute)})
		}
		for range 10 {
			rand.Shuffle(len(decisions), func(i, j int) { decisions[i], decisions[j] = decisions[j], decisions[i] })
			var got []string
			for _, d := range FoldDecisions(decisions) {
				got = append(got, fmt.Sprintf("%s %s of %d", d.InfluencerID, d.Decision, int(d.AcceptedAt.Sub(noon).Minutes())))
			}
			if text := strings.Join(got, ", "); text != want {
				t.Fatalf("%v: %s, want %s", all, text, want)
			}
		}
	}
	f("")
	f("a accept of 0", "a accept")
	f("a accept of 0", "a accept", "a accept")
	f("a refuse of 1", "a accept", "a refuse", "a refuse")
	f("a accept of 2", "a accept", "a withdraw", "a accept")
	f("a refuse of 2, b accept of 1", "a accept", "b accept", "a refuse")
	if got := FoldDecisions([]Decision{{InfluencerID: "a", Decision: "accept"}}).Of("b"); got.Decision != "" {
		t.Errorf("%+v of another", got)
	}
}

func TestADecisionIsReadFromItsRecord(t *testing.T) {
	f := func(body wire.Evidence, at time.Time, want error) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseDecision(wire.Commerce{Rev: 7, AcceptedAt: at, Actor: "cli", Body: text})
		if !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", body, err, want)
		}
		if want == nil && !reflect.DeepEqual(d,
			Decision{OrderID: body.OrderID, InfluencerID: body.InfluencerID, Decision: body.Decision, Rev: 7, AcceptedAt: at, Actor: "cli",
				Touches: strings.Join(body.Touches, ",")}) {
			t.Errorf("%+v", d)
		}
	}
	good := wire.Evidence{OrderID: "o", InfluencerID: shopper, Decision: commerce.EvidenceAccept}
	f(good, noon, nil)
	f(wire.Evidence{OrderID: "o", InfluencerID: shopper, Decision: commerce.EvidenceAccept, Touches: []string{shopper, browser}}, noon, nil)
	ids, instants := (&Decision{Touches: "order,016D849D-DBE8-70D2-8876-38788D4E84F7"}).TouchIDs()
	if len(ids) != 1 || ids[0] != "016d849d-dbe8-70d2-8876-38788d4e84f7" || instants[0].Format(time.DateOnly) != "2019-10-01" {
		t.Errorf("%v %v", ids, instants)
	}
	f(wire.Evidence{InfluencerID: shopper, Decision: "accept"}, noon, ErrNoID)
	f(wire.Evidence{OrderID: strings.Repeat("x", 2000), InfluencerID: shopper, Decision: "accept"}, noon, ErrLongID)
	f(wire.Evidence{OrderID: "o", InfluencerID: "ana", Decision: "accept"}, noon, ErrNoID)
	f(wire.Evidence{OrderID: "o", InfluencerID: shopper, Decision: "perhaps"}, noon, ErrUnknownKind)
	f(good, time.Time{}, ErrTime)
}

// docs/attribution.md, "Hold".
func TestTheApprovedRunBeganWithItsFirstVersion(t *testing.T) {
	f := func(want int, statuses ...int) {
		t.Helper()
		var versions []StoredVersion
		for i, status := range statuses {
			versions = append(versions, StoredVersion{At: noon.Add(time.Duration(i) * time.Hour), Order: wire.Order{Status: status}})
		}
		expected := time.Time{}
		if want >= 0 {
			expected = noon.Add(time.Duration(want) * time.Hour)
		}
		if got := ApprovedSince(versions); !got.Equal(expected) {
			t.Errorf("%v: %s, want %s", statuses, got, expected)
		}
	}
	f(0, 0)
	f(0, 0, 0, 0)
	f(-1, 1)
	f(1, 1, 0, 0)
	f(-1, 0, 0, 2)
	f(3, 0, 0, 2, 0, 0)
}
