package factstore

import (
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
)

// A separator of channels in a name would make two of one.
func TestCreditsWithControlCharactersAreNotStored(t *testing.T) {
	t.Parallel()
	f := func(c facts.Credit, want bool) {
		t.Helper()
		if got := hasControl(c); got != want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	f(facts.Credit{Channel: "Ana Prado", CampaignID: "verão"}, false)
	f(facts.Credit{Channel: "a\x1fb"}, true)
	f(facts.Credit{Channel: "a", CampaignID: "\x00"}, true)
	f(facts.Credit{InfluencerID: "a\x1e"}, true)
}
