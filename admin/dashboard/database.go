package dashboard

import (
	"context"
	"io"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/signs"
)

// Database is what the pages read and keep; implemented by internal/postgres.
// Errors are internal/commerce's kinds.
type Database interface {
	logins
	people
	keys
	rules
	sales
	statements
	reporting
}

// logins is what logging in needs.
type logins interface {
	// PersonByEmail returns commerce.ErrNotFound for an unknown e-mail.
	PersonByEmail(ctx context.Context, email string) (account.Person, error)
	PersonByID(ctx context.Context, id string) (account.Person, error)
	// SessionAccesses returns commerce.ErrNotFound for a session that has ended.
	SessionAccesses(ctx context.Context, personID, family string) ([]account.Access, error)
	StillWatching(ctx context.Context, list []account.Watch) ([]account.Watch, error)

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
}

// people is a store's members, one-time links and audit log.
type people interface {
	Members(ctx context.Context, storeID string, limit int) ([]account.Member, error)
	// ChangeMembership may return account.ErrLastOwner.
	ChangeMembership(ctx context.Context, c account.MembershipChange) error
	Invitations(ctx context.Context, storeID string, at time.Time) ([]account.Invitation, error)
	// Invite may return account.ErrElsewhere and account.ErrTooManyInvitations.
	Invite(ctx context.Context, n account.NewInvitation, token [32]byte) error
	WithdrawInvitation(ctx context.Context, c account.MembershipChange, id string) error
	InvitationOf(ctx context.Context, token [32]byte, at time.Time) (account.Invitation, error)
	UseInvitation(ctx context.Context, token [32]byte, at time.Time, personID, passwordHash string) (string, error)
	AuditLog(ctx context.Context, companyID, before, action string, limit int) ([]account.AuditEntry, error)
}

// keys is a company's API keys.
type keys interface {
	ListAPIKeys(ctx context.Context, companyID string, limit int) ([]account.APIKey, error)
	CreateAPIKey(ctx context.Context, k account.NewAPIKey) (key account.APIKey, text string, err error)
	RotateAPIKey(ctx context.Context, r account.KeyRotation) (key account.APIKey, text string, err error)
	RevokeAPIKey(ctx context.Context, companyID, keyID string, at time.Time, actor string) (ends time.Time, err error)
}

// rules is what the merchant sets up. What changes rules is as of admin.Database.
type rules interface {
	Company(ctx context.Context, companyID string) (commerce.Company, error)
	// Influencer returns commerce.ErrNotFound for one that is archived or not there.
	Influencer(ctx context.Context, companyID, influencerID string) (commerce.Influencer, error)
	FindInfluencers(ctx context.Context, companyID string, s commerce.InfluencerSearch) ([]commerce.InfluencerSummary, error)
	// AskStatements may return commerce.ErrFutureDay and ErrTooManyStatements,
	// PayStatement commerce.ErrNotClosed, ErrCarried, ErrPaidOtherwise and ErrRestored, which ConfirmRestored ends.
	AskStatements(ctx context.Context, author commerce.Author, asked commerce.Closing, random io.Reader) ([]commerce.Statement, error)
	PayStatement(ctx context.Context, author commerce.Author, p commerce.StatementPayment) error
	ConfirmRestored(ctx context.Context, author commerce.Author) (was bool, err error)
	LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (number int64, err error)
	// ChangeSettings may return a *commerce.SettingsError.
	ChangeSettings(ctx context.Context, c commerce.SettingsChange) (before, after commerce.Settings, err error)
	Influencers(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)
	RegisterInfluencer(ctx context.Context, author commerce.Author, r commerce.Registration, random io.Reader) (commerce.Registered, error)
	UpdateInfluencer(ctx context.Context, author commerce.Author, name, category string) error
	ArchiveInfluencer(ctx context.Context, author commerce.Author, name, campaignID string) (commerce.Archived, error)
	// UnprovenOf returns what SetUnproven set last; empty: what the company does.
	UnprovenOf(ctx context.Context, companyID, influencerID string) (string, error)
	SetUnproven(ctx context.Context, author commerce.Author, name, unproven string) error
	AddCoupon(ctx context.Context, author commerce.Author, campaignID string, terms commerce.CouponTerms,
		random io.Reader) (commerce.Coupon, error)
	DeleteCoupon(ctx context.Context, author commerce.Author, campaignID, code string) ([]commerce.Coupon, error)
	AddCost(ctx context.Context, author commerce.Author, name, campaignID string, terms commerce.CostTerms,
		random io.Reader) (influencerID string, cost commerce.Cost, err error)
	DeleteCost(ctx context.Context, author commerce.Author, costID string, campaignOnly bool) error
	DecideEvidence(ctx context.Context, author commerce.Author, d commerce.EvidenceDecision) error

	AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	AdditionalCostVersions(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	AddAdditionalCost(ctx context.Context, author commerce.Author, cost commerce.AdditionalCost) error
	ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string,
		change func(cost *commerce.AdditionalCost) error) error
	DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error
}

