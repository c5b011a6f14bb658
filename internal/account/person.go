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
	SecondFactor []byte // the sealed secret of the codes (RFC 6238); empty: none is asked for
	CodesLeft    int64  // recovery codes that were not used
}

// SecondFactorChange turns a person's second factor on, or, where Sealed is empty, off.
type SecondFactorChange struct {
	PersonID      string
	Actor         string
	Before        []byte   // what is stored; another is commerce.ErrConflict
	Sealed        []byte   // the secret, encrypted
	Step          int64    // of the code that was shown: it and those before count no more
	RecoveryCodes [][]byte // their SHA-256
	Any           bool     // whatever is stored: the operator's command
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
	Family   string // UUID of version 7, the same over all rotations: its time is when the session began
}

// LongestSession is when a session ends that is used all the time: the person logs in anew. (NIST SP 800-63B, 4.1.3: at least once in
// 30 days.)
const LongestSession = 30 * 24 * time.Hour

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
