package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/reports"
)

// Database is what the pages of reports read. Errors are internal/commerce's kinds.
type Database interface {
	AuditLog(ctx context.Context, companyID, before, action string, limit int) ([]account.AuditEntry, error)
	// Influencer returns commerce.ErrNotFound for one that is archived or not there.
	Influencer(ctx context.Context, companyID, influencerID string) (commerce.Influencer, error)
	HasOrders(ctx context.Context, companyID string) (bool, error)
	Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error)
	Statements(ctx context.Context, companyID string, filter commerce.StatementFilter, after commerce.StatementCursor,
		limit int) ([]commerce.Statement, error)
	Orders(ctx context.Context, companyID string, f commerce.OrderFilter) ([]commerce.StoredOrder, error)
	// ProductNames returns the names of those of the products that are stored, by id.
	ProductNames(ctx context.Context, companyID string, productIDs []string) (map[string]string, error)
	Reports
	// UnknownCodes returns the codes of approved orders that are no influencer's coupon.
	UnknownCodes(ctx context.Context, q reports.Query, limit int) ([]reports.UnknownCode, error)
	// CommissionsAbove counts the orders of some days of which an influencer's commission is above the order's value.
	CommissionsAbove(ctx context.Context, q reports.Query, influencerID string) (orders int64, err error)
	// Signs looks for signs in the orders of some days; it reads up to fraud.MostOrders.
	Signs(ctx context.Context, companyID, from, to string) (*fraud.Report, error)
}

// Reports reads reports.
type Reports interface {
	// Report may return reports.ErrTooManyRows.
	Report(ctx context.Context, q reports.Query) (*reports.Report, error)
}

// Pages are the pages of reports. Safe for concurrent use.
type Pages struct {
	*site.Site
	db        Database
	reports   Reports // maybe of a standby
	signsWait time.Duration
}

// New makes the pages. signsWait is how long a page waits for a report of signs
// that is not kept; default 2 s. from is what reports are read from; nil: db.
func New(shared *site.Site, signsWait time.Duration, db Database, from Reports) *Pages {
	if from == nil {
		from = db
	}
	return &Pages{Site: shared, db: db, reports: from, signsWait: cmp.Or(signsWait, 2*time.Second)}
}

// Routes are the pages and files.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(s.overviewRoutes(), s.productRoutes(), s.couponRoutes(), s.pathRoutes(), s.deliveryRoutes(), s.signRoutes(),
		s.auditRoutes())
}
