package edge

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

const (
	plantedGA  = "1902279557.1738782858"
	plantedGAS = "AB12CD34EF.1738782990"
	plantedFBP = "fb.1.1738782878094.854442062512751170"
	plantedTTP = "01K1A8BXG7CFS8QC92XKKJD081_.tt.1"
)

// networkIDsOf reads what is stored of an event's networkIds, and fails where a value of them stands elsewhere in the record.
func (s *stand) networkIDsOf(id string) map[string]string {
	s.t.Helper()
	for _, r := range s.log(wire.TopicEvents) {
		var e wire.Event
		if json.Unmarshal(r.Value, &e) != nil || e.EventID != id {
			continue
		}
		for _, value := range []string{plantedGA, plantedGAS, plantedFBP, plantedTTP} {
			found := strings.Count(string(r.Value), value)
			for _, kept := range e.Context.NetworkIDs {
				if kept == value {
					found--
				}
			}
			if found != 0 {
				s.t.Errorf("%s stands in %s", value, r.Value)
			}
		}
		return e.Context.NetworkIDs
	}
	s.t.Fatalf("no event %s", id)
	return nil
}

// How a network knows a browser is stored where the shopper agreed to that network, and nowhere else.
func TestHowNetworksKnowABrowserIsKeptByConsentAlone(t *testing.T) {
	s := newStand(t, nil)
	for _, policy := range []wire.ConsentPolicy{wire.ConsentNone, wire.ConsentRequired, wire.ConsentHonorGPC} {
		s.publishCompany(wire.Company{CompanyID: "co_" + string(policy), ConsentPolicy: policy})
	}
	s.eventually("all companies are known", func() bool { return s.edge.directory.state().Companies == 4 })
	const ids = `"networkIds":{"ga":"` + plantedGA + `","ga_session":"` + plantedGAS + `","fbp":"` + plantedFBP + `","ttp":"` +
		plantedTTP + `"}`
	ga, session := [2]string{"ga", plantedGA}, [2]string{"ga_session", plantedGAS}
	fbp, ttp := [2]string{"fbp", plantedFBP}, [2]string{"ttp", plantedTTP}
	f := func(policy wire.ConsentPolicy, consent, signal string, want ...[2]string) {
		t.Helper()
		expected := map[string]string{}
		for _, of := range want {
			expected[of[0]] = of[1]
		}
		said := `"consent":null`
		if consent != "" {
			said = `"consent":"` + consent + `"`
		}
		object, envelope := newID(), newID()
		for _, event := range []string{
			`{"eventId":"` + object + `","event":"PAGE_VIEW",` + said + `,"context":{` + ids + `}}`,
			`["r1","` + envelope + `",null,"PAGE_VIEW",null,null,{` + said + `,` + ids + `}]`,
		} {
			s.post(200, `{"companyId":"co_`+string(policy)+`","events":[`+event+`]}`, signal)
		}
		for _, id := range []string{object, envelope} {
			if got := s.networkIDsOf(id); !maps.Equal(got, expected) {
				t.Errorf("%s, %q, %q: %v, want %v", policy, consent, signal, got, expected)
			}
		}
	}
	const none, gpc = "X-None: 1", "Sec-GPC: 1"
	for _, policy := range []wire.ConsentPolicy{wire.ConsentNone, wire.ConsentRequired, wire.ConsentHonorGPC} {
		for _, consent := range []string{"", "granted", "denied", "unknown", "granted google", "granted pinterest,gax"} {
			f(policy, consent, none)
			f(policy, consent, gpc)
		}
		f(policy, "granted ga4", none, ga, session)
		f(policy, "granted meta", none, fbp)
		f(policy, "granted tiktok", none, ttp)
		f(policy, "granted tiktok,meta,ga4", none, ga, session, fbp, ttp)
	}
	f(wire.ConsentHonorGPC, "granted tiktok,meta,ga4", gpc) // the signal is a denial
}

// A picture, a link, a rejected event and members of other names store nothing of them.
func TestHowNetworksKnowABrowserHasOneWayIn(t *testing.T) {
	s := newStand(t, nil)
	id := newID()
	if response, _ := s.do("GET", "/v1/pixel.gif?companyId="+testCompany+"&eventId="+id+"&consent=granted%20meta,ga4,tiktok&networkIds="+
		"%7B%22ga%22:%22"+plantedGA+"%22%7D&ga="+plantedGA+"&fbp="+plantedFBP, ""); response.StatusCode != 200 {
		t.Fatal(response.StatusCode)
	}
	if got := s.networkIDsOf(id); got != nil {
		t.Errorf("a pixel: %v", got)
	}
	const ids = `"networkIds":{"ga":"` + plantedGA + `","ga_session":"` + plantedGAS + `","fbp":"` + plantedFBP + `","ttp":"` +
		plantedTTP + `"}`
	bad := `{"event":"X","seq":-1,"consent":"granted ga4,meta,tiktok","context":{` + ids + `}}`
	if r := s.post(200, batchOf(bad)).Results[0]; r.Status != "rejected" {
		t.Fatal(r)
	}
	letter := s.letters()[0].Body
	if letter == "" || strings.Contains(letter, plantedGA) || strings.Contains(letter, plantedFBP) || strings.Contains(letter, plantedTTP) {
		t.Errorf("the dead letter has %q", letter)
	}
}

