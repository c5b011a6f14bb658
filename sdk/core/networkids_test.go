package core_test

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

// The forms are those of cookies that were seen in browsers, and of Meta's own libraries.
func TestWhatNetworksCookiesHold(t *testing.T) {
	f := func(name string, want bool, values ...string) {
		t.Helper()
		for _, value := range values {
			if core.IsNetworkID(name, value) != want {
				t.Errorf("%s %.80s is taken: %v", name, value, !want)
			}
		}
	}
	f("ga", true, "1902279557.1738782858", "1.1", "123.456")
	f("ga", false, "", ".", "1.", ".1", "1", "1.1.1", "GA1.1.123.456", "-1.1", "1.1 ", "12345678901.1", "1.12345678901", "1.1\n", "٣.٣")
	f("ga_session", true, "AB12CD34EF.1762344000", "ABC1.1076234400",
		"AB12CD34EF.1762344000 ZZ9XX8YY7W.1762344001 A234.1762344002 B234.1762344003")
	f("ga_session", false, "", " ", "AB12CD34EF", "AB12CD34EF.", ".1762344000", "AB12CD34EF.17623440000", "AB12CD34EF.176234400",
		"AB12CD34EF.2762344000",
		"1762344000.1762344000",
		"ab12cd34ef.1762344000", "ABC.1762344000", "AB12CD34EFGH.1762344000", "AB12CD34EF.1762344000 ", " AB12CD34EF.1762344000",
		"AB12CD34EF.s1762344000",
		"G-AB12CD34.1762344000", "ANA@X.1762344000", strings.Repeat("AB12CD34EF.1762344000 ", 4)+"AB12CD34EF.1762344000")
	f("fbp", true, "fb.1.1738782878094.854442062512751170", "fb.0.1593871308186.1", "fb.2.1773894165590.5.Bg", "fb.1.1773894165590.5.AQYBAQIA")
	f("fbp", false, "", "fb.1.1738782878094", "fb.1.1738782878094.", "fb.11.1738782878094.1", "fa.1.1738782878094.1", "fb.1.173878287.1",
		"fb.1.17387828780941234.1", "fb.1.1738782878094."+strings.Repeat("1", 26), "fb.1.1738782878094.1.a@b", "fb.1.1738782878094.1.Bg.Bg",
		"fb.1.1738782878094.1."+strings.Repeat("A", 9), "fb.1.1738782878094.x")
	f("ttp", true, "kEDQ0tJexuVClkJ41P2SHjupLEY", "01K1A8BXG7CFS8QC92XKKJD081_.tt.1", "CnQgHQs6X-jXpuin5E_0000000")
	f("ttp", false, "", "5511912345678", "ana.souza@example.com.br.x", strings.Repeat("x", 65),
		"kEDQ0tJexuVClkJ41P2SHjupLE\"", strings.Repeat(" ", 27))
	f("fbc", false, "1.1", "fb.1.1738782878094.8")
	for _, name := range core.NetworkIDNames() {
		f(name, false, strings.Repeat("9", 30_000))
	}
}

// What no cookie holds is left out, with what else the event says kept: of two with one name the last counts.
func TestWhatIsNoNetworksIDIsLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "", `{}`: "", `{"ga":null}`: "", `{"ga":7,"fbp":[],"ttp":{"a":{}}}`: "", `{"other":"1.2"}`: "",
		`{"ttp":"kEDQ0tJexuVClkJ41P2S","x":1,"fbp":"x","ga":"1.2"}`: `"context":{"networkIds":{"ga":"1.2","ttp":"kEDQ0tJexuVClkJ41P2S"}}`,
		`{"ga":"1.2","ga":"3.4"}`:                                   `"context":{"networkIds":{"ga":"3.4"}}`,
		`{"ga":"1.2","ga":"x"}`:                                     "",
		`{"fbp":"x","ga_session":"AB12CD34EF.1762344000"}`:          `"context":{"networkIds":{"ga_session":"AB12CD34EF.1762344000"}}`,
	} {
		for _, event := range []string{`{"event":"A","context":{"networkIds":` + text + `}}`,
			`["r1",null,null,"A",null,null,{"networkIds":` + text + `}]`} {
			if got := members(t, event); got != want {
				t.Errorf("%s became %s, want %s", event, got, want)
			}
		}
	}
	if got := one(t, `{"event":"A","context":{"networkIds":"x"}}`); got != "invalid_context context.networkIds" {
		t.Error(got)
	}
}

// A network's id goes with that network's consent alone.
func TestNetworksIDsOfAConsent(t *testing.T) {
	all := core.NetworkIDs{GA: "1.2", GASession: "AB12CD34EF.1762344000", FBP: "fb.1.1738782878094.8",
		TTP: "kEDQ0tJexuVClkJ41P2SHjupLEY"}
	for consent, want := range map[string]core.NetworkIDs{
		"": {}, "google": {}, "ga,ttp,fbp": {}, "metaa": {}, "ga4,meta,tiktok": all, "ga4": {GA: all.GA, GASession: all.GASession},
		"google,meta": {FBP: all.FBP},
		"tiktok":      {TTP: all.TTP},
	} {
		if got := all.Of(consent); got != want {
			t.Errorf("%q: %+v, want %+v", consent, got, want)
		}
	}
}
