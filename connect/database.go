package connect

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Database is what the service keeps in PostgreSQL. Every write of a connection names the lease that the caller holds:
// commerce.ErrLeaseLost where another service has it.
type Database interface {
	// OfferConnect stores what this service offers, and that it runs now.
	OfferConnect(ctx context.Context, o commerce.ConnectOffer) error
	// LeaseConnections takes connections that have something to do at now and that nobody holds, fairly between companies: at
	// most limit.
	LeaseConnections(ctx context.Context, l commerce.ConnectLease, now time.Time, limit int) ([]commerce.LeasedConnection, error)
	RenewLease(ctx context.Context, l commerce.ConnectLease, c commerce.LeasedConnection) error
	// ReleaseConnection gives a connection back. next is when to look again; what comes in meanwhile is looked at before.
	ReleaseConnection(ctx context.Context, l commerce.ConnectLease, c commerce.LeasedConnection, next time.Time) error
	// CountConnections counts all connections by their state.
	CountConnections(ctx context.Context) ([]commerce.ConnectionCount, error)
	// ConnectionByID is for the receiver, which holds no lease. commerce.ErrNotFound where there is none.
	ConnectionByID(ctx context.Context, id string) (commerce.LeasedConnection, error)
	// ConnectionsOfShop returns one connection of each company that connected a shop: the one that has not ended, else the newest.
	// At most commerce.MaxConnectionsOfShop.
	ConnectionsOfShop(ctx context.Context, platform, shop string) ([]commerce.Connection, error)

	// StorePage stores in one transaction what became of a page.
	StorePage(ctx context.Context, l commerce.ConnectLease, companyID, id string, p commerce.ConnectPage) error
	SetConnectionState(ctx context.Context, l commerce.ConnectLease, companyID, id string, s commerce.ConnectStateChange) error
	TakeTasks(ctx context.Context, l commerce.ConnectLease, companyID, id string, limit int) ([]commerce.ConnectTask, error)
	FinishTask(ctx context.Context, l commerce.ConnectLease, t commerce.ConnectTask) error
	// Aside returns orders that are set aside, by their ids from after on.
	Aside(ctx context.Context, companyID, id string, after string, limit int) ([]commerce.AsideOrder, error)
	// KnownCodes says which coupon codes an influencer has.
	KnownCodes(ctx context.Context, companyID string, codes []string) (map[string]bool, error)
	// EraseShop asks to erase the persons of the next orders of the connection's shop, and returns whether some are not erased yet.
	// commerce.ErrShopConnected where the shop is connected.
	EraseShop(ctx context.Context, l commerce.ConnectLease, companyID, id string) (left bool, err error)
	// AddShopRequest stores what a person has to do. The same again changes nothing.
	AddShopRequest(ctx context.Context, l commerce.ConnectLease, companyID, id string, r commerce.ShopRequest) error
	// LogConnection writes into the audit log.
	LogConnection(ctx context.Context, companyID, id, action string, detail map[string]any) error

	// AddNotices stores what came in; the same thing twice is one row, with a counter. commerce.ErrTooManyNotices where there is
	// no room for one that is no order's; of orders it then notes that all changes must be read.
	AddNotices(ctx context.Context, companyID, id string, notices []commerce.ShopNotice) error
	DueNotices(ctx context.Context, l commerce.ConnectLease, companyID, id string, now time.Time, limit int) ([]commerce.ShopNotice, error)
	// DoneNotice removes a notice, unless it came again meanwhile. With retryAt it stays, and is due then.
	DoneNotice(ctx context.Context, l commerce.ConnectLease, companyID, id string, n commerce.ShopNotice, retryAt time.Time) error

	// SentOrders returns which of some orders came from the connection's shop, and whether each was last sent as one that earns nothing.
	SentOrders(ctx context.Context, companyID, id string, ids []string) (map[string]bool, error)
	// OrderDigests returns our orders of those ids.
	OrderDigests(ctx context.Context, companyID string, ids []string) (map[string]commerce.OrderDigest, error)
	// OrdersOfShop returns orders that came from the connection's shop and were created in [from, to), by that time and their ids,
	// after one.
	OrdersOfShop(ctx context.Context, companyID, id string, from, to time.Time, after commerce.SentOrder,
		limit int) ([]commerce.SentOrder, error)
	StoreDay(ctx context.Context, l commerce.ConnectLease, companyID, id string, d commerce.ConnectionDay) error
	// CouponsToCompare returns our coupons by their codes from after on.
	CouponsToCompare(ctx context.Context, companyID string, after string, limit int) ([]commerce.ShopCoupon, error)
	StoreCoupons(ctx context.Context, l commerce.ConnectLease, companyID, id string, coupons []commerce.ShopCoupon) error
}
