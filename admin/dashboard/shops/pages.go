package shops

import (
	"context"
	"slices"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Database is what the pages of connections read and keep. Errors are internal/commerce's kinds. What is changed is refused as
// a *commerce.StaleError where the form is of an older version of the connection.
type Database interface {
	// ConnectOffer returns the zero offer where no connect service ever ran.
	ConnectOffer(ctx context.Context) (commerce.ConnectOffer, error)
	// Connections returns at most commerce.MaxConnectionsList, the newest first.
	Connections(ctx context.Context, companyID string) ([]commerce.Connection, error)
	// Connection returns commerce.ErrNotFound for one that is not there.
	Connection(ctx context.Context, companyID, id string) (commerce.Connection, error)
	// AddConnection may return commerce.ErrTooManyConnections.
	AddConnection(ctx context.Context, author commerce.Author, n commerce.NewConnection) error
	// ReplaceCredentials may return commerce.ErrConnectionState.
	ReplaceCredentials(ctx context.Context, author commerce.Author, id string, sealed []byte, keyID string) error
	// InstallBack may return commerce.ErrInstallState.
	InstallBack(ctx context.Context, author commerce.Author, b commerce.InstallBack) (connectionID, taskID string, err error)
	// StartConnection may return commerce.ErrConnectionState, ErrShopConnected, ErrShopCurrency and account.ErrTooManyKeys.
	StartConnection(ctx context.Context, author commerce.Author, start commerce.ConnectionStart) error
	ChangeConnection(ctx context.Context, author commerce.Author, change commerce.ConnectionChange) error
	PauseConnection(ctx context.Context, author commerce.Author, id string) error
	ResumeConnection(ctx context.Context, author commerce.Author, id string) error
	EndConnection(ctx context.Context, author commerce.Author, id string) error
	// AddConnectTask may return commerce.ErrTooManyTasks and commerce.ErrConnectionState.
	AddConnectTask(ctx context.Context, author commerce.Author, t commerce.ConnectTask) (id string, err error)
	ConnectTask(ctx context.Context, companyID, id string) (commerce.ConnectTask, error)
	// ConnectionDays returns the last days that were compared, the newest first.
	ConnectionDays(ctx context.Context, companyID, id string) ([]commerce.ConnectionDay, error)
	// Aside returns orders set aside, by their ids, after one; empty: from the first on.
	Aside(ctx context.Context, companyID, id, after string, limit int) ([]commerce.AsideOrder, error)
	ConnectionCoupons(ctx context.Context, companyID, id string) ([]commerce.ShopCoupon, error)
	// ShopRequests returns at most commerce.MaxShopRequests that are not done, the oldest first.
	ShopRequests(ctx context.Context, companyID, id string) ([]commerce.ShopRequest, error)
	// AnswerShopRequest returns commerce.ErrNotFound for one that is not there, or done.
	AnswerShopRequest(ctx context.Context, author commerce.Author, id, requestID string) error
	// KnownCodes returns which of the codes are an influencer's coupon.
	KnownCodes(ctx context.Context, companyID string, codes []string) (map[string]bool, error)
}

// Pages are the pages of connections. Safe for concurrent use.
type Pages struct {
	*site.Site
	db Database
}

// New makes the pages. Other pages then show which connections fail: site.Site.Failing.
func New(shared *site.Site, db Database) *Pages {
	s := &Pages{Site: shared, db: db}
	shared.Failing = s.failing
	return s
}

// Routes are the pages and forms.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(s.listRoutes(), s.connectRoutes(), s.shopRoutes(), s.actionRoutes(), s.couponRoutes())
}

// failingFor is how long a connection fails before other pages tell it.
const failingFor = 15 * time.Minute

// runs reports whether a connect service runs.
func (s *Pages) runs(o commerce.ConnectOffer) bool { return o.Runs(s.Now()) }

// offered is a platform of the offer by its name.
func offered(o commerce.ConnectOffer, name string) (commerce.OfferedPlatform, bool) {
	i := slices.IndexFunc(o.Platforms, func(p commerce.OfferedPlatform) bool { return p.Name == name })
	if i < 0 {
		return commerce.OfferedPlatform{}, false
	}
	return o.Platforms[i], true
}

// titleOf is how people call a platform.
func titleOf(o commerce.ConnectOffer, name string) string {
	if p, ok := offered(o, name); ok {
		return p.Title
	}
	return name
}
