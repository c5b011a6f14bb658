package commerce

// Order status (specification, Order.orderStatus).
const (
	OrderApproved  = 0
	OrderPending   = 1
	OrderCancelled = 2
)

// OrderStatuses are those that an order may have, as messages tell them.
const OrderStatuses = "0 (approved), 1 (pending) or 2 (cancelled)"

// Order source (specification, "order source").
const (
	SourceWeb         = 0
	SourceMarketplace = 1
	SourceApp         = 2
	SourceOther       = 3
)

// Environments. A store has one company in each.
const (
	Live    = "live"
	Sandbox = "sandbox"
)

// Scope is what an API key may do (specification, Authentication 4; those for
// reports, evidence and events are ours).
type Scope string

const (
	WriteOrders      Scope = "write_orders"
	WriteProducts    Scope = "write_products"
	ReadInfluencers  Scope = "influencers.read"
	WriteInfluencers Scope = "influencers.write"
	ReadCosts        Scope = "costs.read"
	WriteCosts       Scope = "costs.write"
	ReadReports      Scope = "reports.read"
	WriteEvidence    Scope = "evidence.write"
	EraseCustomers   Scope = "customers.erase"
	WriteEvents      Scope = "events.write"  // at the edge: wire.ScopeWriteEvents
	ImportEvents     Scope = "events.import" // at the edge: wire.ScopeImportEvents
)

// Scopes lists every scope, in the specification's order.
var Scopes = []Scope{WriteOrders, WriteProducts, ReadInfluencers, WriteInfluencers, ReadCosts, WriteCosts, ReadReports, WriteEvidence,
	EraseCustomers, WriteEvents, ImportEvents}

// AdminScopes are the scopes of the admin API. A key gets them unless others are
// named: one that erases persons, or sends events, whose word counts for more, is asked for
// by name.
var AdminScopes = []Scope{WriteOrders, WriteProducts, ReadInfluencers, WriteInfluencers, ReadCosts, WriteCosts, ReadReports, WriteEvidence}

// How often a cost falls due (specification, Cost.frequency).
const (
	Specific = "specific"
	Daily    = "daily"
	Weekly   = "weekly"
	Monthly  = "monthly"
)
