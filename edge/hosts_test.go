package edge

import (
	"net/http"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

// Under a host of one store no other store's link opens, unless it leads to that store.
func TestALinkOpensUnderNoOtherStoresHost(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{CompanyID: "co_a", StoreID: "a", Hosts: []string{"www.loja-a.example", "outra-a.example"}})
	s.publishCompany(wire.Company{CompanyID: "co_a_test", StoreID: "a", Hosts: []string{"loja-a.example"}})
	s.publishCompany(wire.Company{CompanyID: "co_b", Hosts: []string{"loja-b.example"}})
	link := func(code, company, url string) {
		s.publish(wire.LinkKeyPrefix+code, wire.Link{V: 1, Rev: 1, CompanyID: company, LinkID: code, URL: url, Influencer: "Ana"})
	}
	link("shop", "co_a", "https://loja-a.example/p")
	link("chat", "co_a", "https://chat.example/a")
	link("away", "co_a", "https://away.invalid/")
	link("phish", "co_b", "https://phish.example/")
	link("guest", "co_b", "https://m.loja-a.example/p") // it leads to store A
	link("near", "co_b", "https://notloja-a.example/")
	s.start(func(c *Config, _ *Deps) { c.ShortHost = "go.loja-a.example" })
	f := func(host, code string, opens bool) {
		t.Helper()
		status := http.StatusNotFound
		if opens {
			status = http.StatusFound
		}
		response, _ := s.do("GET", "/s/"+code, "", "User-Agent: "+phone, "Host: "+host)
		if location := response.Header.Get("Location"); response.StatusCode != status || (location != "") != opens {
			t.Errorf("%s under %s: %d %s, want %d", code, host, response.StatusCode, location, status)
		}
	}
	for _, host := range []string{"collect.loja-a.example", "COLLECT.Loja-A.Example:8443", "loja-a.example", "collect.loja-a.example.",
		"x.outra-a.example"} {
		f(host, "shop", true)
		f(host, "chat", true) // wherever the store's own links lead
		f(host, "phish", false)
		f(host, "near", false)
		f(host, "guest", true)
	}
	// everybody's, and nobody's
	for _, host := range []string{"go.loja-a.example", "collect.example", "loja-a.example.evil.example", "127.0.0.1"} {
		f(host, "shop", true)
		f(host, "phish", true)
	}
	f("t.loja-b.example", "phish", true)
	f("t.loja-b.example", "shop", false)

	// To list what is above another store's host gains nothing, and takes nothing away.
	s.publishCompany(wire.Company{CompanyID: "co_b", Rev: 1, Hosts: []string{"loja-b.example", "example"}})
	s.eventually("the host above", func() bool {
		response, _ := s.do("GET", "/s/away", "", "User-Agent: "+phone, "Host: collect.example")
		return response.StatusCode == http.StatusNotFound
	})
	f("collect.loja-a.example", "away", true)
	f("collect.loja-a.example", "phish", false)
	f("collect.outra-a.example", "chat", true)
	s.publishCompany(wire.Company{CompanyID: "co_a", StoreID: "a", Rev: 1,
		Hosts: []string{"www.loja-a.example", "outra-a.example", "127.0.0.1", "127.1"}})
	s.publishCompany(wire.Company{CompanyID: "co_c", Hosts: []string{"c.example"}})
	s.eventually("the address", func() bool {
		response, _ := s.do("GET", "/s/shop", "", "User-Agent: "+phone, "Host: x.c.example")
		return response.StatusCode == http.StatusNotFound
	})
	f("127.0.0.1", "phish", true) // an address looks like nobody's
	f("127.1", "phish", true)

	// To list another store's host gains nothing: all stores that have it must agree.
	s.publishCompany(wire.Company{CompanyID: "co_b", Rev: 2, Hosts: []string{"loja-a.example"}})
	s.eventually("the hosts of B", func() bool {
		response, _ := s.do("GET", "/s/shop", "", "User-Agent: "+phone, "Host: t.loja-b.example")
		return response.StatusCode == http.StatusFound // it is B's no more
	})
	f("collect.loja-a.example", "phish", false)
	f("collect.loja-a.example", "shop", true)
	s.publish(wire.CompanyKeyPrefix+"co_a_test", nil)
	s.publish(wire.CompanyKeyPrefix+"co_a", nil)
	s.eventually("the end of A", func() bool {
		response, _ := s.do("GET", "/s/phish", "", "User-Agent: "+phone, "Host: collect.loja-a.example")
		return response.StatusCode == http.StatusFound
	})
}

// What short links begin with comes with the directory: an edge need not be told.
func TestTheHostOfTheShortBaseIsEverybodys(t *testing.T) {
	file := snapshotPath(t)
	s := newBroker(t, "")
	s.publishCompany(wire.Company{CompanyID: "co_a", StoreID: "a", Hosts: []string{"loja-a.example"}})
	s.publishCompany(wire.Company{CompanyID: "co_b"})
	s.publish(wire.LinkKeyPrefix+"other",
		wire.Link{V: 1, Rev: 1, CompanyID: "co_b", LinkID: "other", URL: "https://loja-b.example/", Influencer: "Ana"})
	s.publish(wire.InstallationKey, wire.Installation{V: 1, ID: "i_test", ShortBase: "Go.loja-a.example"})
	start := func() { s.start(func(c *Config, _ *Deps) { c.SnapshotFile = file }) }
	start()
	f := func(host, path string, status int) {
		t.Helper()
		if response, _ := s.do("GET", path, "", "User-Agent: "+phone, "Host: "+host); response.StatusCode != status {
			t.Errorf("%s%s: %d, want %d", host, path, response.StatusCode, status)
		}
	}
	check := func() {
		t.Helper()
		f("go.loja-a.example", "/other", http.StatusFound)
		f("GO.loja-a.example", "/s/other", http.StatusFound)
		f("x.loja-a.example", "/s/other", http.StatusNotFound)
		f("x.loja-a.example", "/other", http.StatusNotFound)
		f("", "/other", http.StatusNotFound)
	}
	check()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s.broker.Stop()
	start()
	f("go.loja-a.example", "/other", http.StatusFound) // of the snapshot
	f("x.loja-a.example", "/s/other", http.StatusServiceUnavailable)
}

func TestAShortBaseWithAPathHasNoCodesElsewhere(t *testing.T) {
	s := newStand(t, nil)
	s.publishCompany(wire.Company{CompanyID: "co_a", Hosts: []string{"loja-a.example"}})
	s.publish(wire.InstallationKey, wire.Installation{V: 1, ID: "i_test", ShortBase: "collect.loja-a.example/s"})
	f := func(path string, status int) {
		t.Helper()
		s.eventually("the short base", func() bool {
			response, _ := s.do("GET", path, "", "User-Agent: "+phone, "Host: collect.loja-a.example:8443")
			return response.StatusCode == status
		})
	}
	f("/s/"+testCode, http.StatusFound)
	f("/"+testCode, http.StatusNotFound)
}
