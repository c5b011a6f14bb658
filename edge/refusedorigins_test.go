package edge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// refusedOf is what one notice tells of refused origins, by origin.
func (s *stand) refusedOf(notices int) map[string]int64 {
	s.t.Helper()
	s.edge.tellRefusedNow()
	s.eventually("the notice is there", func() bool { return len(s.notices()) >= notices })
	list := s.notices()
	if len(list) != notices {
		s.t.Fatalf("%d notices, want %d: %+v", len(list), notices, list)
	}
	n, found := list[notices-1], map[string]int64{}
	if n.CompanyID != testCompany || len(n.ID) != 16 || n.ReceivedAt.IsZero() || n.Duplicate != 0 || n.Rejected != nil || n.Origin != "" {
		s.t.Errorf("%+v", n)
	}
	for _, r := range n.Refused {
		found[r.Origin] += r.Events
	}
	return found
}

func neverByItself(c *Config, _ *Deps) { c.TellRefusedEvery = time.Hour }

// TestRefusedOriginsAreTold: which pages tried, and how many events.
func TestRefusedOriginsAreTold(t *testing.T) {
	s := newStand(t, neverByItself)
	s.post(200, batchOf(pageView(newID())), "Origin: "+testOrigin)
	for range 2 {
		s.post(403, batchOf(pageView(newID()), pageView(newID())), "Origin: https://outra.com.br")
	}
	s.post(403, batchOf(pageView(newID())), "Origin: https://www.loja.example.com:443/")
	s.post(403, batchOf(pageView(newID())), "Origin: null")
	s.post(403, batchOf(pageView(newID())), "Origin: http://xn--lja-0na.example.com:8443")
	s.post(401, `{"companyId":"co_nobody","events":[`+pageView(newID())+`]}`, "Origin: https://outra.com.br")
	want := map[string]int64{"https://outra.com.br": 4, "https://www.loja.example.com": 1, "null": 1, "http://xn--lja-0na.example.com:8443": 1}
	if got := s.refusedOf(1); !maps.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	s.edge.tellRefusedNow() // nothing more came
	s.post(403, batchOf(pageView(newID())), "Origin: https://outra.com.br")
	if got := s.refusedOf(2); !maps.Equal(got, map[string]int64{"https://outra.com.br": 1}) {
		t.Errorf("told %v", got)
	}
	s.post(403, batchOf(pageView(newID())), "Origin: https://late.example")
	if err := s.stop(); err != nil { // what was not told yet is told when the edge ends
		t.Fatal(err)
	}
	if list := s.notices(); len(list) != 3 || list[2].Refused[0].Origin != "https://late.example" {
		t.Errorf("%+v", list)
	}
}

// A stranger sends any origin for a company, and as many as they like: few are kept, and those of the shop's own domain are among them.
func TestAStrangersOriginsAreBounded(t *testing.T) {
	s := newStand(t, neverByItself)
	c, _ := s.edge.directory.company(testCompany)
	for _, bad := range []string{"https://" + strings.Repeat("a", 4000) + ".com", "https://outra.com.br/path", "https://ana@outra.com.br",
		"javascript:alert(1)", "chrome-extension://abc", "https://lоja.example.com", "https://a.example, https://b.example", "https://", "*",
		"https://a.example\u202e", "other"} {
		s.edge.refused.add(c, bad, 1)
	}
	for n := range 10_000 {
		s.edge.refused.add(c, fmt.Sprintf("https://shop%d.com.br", n), 1)
	}
	s.edge.refused.add(c, "https://www.loja.example.com", 3)
	got := s.refusedOf(1)
	if len(got) != mostForeignOrigins+2 || got["https://www.loja.example.com"] != 3 || got[""] != 11+10_000-mostForeignOrigins {
		t.Errorf("told %v", got)
	}
	for n := range 10_000 {
		s.edge.refused.add(c, fmt.Sprintf("https://s%d.loja.example.com", n), 1)
	}
	if got := s.refusedOf(2); len(got) != wire.MaxRefused+1 || got[""] != 10_000-wire.MaxRefused {
		t.Errorf("told %v", got)
	}

	counted := refusedOrigins{companies: map[string]*refusedOf{}}
	for n := range 2 * mostRefusedCompanies {
		counted.add(&company{Company: wire.Company{CompanyID: fmt.Sprint(n)}}, "https://outra.com.br", 1)
	}
	if n := len(slices.Collect(maps.Keys(counted.take()))); n != mostRefusedCompanies {
		t.Errorf("%d companies are counted", n)
	}
}