// sales is what the processor computed.
type sales interface {
	DaySales(ctx context.Context, companyID, day string, before commerce.Cursor, limit int) (commerce.DaySales, error)
	DaySalesOf(ctx context.Context, companyID, day string, orderIDs []string) (commerce.DaySales, error)
	SalesSince(ctx context.Context, companyID, day string, since commerce.Cursor, limit int) ([]commerce.Sale, error)
	// ExplainedSale returns commerce.ErrNotFound for an order that is not there (yet).
	ExplainedSale(ctx context.Context, companyID, orderID string) (commerce.ExplainedSale, error)
	Orders(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.StoredOrder, error)
	FindOrders(ctx context.Context, companyID string, s commerce.OrderSearch) ([]commerce.Sale, error)
	SalesOf(ctx context.Context, companyID string, orderIDs []string) ([]commerce.Sale, error)
	Reviews(ctx context.Context, companyID string, before commerce.Cursor, limit int) ([]commerce.Review, error)
	Statements(ctx context.Context, companyID string, filter commerce.StatementFilter, after commerce.StatementCursor,
		limit int) ([]commerce.Statement, error)
	Statement(ctx context.Context, companyID, statementID string) (commerce.Statement, error)
	// Signals tells what has come last.
	Signals(ctx context.Context, companyID string) (commerce.Signals, error)
	// StoredEvents returns which of the ids are stored events.
	StoredEvents(ctx context.Context, companyID string, eventIDs []string) ([]string, error)
	// ErasedUntil returns, of the digests of keys, those of erased persons, and until when
	// the person's events were erased.
	ErasedUntil(ctx context.Context, companyID string, digests [][]byte) (map[string]time.Time, error)
	HasOrders(ctx context.Context, companyID string) (bool, error)
	Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error)
}

// reporting is what the pages of reports read.
type reporting interface {
	// Report may return reports.ErrTooManyRows.
	Report(ctx context.Context, q reports.Query) (*reports.Report, error)
	// LinkClicks returns how often short links were opened on each day of a span, both
	// days inclusive.
	LinkClicks(ctx context.Context, companyID string, codes []string, from, to string) ([]facts.Clicks, error)
	// Signs looks for signs in the orders of some days; it reads up to signs.MostOrders.
	Signs(ctx context.Context, companyID, from, to string) (*signs.Report, error)
}

// statements is what the page of a signed link reads.
type statements interface {
	// LinkedStatement returns commerce.ErrNotFound where the links of that number were
	// revoked.
	LinkedStatement(ctx context.Context, companyID, statementID, influencerID string, number int64) (commerce.Statement, error)
	StatementLines(ctx context.Context, companyID, statementID, after string, limit int) ([]commerce.StatementLine, error)
	CompanyName(ctx context.Context, companyID string) (string, error)
}
