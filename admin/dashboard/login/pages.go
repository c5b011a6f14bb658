package login

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/throttle"
)

// Config of the log-in.
type Config struct {
	// TokenSecret signs log-ins; PreviousTokenSecret, if any, still verifies.
	TokenSecret         []byte
	PreviousTokenSecret []byte

	AccessFor  time.Duration // life of an access cookie; default 10 min
	RefreshFor time.Duration // life of an unused refresh cookie; default 14 days
	// ClientIP returns the address that attempts a log-in. Default: the connection's.
	ClientIP func(*http.Request) string
	Recheck  func() // called when sessions or memberships have ended: open sockets are looked at again
}

// Database is what logging in, and a store's people, read and keep. Errors are
// internal/commerce's kinds.
type Database interface {
	// PersonByEmail returns commerce.ErrNotFound for an unknown e-mail.
	PersonByEmail(ctx context.Context, email string) (account.Person, error)
	PersonByID(ctx context.Context, id string) (account.Person, error)
	// SessionAccesses returns commerce.ErrNotFound for a session that has ended.
	SessionAccesses(ctx context.Context, personID, family string) ([]account.Access, error)
	// StartSession logs a person in, and returns how many attempts failed before.
	StartSession(ctx context.Context, personID, browser string, token [32]byte, at, expires time.Time) (account.LogIn, error)
	// LogInFailed counts a failed attempt; an unknown e-mail is no error.
	LogInFailed(ctx context.Context, email string, at time.Time) error
	// RotateSession returns commerce.ErrNotFound for an unknown or expired token,
	// and commerce.ErrConflict for a used one, whose family it ends.
	RotateSession(ctx context.Context, r account.SessionRotation) (account.Session, error)
	EndSession(ctx context.Context, family string) error
	EndSessionOf(ctx context.Context, token [32]byte) error
	OpenSessions(ctx context.Context, personID string, at time.Time, limit int) ([]account.OpenSession, error)
	EndSessions(ctx context.Context, personID, family string, allOthers bool) error
	SetPassword(ctx context.Context, personID, passwordHash string) error
	Members(ctx context.Context, storeID string, limit int) ([]account.Member, error)
	// ChangeMembership may return account.ErrLastOwner.
	ChangeMembership(ctx context.Context, c account.MembershipChange) error
	Invitations(ctx context.Context, storeID string, at time.Time) ([]account.Invitation, error)
	// Invite may return account.ErrElsewhere and account.ErrTooManyInvitations.
	Invite(ctx context.Context, n account.NewInvitation, token [32]byte) error
	PasswordLinks(ctx context.Context, companyID string, people []string, since time.Time, limit int) ([]account.PasswordLink, error)
	WithdrawInvitation(ctx context.Context, c account.MembershipChange, id string) error
	InvitationOf(ctx context.Context, token [32]byte, at time.Time) (account.Invitation, error)
	UseInvitation(ctx context.Context, token [32]byte, at time.Time, personID, passwordHash string) (string, error)
	// SetSecondFactor returns commerce.ErrConflict where it was changed meanwhile.
	SetSecondFactor(ctx context.Context, c account.SecondFactorChange) error
	// UseCode and UseRecoveryCode return commerce.ErrNotFound for a code that was used.
	UseCode(ctx context.Context, personID string, step int64, before, sealed []byte) error
	UseRecoveryCode(ctx context.Context, personID string, hash []byte) error
}

// Pages are the pages of logging in and of people. Safe for concurrent use.
type Pages struct {
	*site.Site
	config    Config
	db        Database
	keys      signingKeys
	attempts  *attempts
	guesses   *throttle.Guesses // of refresh tokens
	hashing   chan struct{}     // holds an element for each password that is being checked
	dummyHash string            // what an unknown e-mail's password is compared with
}

// hashingAtOnce bounds memory: each check takes 19 MiB.
const hashingAtOnce = 4

// New checks the secrets and makes the pages.
func New(shared *site.Site, config Config, db Database) (*Pages, error) {
	if config.AccessFor == 0 {
		config.AccessFor = 10 * time.Minute
	}
	if config.RefreshFor == 0 {
		config.RefreshFor = 14 * 24 * time.Hour
	}
	if config.ClientIP == nil {
		config.ClientIP = throttle.RemoteIP
	}
	s := &Pages{Site: shared, config: config, db: db, attempts: newAttempts(), guesses: throttle.NewGuesses(),
		hashing: make(chan struct{}, hashingAtOnce)}
	var err error
	if s.keys, err = newSigningKeys(config.TokenSecret, config.PreviousTokenSecret); err != nil {
		return nil, err
	}
	shared.Sealer = s.keys
	params := argon2
	if s.dummyHash, err = argon2id.CreateHash("nobody has this password", &params); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	return s, nil
}

// Routes are the pages and forms of those who are logged in.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(s.peopleRoutes(), s.accountRoutes())
}

// Open are the pages and forms of those who are not.
func (s *Pages) Open() []site.OpenRoute {
	return []site.OpenRoute{
		{Pattern: "GET /dashboard/session", Handle: s.sessionAlive},
		{Pattern: "GET " + site.LoginPath, Handle: s.loginForm},
		{Pattern: "POST " + site.LoginPath, Handle: s.WithForm(s.login)},
		{Pattern: "POST " + codePath, Handle: s.WithForm(s.secondStep)},
		{Pattern: "POST /dashboard/logout", Handle: s.logout},
		{Pattern: "GET " + JoinPath, Handle: s.join},
		{Pattern: "POST " + JoinPath, Handle: s.WithForm(s.useLink)},
	}
}
