package edge

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tributary-io/tributary/internal/wire"
)

// sender is who sent a request: by which API key, and what that says of its events.
type sender struct {
	trust wire.Trust
	keyID string // "" without a key
}

// authorize reads the request's API key. A request without one is open; one whose
// key may not send the company's events is refused.
func (s *Server) authorize(from *principal, companyID string) (sender, *refusal) {
	if !from.bearer {
		return sender{trust: wire.TrustOpen}, nil
	}
	if from.key == nil || from.key.CompanyID != companyID {
		if !s.directory.fresh() {
			return sender{}, &refusedKeyNotFresh
		}
		return sender{}, &refusedUnauthorized
	}
	trust, ok := from.key.Trust()
	if !ok {
		return sender{}, &refusedScope
	}
	return sender{trust, from.key.KeyID}, nil
}

// apiKey is the API key that a request shows, if it shows one: by Bearer, or, at Segment's
// routes, by Basic, where the user's name is a write key.
func (r *request) apiKey() (text string, given bool) {
	if text, given = r.headers.bearer(); given || !r.segment {
		return text, given
	}
	text = r.headers.basic()
	return text, isAPIKey(text)
}

// isAPIKey tells whether a write key is an API key, and no companyId.
func isAPIKey(text string) bool { return strings.HasPrefix(text, "trb_") }

// refuseKeyInBrowser refuses a page that sends an API key, where everybody can
// read it: browsers send Origin or a header Sec-Fetch-…, and pages cannot leave
// them out. The fetch of Node.js sends Sec-Fetch-Mode too, alone and with a
// User-Agent that no browser has.
func refuseKeyInBrowser(r *request, userAgent []byte) *refusal {
	h := &r.headers
	if _, given := r.apiKey(); !given {
		return nil
	}
	if h.origin != nil || h.fetchSite != nil || h.fetchDest != nil || h.storageAccess != nil || h.fetchOther {
		return &refusedKeyInBrowser
	}
	byNode := string(userAgent) == "node" || string(userAgent) == "undici" ||
		r.segment && bytes.HasPrefix(userAgent, []byte("analytics-node"))
	if h.fetchMode && !byNode {
		return &refusedFetchMode
	}
	return nil
}

// apiKey is the key with a hash, nil for none. Of the served and the rebuilt
// state's the newer counts: a revocation must not wait until all is rebuilt.
func (d *directory) apiKey(hash string) *wire.APIKey {
	d.mu.RLock()
	defer d.mu.RUnlock()
	key := d.served.keys[hash]
	if d.rebuilt != nil {
		if newer := d.rebuilt.keys[hash]; newer != nil && (key == nil || newer.Rev >= key.Rev) {
			key = newer
		}
	}
	return key
}

func (d *directory) applyAPIKey(state *entries, hash string, value []byte) {
	if len(value) == 0 {
		delete(state.keys, hash)
		return
	}
	var k wire.APIKey
	if err := json.Unmarshal(value, &k); err != nil || k.CompanyID == "" || k.KeyID == "" {
		d.log.Error("directory: an API key's record cannot be read", "key", k.KeyID, "company", k.CompanyID, "error", err)
		return
	}
	if old := state.keys[hash]; old == nil || old.Rev <= k.Rev {
		state.keys[hash] = &k
	}
}
