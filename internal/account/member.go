package account

import (
	"errors"
	"fmt"
	"io"
	"net/mail"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Roles lists the roles there are.
var Roles = []string{RoleOwner, RoleFinance, RoleAnalyst}

// MaxEmail in bytes: RFC 5321, 4.5.3.1.3, less the brackets.
const MaxEmail = 254

// Member is somebody who may log in to a store.
type Member struct {
	PersonID string
	Email    string
	Role     string
	LastSeen time.Time // when a session was last renewed; zero: there is none
}

// OpenSession is one log-in of a person that has not ended.
type OpenSession struct {
	Family   string // UUID
	Browser  string // "Chrome, Windows"; may be empty
	Started  time.Time
	LastSeen time.Time // exact to the life of an access token
	Expires  time.Time
}

// Watch is what an open page may show as long as the session lasts and the person
// is a member.
type Watch struct {
	PersonID  string
	Family    string
	CompanyID string
}

// Invitation is a one-time link that has not been used: to come into a store, or,
// where Role is empty, to set a member's password anew.
type Invitation struct {
	ID        string // UUID
	StoreID   string
	Store     string // its name
	Email     string
	Role      string
	PersonID  string // whose password; empty for an invitation
	ByCLI     bool   // the operator made it, and says who the person is
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Reset reports whether the link sets a password anew.
func (i Invitation) Reset() bool { return i.Role == "" }

// ChoosesPassword reports whether who uses the link chooses a password, also where the e-mail
// has a log-in. Anybody may have made that log-in: nothing shows whose an e-mail is. So an
// owner's invitation asks for its password, and the operator's sets a new one.
func (i Invitation) ChoosesPassword() bool { return i.Reset() || i.ByCLI }

// NewInvitation asks for a link. Of a link to set a password anew, PersonID is
// whose, and Role is empty.
type NewInvitation struct {
	StoreID   string
	CompanyID string // of the store's live company, whose audit log has it
	Email     string
	Role      string
	PersonID  string
	MadeBy    string // person; empty: the command line, which makes no link for a password
	At        time.Time
	Life      time.Duration
	Random    io.Reader
}

// Check returns every rule that an invitation breaks.
func (n NewInvitation) Check() (bad commerce.Violations) {
	if !IsEmail(n.Email) {
		bad.Add("email", commerce.CodeInvalidValue, "is no e-mail address")
	}
	bad.Word("role", n.Role, Roles...)
	return bad
}

// IsEmail reports whether a text is an e-mail address and nothing else.
func IsEmail(text string) bool {
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text && len(text) <= MaxEmail && commerce.IsID(text) && !strings.ContainsAny(text, " <>\"")
}

// MembershipChange says how a person's membership of a store changes.
type MembershipChange struct {
	StoreID   string
	CompanyID string // of the store's live company, whose audit log has it
	PersonID  string
	Role      string // empty: the person leaves the store
	Actor     string
}

// PasswordLink is a link for a new password that was made, or used.
type PasswordLink struct {
	At       time.Time
	PersonID string // whose password
	Actor    string // "user/<personId>"
	Used     bool
}

// MaxInvitations bounds a store's open links.
const MaxInvitations = 100

var (
	// ErrLastOwner refuses to take the last owner from a store.
	ErrLastOwner = fmt.Errorf("%w: a store keeps at least one owner", commerce.ErrConflict)
	// ErrTooManyInvitations refuses links beyond MaxInvitations.
	ErrTooManyInvitations = fmt.Errorf("%w: a store has at most %d open links", commerce.ErrConflict, MaxInvitations)
	// ErrElsewhere refuses to set the password of somebody who is in stores that the
	// owner who asks does not own.
	ErrElsewhere = errors.New("the person is a member of other stores")
)

// AuditEntry is one line of a company's audit log.
type AuditEntry struct {
	ID      string // UUIDv7
	At      time.Time
	Actor   string // "key/<keyId>", "user/<personId>", "cli"
	Name    string // of the actor: an e-mail, or the key's name; may be empty
	Action  string // such as influencer.create
	Subject string
	Detail  string            // JSON
	Done    bool              // of an erasure that was asked for: it is done
	Names   map[string]string // of the people, influencers and campaigns that the subject and the details name by id; shared by entries
}
