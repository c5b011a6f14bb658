package commerce

// Order status (docs/api.md, "Send one").
const (
	OrderApproved  = 0
	OrderPending   = 1
	OrderCancelled = 2
)

// OrderStatuses are those that an order may have, as messages tell them.
const OrderStatuses = "0 (approved), 1 (pending) or 2 (cancelled)"

// Order source (docs/api.md, "Send one").
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

// How often a cost falls due (docs/api.md, "Add, list and remove a cost").
const (
	Specific = "specific"
	Daily    = "daily"
	Weekly   = "weekly"
	Monthly  = "monthly"
)
