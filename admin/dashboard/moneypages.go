package dashboard

import (
	"context"
	"io"
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/statementlink"
	"github.com/tributary-io/tributary/internal/throttle"
)

// MoneyConfig of the pages of money.
type MoneyConfig struct {
	// Links signs the links that show an influencer one statement.
	Links *statementlink.Signer
	// Hasher makes the keyed hash by which orders are found by an e-mail. nil: they are
	// not found by it.
	Hasher *identity.Hasher
}

// MoneyDatabase is what the pages of money read and keep. Errors are internal/commerce's
// kinds.
type MoneyDatabase interface {
	Company(ctx context.Context, companyID string) (commerce.Company, error)
	// Influencer returns commerce.ErrNotFound for one that is archived or not there.
	Influencer(ctx context.Context, companyID, influencerID string) (commerce.Influencer, error)
	// AskStatements may return commerce.ErrFutureDay and ErrTooManyStatements,
	// PayStatement commerce.ErrNotClosed, ErrCarried, ErrPaidOtherwise and ErrRestored, which ConfirmRestored ends.
	AskStatements(ctx context.Context, author commerce.Author, asked commerce.Closing, random io.Reader) ([]commerce.Statement, error)
	PayStatement(ctx context.Context, author commerce.Author, p commerce.StatementPayment) error
	ConfirmRestored(ctx context.Context, author commerce.Author) (restored bool, err error)
	LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (number int64, err error)
	DecideEvidence(ctx context.Context, author commerce.Author, d commerce.EvidenceDecision) error
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
	Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error)
	// LinkedStatement returns commerce.ErrNotFound where the links of that number were
	// revoked.
	LinkedStatement(ctx context.Context, companyID, statementID, influencerID string, number int64) (commerce.Statement, error)
	StatementLines(ctx context.Context, companyID, statementID, after string, limit int) ([]commerce.StatementLine, error)
	CompanyName(ctx context.Context, companyID string) (string, error)
}

// moneyPages are the pages of orders and of what is owed for them. Safe for concurrent use.
type moneyPages struct {
	*Site
	db        MoneyDatabase
	links     *statementlink.Signer
	hasher    *identity.Hasher
	linkReads *throttle.Buckets // of statements by their links
}

// newMoneyPages makes the pages.
func newMoneyPages(site *Site, config MoneyConfig, db MoneyDatabase) *moneyPages {
	return &moneyPages{Site: site, db: db, links: config.Links, hasher: config.Hasher, linkReads: throttle.New(linkEvery, linkBurst)}
}

// moneyRoutes are the pages and forms of those who are logged in.
func (s *moneyPages) moneyRoutes() []route {
	return slices.Concat(s.salesRoutes(), s.orderRoutes(), s.payoutRoutes(), s.listRoutes())
}

// open are the pages of those who have a link to a statement.
func (s *moneyPages) open() []openRoute {
	return []openRoute{
		{"GET " + statementlink.Path + "{token}", s.withLink(s.linked)},
		{"GET " + statementlink.Path + "{token}/csv", s.withLink(s.linkedCSV)},
	}
}
