package edge

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/wire"
)

// sender is who sent a request: by which API key, and what that says of its events.
type sender struct {
	trust wire.Trust
	keyID string // "" without a key
}

// authorize reads the request's API key. A request without one is open; one whose
// key may not send the company's events is refused.
func (s *Server) authorize(ctx *fasthttp.RequestCtx, companyID string, now time.Time) (sender, *refusal) {
	text, given := bearer(&ctx.Request.Header)
	if !given {
		return sender{trust: wire.TrustOpen}, nil
	}
	key := s.directory.apiKey(wire.APIKeyHash(text))
	if key == nil || key.CompanyID != companyID || !key.ActiveAt(now) {
		if !s.directory.fresh() {
			return sender{}, &refusedKeyNotFresh
		}
		return sender{}, &refusedUnauthorized
	}
	trust, ok := key.Trust()
	if !ok {
		return sender{}, &refusedScope
	}
	return sender{trust, key.KeyID}, nil
}

// bearer is the text of Authorization: Bearer. Other schemes belong to a proxy
// before the edge.
func bearer(h *fasthttp.RequestHeader) (text string, given bool) {
	scheme, text, _ := strings.Cut(string(h.Peek("Authorization")), " ")
	return strings.TrimSpace(text), strings.EqualFold(scheme, "Bearer")
}

// refuseKeyInBrowser refuses a page that sends an API key, where everybody can
// read it: browsers send Origin or a header Sec-Fetch-…, and pages cannot leave
// them out. The fetch of Node.js sends Sec-Fetch-Mode too, alone and with a
// User-Agent that no browser has.
func refuseKeyInBrowser(h *fasthttp.RequestHeader) *refusal {
	if _, given := bearer(h); !given {
		return nil
	}
	if len(h.Peek("Origin")) > 0 {
		return &refusedKeyInBrowser
	}
	mode := false
	for name := range h.All() {
		switch {
		case bytes.EqualFold(name, []byte("Sec-Fetch-Mode")):
			mode = true
		case len(name) > len(fetchPrefix) && bytes.EqualFold(name[:len(fetchPrefix)], []byte(fetchPrefix)):
			return &refusedKeyInBrowser
		}
	}
	if agent := string(h.UserAgent()); mode && agent != "node" && agent != "undici" {
		return &refusedFetchMode
	}
	return nil
}

// fetchPrefix begins the names of Fetch Metadata's headers (W3C).
const fetchPrefix = "Sec-Fetch-"

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
