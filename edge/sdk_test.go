package edge

import (
	"errors"
	"log/slog"
	"maps"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk"
)

func (s *stand) sdkClient(cfg sdk.Config) *sdk.Client {
	s.t.Helper()
	cfg.Endpoint = s.url
	client, err := sdk.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = client.Close(s.t.Context()) })
	return client
}

func TestTheGoSDKsEventsHaveTheTrustOfItsKey(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishKey(testKey, wire.APIKey{KeyID: "key_w", Scopes: []string{wire.ScopeWriteEvents}})
	s.start(nil)
	for _, key := range []string{"", testKey} {
		client := s.sdkClient(sdk.Config{CompanyID: testCompany, APIKey: key})
		if err := client.Track(t.Context(), sdk.PageView, nil, sdk.Identity{}); err != nil {
			t.Fatal(err)
		}
		if err := client.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	trust := map[wire.Trust]string{}
	for _, e := range s.events() {
		trust[e.Trust] = e.KeyID
	}
	if id, open := trust[wire.TrustOpen]; len(trust) != 2 || !open || id != "" || trust[wire.TrustKey] != "key_w" {
		t.Errorf("%v", trust)
	}
}

func TestTheGoSDKSaysWhyTheEdgeRefusesIt(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishKey("orders", wire.APIKey{Scopes: []string{"write_orders"}})
	s.start(nil)
	f := func(company, key string, want error) {
		t.Helper()
		client := s.sdkClient(sdk.Config{CompanyID: company, APIKey: key, Logger: slog.New(slog.DiscardHandler)})
		if err := client.Track(t.Context(), sdk.PageView, nil, sdk.Identity{}); err != nil {
			t.Fatal(err)
		}
		if err := client.Flush(t.Context()); !errors.Is(err, want) {
			t.Errorf("Flush: %v, want %v", err, want)
		}
		if err := client.Track(t.Context(), sdk.PageView, nil, sdk.Identity{}); !errors.Is(err, want) {
			t.Errorf("Track: %v, want %v", err, want)
		}
	}
	f("co_nobody", "", sdk.ErrUnknownCompany)
	f(testCompany, testKey, sdk.ErrUnauthorized)
	f(testCompany, "orders", sdk.ErrUnauthorized)
	if n := len(s.events()); n != 0 {
		t.Errorf("%d events recorded", n)
	}
}

func TestTheGoSDKsEventsHaveTheShoppersConsent(t *testing.T) {
	s := newStand(t, nil)
	client := s.sdkClient(sdk.Config{CompanyID: testCompany})
	networks := sdk.NetworkIDs{GA: "1902279557.1738782858", FBP: "fb.1.1738782878094.8", TTP: "x"}
	for _, consent := range []sdk.Consent{"granted ga4,meta", sdk.ConsentGranted} {
		event := sdk.Event{Name: sdk.PageView, Consent: consent}
		event.Context.Networks = networks
		if err := client.TrackEvent(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, e := range s.events() {
		got[string(e.Consent)+" "+e.ConsentFor] = e.Context.NetworkIDs
	}
	want := map[string]string{wire.NetworkIDGA: networks.GA, wire.NetworkIDFBP: networks.FBP}
	if len(got) != 2 || !maps.Equal(got["granted ga4,meta"], want) || got["granted "] != nil {
		t.Errorf("%v", got)
	}
}
