package commerce

import "time"

// Roles of a person in a store. An owner may change things; an analyst reads.
const (
	RoleOwner   = "owner"
	RoleAnalyst = "analyst"
)

// Person is who logs in to the dashboard.
type Person struct {
	ID           string // UUID
	Email        string // trimmed, lower case
	PasswordHash string // argon2id, PHC string; never logged or shown
}

// Access is one company that a person may look at, by membership of its store.
type Access struct {
	StoreID     string
	Role        string // RoleOwner | RoleAnalyst
	CompanyID   string
	Environment string // Live | Sandbox
	Name        string // the store's, as people know it
	Timezone    string // IANA
	Currency    string // ISO 4217
}

// Session is a person's log-in: a family of refresh tokens, of which only the
// newest is good.
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

// SessionRotation asks to replace one refresh token by the next. Tokens are
// known by their SHA-256 alone.
type SessionRotation struct {
	Token, Next [32]byte
	At          time.Time
	ExpiresAt   time.Time // of Next
	// Leeway is how long after its first use a token may come again and get the
	// same Next, provided that Next is still unused: two tabs, or an answer that
	// was lost on its way. Later, or once Next was used, it is theft.
	Leeway time.Duration
}
