package money

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/throttle"
)

// Config of the pages of money.
type Config struct {
	// Links signs the links that show an influencer one statement.
	Links *statementlink.Signer
	// Hasher makes the keyed hash by which orders are found by an e-mail. nil: they are
	// not found by it.
	Hasher *identity.Hasher
	// Previews says what a decision would move before it is made. nil: it is made at once.
	Previews site.Previews
}

// Database is what the pages of money read and keep. Errors are internal/commerce's
// kinds.
type Database interface {
	statements
	Company(ctx context.Context, companyID string) (commerce.Company, error)
	// Influencer returns commerce.ErrNotFound for one that is archived or not there.
	Influencer(ctx context.Context, companyID, influencerID string) (commerce.Influencer, error)
	FindInfluencers(ctx context.Context, companyID string, s commerce.InfluencerSearch) ([]commerce.InfluencerSummary, error)
	proposals
	DaySales(ctx context.Context, companyID, day string, before commerce.Cursor, limit int) (commerce.DaySales, error)
	DaySalesOf(ctx context.Context, companyID, day string, orderIDs []string) (commerce.DaySales, error)
	SalesSince(ctx context.Context, companyID, day string, since commerce.Cursor, limit int) ([]commerce.Sale, error)
	// ExplainedSale returns commerce.ErrNotFound for an order that is not there (yet).
	ExplainedSale(ctx context.Context, companyID, orderID string) (commerce.ExplainedSale, error)
	Order(ctx context.Context, companyID, orderID string) (commerce.StoredOrder, error)
	// ProductNames returns the names of those of the products that are stored, by id.
	ProductNames(ctx context.Context, companyID string, productIDs []string) (map[string]string, error)
	Orders(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.StoredOrder, error)
	// OrderTotals adds up at most f.Limit orders.
	OrderTotals(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.OrderTotal, error)
	FindOrders(ctx context.Context, companyID string, s commerce.OrderSearch) ([]commerce.Sale, error)
	SalesOf(ctx context.Context, companyID string, orderIDs []string) ([]commerce.Sale, error)
	Reviews(ctx context.Context, companyID string, before commerce.Cursor, limit int) ([]commerce.Review, error)
}

// proposals are decisions about orders, and those that wait for a second person.
type proposals interface {
	// DecideEvidence returns commerce.ErrNeedsSecond where the decision is to be proposed.
	DecideEvidence(ctx context.Context, author commerce.Author, d commerce.EvidenceDecision) error
	// ProposeDecision may return commerce.ErrNoSecondNeeded, ErrProposed, ErrTooManyProposals, ErrTooManyDecisions and ErrNotFound.
	ProposeDecision(ctx context.Context, author commerce.Author, p commerce.Proposal) error
	Proposals(ctx context.Context, author commerce.Author) ([]commerce.Proposal, error)
	// ConfirmProposal may return commerce.ErrSamePerson, ErrOrderChanged, ErrProposalEnded, ErrConflict, ErrNotFound and
	// ErrTooManyDecisions; EndProposal the same but the first two and the last.
	ConfirmProposal(ctx context.Context, author commerce.Author, seen commerce.SeenProposal) error
	EndProposal(ctx context.Context, author commerce.Author, seen commerce.SeenProposal, reason string) error
	// ActorNames returns the e-mails of people and the names of keys.
	ActorNames(ctx context.Context, companyID string, actors []string) (map[string]string, error)
}

// statements is what is owed and paid.
type statements interface {
	// AskStatements may return commerce.ErrFutureDay and ErrTooManyStatements,
	// PayStatements commerce.ErrNotClosed, ErrCarried, ErrPaidOtherwise and ErrRestored, which ConfirmRestored ends,
	// UndoPayment commerce.ErrNotPaid and ErrRestored.
	AskStatements(ctx context.Context, author commerce.Author, asked commerce.Closing, random io.Reader) ([]commerce.Statement, error)
	// Payees returns what is known of influencers by id.
	// ConfirmPix may return commerce.ErrConflict and ErrSamePerson.
	ConfirmPix(ctx context.Context, author commerce.Author, influencerID string, changed time.Time) error
	LastPaid(ctx context.Context, companyID string, influencerIDs []string) (map[string]time.Time, error)
	Payees(ctx context.Context, companyID string, influencerIDs []string) (map[string]commerce.Details, error)
	PreviewStatements(ctx context.Context, author commerce.Author, asked commerce.Closing) ([]commerce.Statement, error)
	// PayStatements pays all of a list or none.
	PayStatements(ctx context.Context, author commerce.Author, list []commerce.StatementPayment) error
	// Withhold may return commerce.ErrNotClosed, ErrCarried, ErrPaid, ErrAboveTotal and ErrRestored.
	Withhold(ctx context.Context, author commerce.Author, w commerce.Withholding) error
	UndoPayment(ctx context.Context, author commerce.Author, u commerce.PaymentUndo) error
	ConfirmRestored(ctx context.Context, author commerce.Author) (restored bool, err error)
	LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (number int64, err error)
	Statements(ctx context.Context, companyID string, filter commerce.StatementFilter, after commerce.StatementCursor,
		limit int) ([]commerce.Statement, error)
	StatementTotals(ctx context.Context, companyID string, filter commerce.StatementFilter) ([]commerce.StatementTotal, error)
	// Parties returns whom closed statements are of, by their ids.
	Parties(ctx context.Context, companyID string, statementIDs []string) (map[string]commerce.Parties, error)
	Statement(ctx context.Context, companyID, statementID string) (commerce.Statement, error)
	Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error)
	// LinkedStatement returns commerce.ErrNotFound where the links of that number were
	// revoked.
	LinkedStatement(ctx context.Context, companyID, statementID, influencerID string, number int64) (commerce.Statement, error)
	StatementLines(ctx context.Context, companyID, statementID, after string, limit int) ([]commerce.StatementLine, error)
}

// Pages are the pages of orders and of what is owed for them. Safe for concurrent use.
type Pages struct {
	*site.Site
	db        Database
	links     *statementlink.Signer
	hasher    *identity.Hasher
	previews  site.Previews
	linkReads *throttle.Buckets // of statements by their links
}

// New makes the pages.
func New(shared *site.Site, config Config, db Database) *Pages {
	return &Pages{Site: shared, db: db, links: config.Links, hasher: config.Hasher, previews: config.Previews,
		linkReads: throttle.New(linkEvery, linkBurst)}
}

// Routes are the pages and forms of those who are logged in.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(s.salesRoutes(), s.orderRoutes(), s.payoutRoutes(), s.listRoutes())
}

// Open are the pages of those who have a link to a statement.
func (s *Pages) Open() []site.OpenRoute {
	return []site.OpenRoute{
		{Pattern: "GET " + statementlink.Path + "{token}", Handle: s.withLink(s.linked)},
		{Pattern: "GET " + statementlink.Path + "{token}/csv", Handle: s.withLink(s.linkedCSV)},
	}
}