// What is no id of the network is left out, and the sender is told: an event is not lost for it, and nothing is stored that could be of any
// size or say anything.
func TestWhatIsNoNetworksIDIsLeftOut(t *testing.T) {
	s := newStand(t, nil)
	const wrong = " invalid_value: is not what a cookie of that network holds; it is ignored"
	f := func(ids string, warned ...string) {
		t.Helper()
		id := newID()
		answer := s.post(200, `{"companyId":"`+testCompany+`","eventId":"`+id+`","event":"PAGE_VIEW",`+
			`"consent":"granted ga4,meta,tiktok","context":{"networkIds":`+ids+`}}`)
		for i := range warned {
			warned[i] = "0 context.networkIds." + warned[i]
		}
		if got := answer.warned(); got != strings.Join(warned, "\n") {
			t.Errorf("%s:\n got %s\nwant %s", ids, got, strings.Join(warned, "\n"))
		}
		if got := s.networkIDsOf(id); len(got) > 0 {
			t.Errorf("%s: %v is stored", ids, got)
		}
	}
	f(`null`)
	f(`{"ga":null,"fbp":"","other":"1.2"}`)
	f(`{"ga":"GA1.1.123.456"}`, "ga"+wrong)
	f(`{"ga":"`+strings.Repeat("1", 11)+`.1"}`, "ga"+wrong)
	f(`{"ga":123.456}`, "ga"+wrong)
	f(`{"ga_session":"GS2.1.s1738782990$o1"}`, "ga_session"+wrong)
	f(`{"ga_session":"ANA@EXAMPLE.1738782990"}`, "ga_session"+wrong)
	f(`{"fbp":["fb.1.1738782878094.1"]}`, "fbp"+wrong)
	f(`{"ttp":"ana.souza@example.com.br"}`, "ttp"+wrong)
	f(`{"ttp":"+5511912345678"}`, "ttp"+wrong)
	f(`{"ttp":"`+strings.Repeat("x", 20_000)+`"}`, "ttp"+wrong)
	f(`{"_ga":"123.456"}`, "_ga unknown_field: is not known here and was not read; did you mean ga?")
}

// A withdrawal keeps whose it is under every policy, and nothing else; it is a denial whatever it says.
func TestAWithdrawalIsOfItsVisitorAlone(t *testing.T) {
	s := newStand(t, nil)
	for _, policy := range []wire.ConsentPolicy{wire.ConsentNone, wire.ConsentRequired, wire.ConsentHonorGPC} {
		s.publishCompany(wire.Company{CompanyID: "co_" + string(policy), ConsentPolicy: policy})
	}
	s.eventually("all companies are known", func() bool { return s.edge.directory.state().Companies == 4 })
	for _, policy := range []wire.ConsentPolicy{wire.ConsentNone, wire.ConsentRequired, wire.ConsentHonorGPC} {
		for _, said := range []string{"denied", "granted meta"} {
			id, visitor := newID(), newID()
			s.post(200, `{"companyId":"co_`+string(policy)+`","eventId":"`+id+`","event":"CONSENT_WITHDRAWN","visitorId":"`+visitor+
				`","sessionId":"s-1","stream":"s","seq":1,"consent":"`+said+
				`","identity":{"email":"ana@example.com"},"payload":{"a":1},"context":{"page":{`+
				`"url":"https://loja.example.com/"},"networkIds":{"ga":"`+plantedGA+`"}}}`)
			e := s.eventOf(id)
			if e.IP != "" || e.NetKey != "" || e.CookieID != "" || e.Stream != "" || e.Click != nil {
				t.Errorf("%s, %s: more is kept than whose it is: %+v", policy, said, e)
			}
			if e.VisitorID != visitor || e.Consent != wire.ConsentDenied || e.ConsentFor != "" || e.SessionID != "" ||
				e.Identity != (wire.Identity{}) || e.Context.Page.URL != "" || e.Context.NetworkIDs != nil || len(e.Payload) > len("{}") {
				t.Errorf("%s, %s: %+v", policy, said, e)
			}
		}
	}
}

// eventOf is the record of an event.
func (s *stand) eventOf(id string) (e wire.Event) {
	s.t.Helper()
	for _, r := range s.log(wire.TopicEvents) {
		if err := json.Unmarshal(r.Value, &e); err == nil && e.EventID == id {
			return e
		}
	}
	s.t.Fatalf("no event %s", id)
	return e
}
