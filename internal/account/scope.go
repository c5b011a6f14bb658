package account

// Scope is what an API key may do. The OpenAPI document says which request needs which.
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
	WriteLedger      Scope = "ledger.write"
	AssignOrders     Scope = "orders.assign"
	EraseCustomers   Scope = "customers.erase"
	ExportCustomers  Scope = "customers.export"
	ReadPayees       Scope = "payees.read"  // documents, Pix keys and contacts of influencers whole, not masked
	WritePayees      Scope = "payees.write" // their documents, Pix keys and e-mails: where money goes
	ReadWebhooks     Scope = "webhooks.read"
	WriteWebhooks    Scope = "webhooks.write"
	ReadConversions  Scope = "conversions.read"
	WriteConversions Scope = "conversions.write" // accounts at networks: where sales are told of
	ReadAssistant    Scope = "assistant.read"    // what `tributary mcp` reads, without any person's details
	WriteEvents      Scope = "events.write"      // at the edge: wire.ScopeWriteEvents
	ImportEvents     Scope = "events.import"     // at the edge: wire.ScopeImportEvents
)

// Scopes lists every scope, in the order in which they are shown.
var Scopes = []Scope{WriteOrders, WriteProducts, ReadInfluencers, WriteInfluencers, ReadCosts, WriteCosts, ReadReports, WriteEvidence,
	AssignOrders, WriteLedger, EraseCustomers, ExportCustomers, ReadPayees, WritePayees, ReadWebhooks, WriteWebhooks,
	ReadConversions, WriteConversions, ReadAssistant, WriteEvents, ImportEvents}

// AdminScopes are the scopes of the admin API. A key gets them unless others are
// named: one that gives orders to influencers, writes into the ledger, erases or exports persons, sees or changes whom
// money goes to, has to do with webhooks or networks, which carry what happens elsewhere, is for an assistant, or sends events, whose word
// counts for more, is asked for by name.
var AdminScopes = []Scope{WriteOrders, WriteProducts, ReadInfluencers, WriteInfluencers, ReadCosts, WriteCosts, ReadReports, WriteEvidence}
