package edge

import (
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
