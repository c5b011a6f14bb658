package account

import "time"

// Roles of a person in a store. An owner may change things; finance reads, closes and pays
// statements; an analyst reads.
const (
	RoleOwner   = "owner"
	RoleFinance = "finance"
	RoleAnalyst = "analyst"
)

// Person is somebody who logs in to the dashboard.
type Person struct {
	ID           string // UUID
	Email        string // trimmed, lower case
	PasswordHash string // argon2id, PHC string; never logged or shown
}

// Access is one company that a person may look at, by membership of its store.
type Access struct {
	StoreID     string
	Role        string // one of Roles
	CompanyID   string
	Environment string    // Live | Sandbox
	Name        string    // the store's, as people know it
	Timezone    string    // IANA
	Currency    string    // ISO 4217
	ArchivedAt  time.Time // of the company; zero: it is not archived
	RestoredAt  time.Time // since when paying is blocked, since changes are lost with a restored database; zero: it is not
}

// Session is a person's log-in: a family of refresh tokens, of which only the
// newest is valid.
type Session struct {
	PersonID string
	Family   string // UUID, the same over all rotations
}

// LogIn is a new session, and how often logging in failed since the one before.
type LogIn struct {
	Session
	Failures    int64
	LastFailure time.Time // zero where Failures is 0
}

// SessionRotation asks to replace a refresh token by the next. Of tokens only
// their SHA-256 is stored.
type SessionRotation struct {
	Token, Next [32]byte
	At          time.Time
	ExpiresAt   time.Time // of Next
	// Leeway is how long after its first use a token may be sent again and still
	// get the same Next, if Next is not used yet: a browser with two tabs, or one
	// that did not receive the answer, does that. Otherwise the token was stolen.
	Leeway time.Duration
}
