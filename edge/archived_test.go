package edge

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// An archived company takes no events by any way. Its short links still lead to the shop, by the
// shop's own parameters and ours, but for the click id. Taken back, it is as before.
func TestAnArchivedCompanyTakesNoEventsAndItsLinksLeadOn(t *testing.T) {
	s := newStand(t, nil)
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	archive := func(rev int64, at *time.Time) {
		t.Helper()
		s.publishCompany(wire.Company{Rev: rev, ArchivedAt: at})
		s.eventually("the edge has read the company", func() bool {
			c, known := s.edge.directory.company(testCompany)
			return known && c.Rev == rev
		})
	}
	body := `{"companyId":"` + testCompany + `","event":"PAGE_VIEW"}`
	s.post(http.StatusOK, body)
	archive(2, &at)
	before := len(s.events())

	refused := s.post(http.StatusForbidden, body)
	if refused.Error.Code != "company_archived" || !strings.Contains(refused.Error.Message, "is archived") {
		t.Errorf("%+v", refused.Error)
	}
	s.post(http.StatusForbidden, body, "Origin: "+testOrigin)
	if response, text := s.do("GET", "/v1/pixel.gif?companyId="+testCompany, ""); response.StatusCode != http.StatusForbidden ||
		!strings.Contains(string(text), "company_archived") {
		t.Errorf("pixel: %d %s", response.StatusCode, text)
	}
	if response, text := s.do("POST", "/v1/known", `{"companyId":"`+testCompany+`","eventIds":[]}`); response.StatusCode !=
		http.StatusForbidden || !strings.Contains(string(text), "company_archived") {
		t.Errorf("known: %d %s", response.StatusCode, text)
	}
	want := "https://loja.example.com/p/camiseta?cor=azul&utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado&" +
		"utm_content=Ver%C3%A3o+26#frete"
	response, _ := s.do("GET", "/s/"+testCode, "", "User-Agent: "+phone)
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusFound || got != want ||
		len(response.Header.Values("Set-Cookie")) > 0 {
		t.Errorf("%d %s, want %s", response.StatusCode, got, want)
	}
	if after := len(s.events()); after != before {
		t.Errorf("%d events, %d before it was archived", after, before)
	}

	archive(3, nil)
	s.post(http.StatusOK, body)
	response, _ = s.do("GET", "/s/"+testCode, "", "User-Agent: "+phone)
	if !strings.Contains(response.Header.Get("Location"), "trb_click=") {
		t.Errorf("a company taken back: %s", response.Header.Get("Location"))
	}
}

// A snapshot remembers that a company is archived: an edge that starts without Kafka takes nothing of it. The company
// may be in use again: senders are told to keep their events.
func TestASnapshotKeepsThatACompanyIsArchived(t *testing.T) {
	file := t.TempDir() + "/directory.json"
	s := newBroker(t, t.TempDir())
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s.publishCompany(wire.Company{ArchivedAt: &at})
	s.start(func(c *Config, _ *Deps) { c.SnapshotFile = file })
	s.eventually("the edge is fresh", s.edge.directory.fresh)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s.broker.Stop()
	s.start(func(c *Config, _ *Deps) { c.SnapshotFile = file })
	if refused := s.post(http.StatusServiceUnavailable,
		`{"companyId":"`+testCompany+`","event":"PAGE_VIEW"}`); refused.Error.Code != "directory_not_fresh" {
		t.Errorf("%+v", refused.Error)
	}
}
