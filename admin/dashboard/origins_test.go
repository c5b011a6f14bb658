package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/wire"
)

// Finding S1-6: a page that is refused for its address is shown where the first event is waited
// for. Anybody can send any: what is not of the shop's own domain is text.
func TestPagesThatMaySendNothingAreShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	page := func() string { return s.readRaw(owner, "/dashboard/install"+at) }
	if contains(page(), "Pages that may send nothing yet") {
		t.Error("nobody tried")
	}
	s.send(owner, "/dashboard/install/origin"+at, url.Values{"origin": {"www.outra.com.br"}})
	now := time.Now()
	s.Refused(s.live, delivery.RefusedOrigin{Origin: "https://outra.com.br", Own: true, Events: 12, At: now},
		delivery.RefusedOrigin{Origin: "https://xn--utra-bwa.com.br", Own: true, Events: 1, At: now}, // whatever the processor thought then
		delivery.RefusedOrigin{Origin: "https://outra.com", Events: 2, At: now}, delivery.RefusedOrigin{Origin: "null", Events: 3, At: now},
		delivery.RefusedOrigin{Origin: "other", Events: 9000, At: now})
	s.Refused(s.box, delivery.RefusedOrigin{Origin: "https://sandbox.outra.com.br", Events: 1, At: now})
	text := page()
	if !contains(text, "12 events, last",
		"https://xn--utra-bwa.com.br", "https://outra.com<", "Other addresses", "9,000 events", "A frame without") ||
		contains(text, "sandbox.outra") {
		t.Errorf("the page reads %s", text)
	}
	offered := func(text string) (list []string) {
		for _, form := range strings.Split(text, `action="/dashboard/install/origin?`)[1:] {
			form, _, _ = strings.Cut(form, "</form>")
			if _, value, ok := strings.Cut(form, `type="hidden" name="origin" value="`); ok {
				value, _, _ = strings.Cut(value, `"`)
				list = append(list, value)
			}
		}
		return list
	}
	if got := offered(text); len(got) != 1 || got[0] != "https://outra.com.br" {
		t.Errorf("offered are %q", got)
	}
	var news struct{ Refused string }
	signals := s.readRaw(owner, "/dashboard/install/signals"+at)
	if err := json.Unmarshal([]byte(signals), &news); err != nil || !contains(news.Refused, "12 events") {
		t.Errorf("%v %q", err, news.Refused)
	}
	s.send(owner, "/dashboard/install/origin"+at, url.Values{"origin": {"https://outra.com.br"}})
	if text := page(); contains(text, "12 events") || len(offered(text)) != 0 {
		t.Errorf("it is allowed, and the page reads %s", text)
	}
}

// The log says so too.
func TestEventsOfPagesThatMaySendNothingAreInTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	put := func(refused ...wire.NoticeRefused) {
		s.kafka.put(wire.TopicEvents, s.live,
			wire.Notice{V: 1, CompanyID: s.live, ID: []byte("1"), ReceivedAt: time.Now().UTC(), Refused: refused})
	}
	put(wire.NoticeRefused{Origin: "https://outra.com.br", Events: 12})
	put(wire.NoticeRefused{Origin: "https://a.example", Events: 1}, wire.NoticeRefused{Origin: "https://a\u202e.example", Events: 2})
	for query, want := range map[string]bool{"": true, "&show=rejected": true, "&show=event": false} {
		text := s.readAs(owner, "/dashboard/events?company="+s.live+query)
		if contains(text, "12 events of pages that may not send", "https://outra.com.br", "3 events of pages that may not send",
			"Prepare your shop”") != want {
			t.Errorf("%q reads %s", query, text)
		}
		if strings.Contains(text, "\u202e") {
			t.Error("an invisible character is shown")
		}
	}
}

// Finding S3-2: an address can be removed, by who saw what there is now. Its host stays the shop's.
func TestAnAddressOfTheShopIsRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, path := s.loggedIn(), "/dashboard/install?company="+s.live
	for _, origin := range []string{"https://açaí.com.br", "loja.example.com"} {
		status, _, _ := s.send(owner, "/dashboard/install/origin?company="+s.live, url.Values{"origin": {origin}})
		if status != http.StatusSeeOther {
			t.Fatalf("%s: %d", origin, status)
		}
	}
	if text := s.readRaw(owner, path); !contains(text, "<strong>https://açaí.com.br</strong>", "<small>https://xn--aa-4iaz.com.br</small>") {
		t.Errorf("the page reads %s", text)
	}
	remove := func(origin, version string) int {
		status, _ := s.sendFrom(owner, path, "/dashboard/install/origin/remove?company="+s.live,
			url.Values{"origin": {origin}, "version": {version}})
		return status
	}
	shown := s.versionAt(owner, path, "/dashboard/install/origin/remove")
	if status := remove("https://xn--aa-4iaz.com.br", shown); status != http.StatusSeeOther {
		t.Errorf("%d", status)
	}
	if status := remove("https://loja.example.com", shown); status != http.StatusConflict {
		t.Errorf("by a page of before: %d", status)
	}
	company, err := s.DB.Company(t.Context(), s.live)
	if err != nil || strings.Join(company.Origins, " ") != "https://loja.example.com" ||
		strings.Join(company.Hosts, " ") != "xn--aa-4iaz.com.br loja.example.com" {
		t.Errorf("%v %v %v", company.Origins, company.Hosts, err)
	}
	if log, err := s.DB.AuditLog(t.Context(), s.live, "", "company.settings", 10); err != nil || len(log) != 3 {
		t.Errorf("%d changes in the log, %v", len(log), err)
	}
}

// refusedPages fills the page "Prepare your shop": addresses, and pages that may send nothing.
func (s *site) refusedPages() {
	s.t.Helper()
	change := func(now *commerce.Settings) {
		now.Origins = []string{"https://www.outra.com.br", "https://xn--aa-4iaz.com.br"}
	}
	if _, _, err := s.DB.ChangeSettings(s.t.Context(),
		commerce.SettingsChange{CompanyID: s.live, Actor: "cli", Change: change}); err != nil {
		s.t.Fatal(err)
	}
	now := time.Now()
	s.Refused(s.live, delivery.RefusedOrigin{Origin: "https://outra.com.br", Own: true, Events: 12, At: now},
		delivery.RefusedOrigin{Origin: "https://xn--utra-bwa-um-endereco-muito-comprido-de-um-estranho-qualquer.com.br", Events: 1, At: now},
		delivery.RefusedOrigin{Origin: "null", Events: 3, At: now}, delivery.RefusedOrigin{Origin: "other", Events: 9000, At: now})
	s.kafka.put(wire.TopicEvents, s.live, wire.Notice{V: 1, CompanyID: s.live, ID: []byte("1"), ReceivedAt: now.UTC(),
		Refused: []wire.NoticeRefused{{Origin: "https://outra.com.br", Events: 12}}})
}
