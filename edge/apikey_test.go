package edge

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

const testKey = "trb_live_the-key-of-the-tests"

// publishKey publishes an API key of the test's company; what is empty is filled.
func (s *stand) publishKey(text string, k wire.APIKey) {
	s.t.Helper()
	k.V, k.Rev, k.CompanyID, k.KeyID = 1, max(k.Rev, 1), cmp.Or(k.CompanyID, testCompany), cmp.Or(k.KeyID, "key_1")
	s.publish(wire.APIKeyPrefix+wire.APIKeyHash(text), k)
}

func by(key string) string { return "Authorization: Bearer " + key }

func TestAnAPIKeySaysHowFarEventsAreTrusted(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishCompany(wire.Company{CompanyID: "co_other"})
	ended := time.Now().Add(-time.Second)
	ahead := time.Now().Add(time.Hour)
	s.publishKey("write", wire.APIKey{KeyID: "key_w", Scopes: []string{wire.ScopeWriteEvents}, ExpiresAt: &ahead, RevokedAt: &ahead})
	s.publishKey("import", wire.APIKey{KeyID: "key_i", Scopes: []string{"write_orders", wire.ScopeImportEvents}})
	s.publishKey("both", wire.APIKey{KeyID: "key_b", Scopes: []string{wire.ScopeWriteEvents, wire.ScopeImportEvents}})
	s.publishKey("orders", wire.APIKey{Scopes: []string{"write_orders"}})
	s.publishKey("expired", wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}, ExpiresAt: &ended})
	s.publishKey("revoked", wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}, RevokedAt: &ended})
	s.publishKey("other", wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}, CompanyID: "co_other"})
	s.start(nil)

	var want []string
	accepted := func(trust wire.Trust, keyID string, headers ...string) {
		t.Helper()
		id := newID()
		s.post(200, batchOf(pageView(id)), headers...)
		want = append(want, id+" "+string(trust)+" "+keyID)
	}
	accepted(wire.TrustOpen, "")
	accepted(wire.TrustOpen, "", "X-Tributary-Import: 1") // anybody can send it
	accepted(wire.TrustOpen, "", "Authorization: Basic dTpw")
	accepted(wire.TrustKey, "key_w", by("write"))
	accepted(wire.TrustKey, "key_w", "Authorization: bearer  write")
	accepted(wire.TrustKey, "key_w", by("write"), "Sec-Fetch-Mode: cors", "User-Agent: node") // Node's fetch
	accepted(wire.TrustImport, "key_i", by("import"))
	accepted(wire.TrustImport, "key_b", by("both"))

	refused := func(status int, code string, headers ...string) {
		t.Helper()
		if answer := s.post(status, batchOf(pageView(newID())), headers...); answer.Error.Code != code {
			t.Errorf("%v: %+v, want %s", headers, answer.Error, code)
		}
	}
	refused(401, "unauthorized", by("unknown"))
	refused(401, "unauthorized", by(""))
	refused(401, "unauthorized", by(wire.APIKeyHash("write")))
	refused(401, "unauthorized", by("expired"))
	refused(401, "unauthorized", by("revoked"))
	refused(401, "unauthorized", by("other"))
	refused(403, "insufficient_scope", by("orders"))
	refused(403, "key_in_browser", by("write"), "Origin: "+testOrigin)
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-Site: none")
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-Dest: empty")
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-User: ?1")
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-Storage-Access: none")
	refused(403, "key_in_browser", by("write"), "sec-fetch-of-tomorrow: x")
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-Mode: cors")
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-Mode: cors", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) node")
	refused(403, "key_in_browser", by("write"), "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: none", "User-Agent: node")
	refused(403, "key_in_browser", by("write"), "Origin: null", "User-Agent: node")

	var got []string
	for _, e := range s.events() {
		got = append(got, e.EventID+" "+string(e.Trust)+" "+e.KeyID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A stranger who guesses or sees an event's id and sends it first must not make
// the backend's own event a duplicate.
func TestAnOpenEventDoesNotShutOutAKeysEventOfTheSameID(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishKey(testKey, wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}})
	s.start(nil)
	id := newID()
	status := func(headers ...string) string {
		t.Helper()
		return s.post(200, batchOf(pageView(id)), headers...).Results[0].Status
	}
	got := []string{status(), status(by(testKey)), status(), status(by(testKey))}
	if want := []string{"ok", "ok", "duplicate", "duplicate"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if events := s.events(); len(events) != 2 || events[0].Trust != wire.TrustOpen || events[1].Trust != wire.TrustKey {
		t.Errorf("%+v", events)
	}
}

func TestARevocationIsFollowed(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	key := wire.APIKey{Rev: 7, Scopes: []string{wire.ScopeWriteEvents}}
	s.publishKey(testKey, key)
	s.start(nil)
	s.post(200, batchOf(pageView(newID())), by(testKey))
	now := time.Now()
	revoked := key
	revoked.Rev, revoked.RevokedAt = 8, &now
	s.publishKey(testKey, revoked)
	s.publishKey(testKey, key) // published late by an admin process that was paused
	s.eventually("the key is refused", func() bool {
		response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())), by(testKey))
		return response.StatusCode == 401
	})
	s.publish(wire.APIKeyPrefix+wire.APIKeyHash("next"), wire.APIKey{V: 1, Rev: 9, CompanyID: testCompany, KeyID: "key_2", Scopes: key.Scopes})
	s.eventually("the next key is known", func() bool { return s.edge.directory.apiKey(wire.APIKeyHash("next")) != nil })
	s.post(401, batchOf(pageView(newID())), by(testKey))
	s.publish(wire.APIKeyPrefix+wire.APIKeyHash("next"), nil)
	s.eventually("the next key is gone", func() bool { return s.edge.directory.apiKey(wire.APIKeyHash("next")) == nil })
	s.post(401, batchOf(pageView(newID())), by("next"))
}

