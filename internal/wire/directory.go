package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Keys of directory.v1. A record without a value (a tombstone) deletes; of two
// values the one with the higher Rev wins.
const (
	CompanyKeyPrefix = "company/"     // + companyId → Company
	LinkKeyPrefix    = "link/"        // + short code → Link
	APIKeyPrefix     = "key/"         // + APIKeyHash → APIKey
	InstallationKey  = "installation" // → Installation
)

// Installation says whose topics these are.
type Installation struct {
	V  int    `json:"v"`  // 1
	ID string `json:"id"` // made once with the database

	// ShortBase is what short links begin with, without scheme: "go.example.com", "edge.example.com/s".
	// Absent until the admin API has published it.
	ShortBase string `json:"shortBase,omitempty"`
}

// Company is what the edge must know of a company.
type Company struct {
	V           int      `json:"v"` // 1
	Rev         int64    `json:"rev"`
	CompanyID   string   `json:"companyId"`
	StoreID     string   `json:"storeId,omitempty"` // of which it is the live or the sandbox company
	Environment string   `json:"environment"`       // live | sandbox
	Origins     []string `json:"origins"`           // allowed by CORS; "https://loja.example.com"
	Country     string   `json:"country"`           // ISO 3166-1 alpha-2, for phone numbers
	Timezone    string   `json:"timezone"`          // IANA
	Hosts       []string `json:"hosts"`             // the store's own hosts
	Limits      Limits   `json:"limits"`
	KeyCheck    string   `json:"keyCheck"` // identity.Hasher.Check: an edge that has neither this secret nor the former one refuses

	// FormerKeyCheck is that of the former secret, while the secret is being rotated.
	FormerKeyCheck string `json:"formerKeyCheck,omitempty"`

	ConsentPolicy ConsentPolicy `json:"consentPolicy"`

	ArchivedAt *time.Time `json:"archivedAt,omitempty"` // since when it takes no events; nil: it takes them
}

// ConsentPolicy says what a company makes of its visitors' consent.
type ConsentPolicy string

const (
	ConsentNone     ConsentPolicy = "none"      // what visitors say is recorded, and changes nothing
	ConsentRequired ConsentPolicy = "required"  // no cookie before a visitor agrees; a denial, or the browser's signal, joins nothing
	ConsentHonorGPC ConsentPolicy = "honor_gpc" // a denial or the browser's signal (Global Privacy Control, Do Not Track) joins nothing
)

// Limits of one company at the edge; zero is the edge's default.
type Limits struct {
	EventsPerSecond float64 `json:"eventsPerSecond,omitempty"`
	Burst           int     `json:"burst,omitempty"`
}

// Link is a short link.
type Link struct {
	V            int    `json:"v"` // 1
	Rev          int64  `json:"rev"`
	CompanyID    string `json:"companyId"`
	LinkID       string `json:"linkId"`
	InfluencerID string `json:"influencerId"`
	CampaignID   string `json:"campaignId"`
	URL          string `json:"url"`        // destination, without our parameters
	Influencer   string `json:"influencer"` // name: utm_campaign
	Campaign     string `json:"campaign"`   // name: utm_content; may be empty
	// Former are the names that the influencer had before: a utm_campaign with one is the influencer's too.
	Former []string `json:"former,omitempty"`
}

// Scopes with which an API key may send events.
const (
	ScopeWriteEvents  = "events.write"  // its events get TrustKey
	ScopeImportEvents = "events.import" // its events get TrustImport
)

// APIKey is what the edge must know of an API key. It is found by the hash of the
// key's text, from which the text cannot be made.
type APIKey struct {
	V         int        `json:"v"`   // 1
	Rev       int64      `json:"rev"` // the company's rule revision, which each change of a key raises
	CompanyID string     `json:"companyId"`
	KeyID     string     `json:"keyId"`
	Scopes    []string   `json:"scopes"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // nil: never
	RevokedAt *time.Time `json:"revokedAt,omitempty"` // nil: not revoked; may lie ahead
}

// APIKeyHash is what follows APIKeyPrefix: the SHA-256 of a key's text in
// lower-case hexadecimal digits. A fast hash is enough: the text has 160 random
// bits, so it cannot be guessed.
func APIKeyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ActiveAt reports whether the key is valid at t.
func (k *APIKey) ActiveAt(t time.Time) bool {
	return (k.ExpiresAt == nil || t.Before(*k.ExpiresAt)) && (k.RevokedAt == nil || t.Before(*k.RevokedAt))
}

// Trust is the trust of the events that the key sends; false where it may send
// none.
func (k *APIKey) Trust() (Trust, bool) {
	switch {
	case slices.Contains(k.Scopes, ScopeImportEvents):
		return TrustImport, true
	case slices.Contains(k.Scopes, ScopeWriteEvents):
		return TrustKey, true
	}
	return "", false
}
