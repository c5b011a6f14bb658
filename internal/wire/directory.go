package wire

// Keys of directory.v1. A record without a value (a tombstone) deletes; of two
// values the one with the higher Rev wins.
const (
	CompanyKeyPrefix = "company/" // + companyId → Company
	LinkKeyPrefix    = "link/"    // + short code → Link
)

// Company is what the edge must know of a company.
type Company struct {
	V           int      `json:"v"` // 1
	Rev         int64    `json:"rev"`
	CompanyID   string   `json:"companyId"`
	Environment string   `json:"environment"` // live | sandbox
	Origins     []string `json:"origins"`     // allowed by CORS; "https://loja.example.com"
	Country     string   `json:"country"`     // ISO 3166-1 alpha-2, for phone numbers
	Timezone    string   `json:"timezone"`    // IANA
	Hosts       []string `json:"hosts"`       // the store's own hosts
	Limits      Limits   `json:"limits"`
	KeyCheck    string   `json:"keyCheck"` // identity.Hasher.Check: an edge with another secret refuses

	ConsentPolicy ConsentPolicy `json:"consentPolicy"`
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
}