// A topic that lacks companies is read beside the served state for a while: a key
// that is revoked meanwhile must not work on.
func TestARevocationCountsWhileTheDirectoryIsRebuilt(t *testing.T) {
	t.Parallel()
	d := newDirectory(testHasher(t), Config{}, slog.New(slog.DiscardHandler), time.Now)
	record := func(state *entries, rev int64, revoked *time.Time) {
		state.keys["h"] = &wire.APIKey{Rev: rev, CompanyID: testCompany, KeyID: "key_1", RevokedAt: revoked}
	}
	now := time.Now()
	record(d.served, 1, nil)
	d.rebuilt = newEntries()
	if k := d.apiKey("h"); k == nil || !k.ActiveAt(now) {
		t.Errorf("while the rebuilt state lacks it: %+v", k)
	}
	record(d.rebuilt, 2, &now)
	if k := d.apiKey("h"); k.ActiveAt(now) {
		t.Error("the served key works on")
	}
	record(d.rebuilt, 0, nil)
	if k := d.apiKey("h"); k.Rev != 1 {
		t.Error("an older record took the served one's place")
	}
}

// What an edge cannot know yet is not refused for good; what it knows still holds.
func TestKeysOutliveKafka(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishKey(testKey, wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}})
	file := snapshotPath(t)
	keep := func(c *Config, _ *Deps) {
		c.SnapshotFile, c.ProduceTimeout, c.DirectoryFresh = file, 200*time.Millisecond, 40*time.Millisecond
	}
	s.start(keep)
	s.post(200, batchOf(pageView(newID())), by(testKey))
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s.broker.Stop()
	s.start(keep)
	if answer := s.post(503, batchOf(pageView(newID())), by("unknown")); answer.Error.Code != "directory_not_fresh" {
		t.Errorf("an unknown key: %+v", answer.Error)
	}
	if answer := s.post(503, batchOf(pageView(newID())), by(testKey)); answer.Error.Code != "unavailable" {
		t.Errorf("a known key, with Kafka down: %+v", answer.Error)
	}
	if response, _ := s.do("GET", "/v1/pixel.gif?companyId="+testCompany, "",
		by("unknown")); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the pixel takes no key: %d", response.StatusCode)
	}
}
