package edge

import (
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// docs/attribution.md, "Keys that join": a UTM value that is an influencer's or a
// campaign's name is never scrubbed, whatever it looks like.
func TestNamesInUTMValuesAreNotScrubbed(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishCompany(wire.Company{CompanyID: "co_other"})
	const influencer, campaign, code = "Bia @bia.lima", "Live 11 98765-4321", "Nm12Cd"
	s.publish(wire.LinkKeyPrefix+code,
		wire.Link{V: 1, Rev: 1, CompanyID: testCompany, LinkID: "l", URL: "https://loja.example.com/?e=b@x.com",
			Influencer: influencer, Campaign: campaign, Former: []string{"Ana", "Ana @ana.prado"}})
	s.start(nil)
	const query = "utm_campaign=ANA+%40ana.prado&utm_content=live%2011%2098765-4321"
	const url = "https://loja.example.com/?" + query + "&e=b%40x.com"
	for _, company := range []string{testCompany, "co_other"} {
		s.post(200, `{"companyId":"`+company+`","events":[{"eventId":"`+newID()+`","event":"PAGE_VIEW","timestamp":"2026-03-15T12:00:00Z",`+
			`"context":{"page":{"url":"`+url+`"},
			"campaign":{"source":"b@x.com","name":"ana @ANA.prado","content":"Live 11 98765-4321","term":"x@ana.prado"}}}]}`)
	}
	response, _ := s.do("GET", "/s/"+code, "")
	if response.StatusCode != 302 {
		t.Fatalf("status %d", response.StatusCode)
	}
	f := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
	}
	found := 0
	for _, e := range s.events() {
		found++
		c := e.Context.Campaign
		switch {
		case e.Click != nil:
			f("the click's campaign", c.Name+" / "+c.Content, influencer+" / "+campaign)
			f("the click's destination", e.Click.Destination[:len("https://loja.example.com/?e=(email)")], "https://loja.example.com/?e=(email)")
			campaignOfURL, _ := parsedCampaign(e.Click.Destination)
			f("… its campaign", campaignOfURL, influencer+" / "+campaign)
		case e.CompanyID == testCompany:
			f("the URL", e.Context.Page.URL, "https://loja.example.com/?"+query+"&e=(email)")
			f("the campaign", c.Source+" / "+c.Name+" / "+c.Content+" / "+c.Term, "(email) / ana @ANA.prado / Live 11 98765-4321 / (email)")
		default:
			f("another company's campaign", c.Name+" / "+c.Content, "ana @ANA.prado / Live (phone)")
			f("another company's URL", e.Context.Page.URL,
				"https://loja.example.com/?utm_campaign=(email)&utm_content=live%2011%2098765-4321&e=(email)")
		}
	}
	if found != 3 {
		t.Errorf("%d events, want 3", found)
	}
}

// The names go with their last link, and are only those that scrubbing might change.
func TestNamesOfADirectory(t *testing.T) {
	d := newDirectory(testHasher(t), Config{}, slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now)
	rev := int64(0)
	put := func(code, influencer, campaign string) {
		rev++
		value, err := json.Marshal(wire.Link{V: 1, Rev: rev, CompanyID: "c", URL: "https://x.com/", Influencer: influencer, Campaign: campaign})
		if err != nil {
			t.Fatal(err)
		}
		d.apply(wire.LinkKeyPrefix+code, value)
	}
	f := func(value string, want bool) {
		t.Helper()
		if got := d.isName("c", value); got != want {
			t.Errorf("%q is a name: %t, want %t", value, got, want)
		}
	}
	put("a", "Ana Prado", "Inverno")
	if d.hasNames("c") {
		t.Error("names that nothing changes are kept")
	}
	put("b", "Ana @ana.prado", "Inverno")
	put("d", "Ana @ana.prado", "20-11 98765-4321")
	f("ana @ANA.PRADO", true)
	f("20-11 98765-4321", true)
	f("@ana.prado", false)
	put("d", "Beto", "") // replaced
	f("ana @ana.prado", true)
	f("20-11 98765-4321", false)
	d.apply(wire.LinkKeyPrefix+"b", nil)
	d.apply(wire.LinkKeyPrefix+"b", nil)
	f("ana @ana.prado", false)
	if d.hasNames("c") || len(d.served.names) != 0 {
		t.Errorf("names are left: %v", d.served.names)
	}
}

func parsedCampaign(url string) (names string, ids []core.Param) {
	c, ids := core.ParseCampaign(url)
	return c.Name + " / " + c.Content, ids
}
