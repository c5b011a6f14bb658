package admin

import (
	"context"
	"io"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/reports"
)

// Database is what the API needs of Postgres. Errors are internal/commerce's kinds.
type Database interface {
	keys
	rules
	additionalCosts
	answers
	sales
	statements
	reporting
	webhooks
	networks
	outbox
}

// keys is what checking API keys needs.
type keys interface {
	APIKeyByHash(ctx context.Context, hash [32]byte) (account.APIKey, error)
	APIKeysByHash(ctx context.Context, hashes [][32]byte) (map[[32]byte]account.APIKey, error)
	TouchAPIKeys(ctx context.Context, lastUsed map[string]time.Time) error
}

// rules is what the merchant agrees on with influencers. What is looked for in the author's company and is not there,
// or is archived or deleted, is commerce.ErrNotFound.
type rules interface {
	// RegisterInfluencer stores all of a registration or nothing. Besides the
	// kinds it returns
	// *commerce.CouponConflictError, commerce.ErrCampaignTaken,
	// commerce.ErrCampaignName, commerce.ErrTooManyCosts, *commerce.PayeeKnownError, *commerce.NameTakenError.
	RegisterInfluencer(ctx context.Context, author commerce.Author, r commerce.Registration, random io.Reader) (commerce.Registered, error)
	Influencers(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)
	InfluencersWithCosts(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)
	// UpdateInfluencer may return a *commerce.NameTakenError and commerce.ErrTooManyNames.
	UpdateInfluencer(ctx context.Context, author commerce.Author, name string, asked commerce.InfluencerChange) error
	ArchiveInfluencer(ctx context.Context, author commerce.Author, name, campaignID string) (commerce.Archived, error)
	// EraseInfluencer removes what is known of the person who has the name, or had it last; influencerID may be empty.
	EraseInfluencer(ctx context.Context, author commerce.Author, influencerID, name string) error
	// RestoreInfluencer takes back who had the name and was archived last; influencerID may be empty. It may return a
	// *commerce.NameTakenError.
	RestoreInfluencer(ctx context.Context, author commerce.Author, influencerID, name string) (commerce.Restored, error)
	AddCoupon(ctx context.Context, author commerce.Author, campaignID string, terms commerce.CouponTerms,
		random io.Reader) (commerce.Coupon, error)
	DeleteCoupon(ctx context.Context, author commerce.Author, campaignID, code string) ([]commerce.Coupon, error)
	// AddCost may also return commerce.ErrTooManyCosts.
	AddCost(ctx context.Context, author commerce.Author, name, campaignID string, terms commerce.CostTerms,
		random io.Reader) (influencerID string, cost commerce.Cost, err error)
	DeleteCost(ctx context.Context, author commerce.Author, costID string, campaignOnly bool) error
	// HashAgain adds the keys that the next influencers after a place lack. more is false behind the last one. With an error
	// next is behind the company that failed; it is after where none was reached.
	HashAgain(ctx context.Context, after commerce.ContactsPlace, limit int, at time.Time,
		keys commerce.ContactKeys) (next commerce.ContactsPlace, more bool, err error)
}

// additionalCosts is what running the store costs.
type additionalCosts interface {
	AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	// AdditionalCostVersions lists what counts on the days of a period.
	AdditionalCostVersions(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	AddAdditionalCost(ctx context.Context, author commerce.Author, cost commerce.AdditionalCost) error
	// ChangeAdditionalCost lets change edit the cost of that id and frequency.
	// Where change returns an error, that is returned and nothing is stored.
	ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string,
		change func(cost *commerce.AdditionalCost) error) error
	DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error
}

// answers keeps those of requests with an Idempotency-Key.
type answers interface {
	// ClaimKey reserves an Idempotency-Key, or returns the answer that is stored
	// for it. Errors: account.ErrKeyMismatch, account.ErrKeyInProgress.
	ClaimKey(ctx context.Context, claim account.Claim) (account.Claimed, error)
	// ForgetAnswers removes up to limit expired answers of the companies after
	// one. It returns the last company that it looked at, "" where there was
	// none: where fewer than limit were removed, all is done up to that company.
	ForgetAnswers(ctx context.Context, after string, limit int) (last string, removed int, err error)
}

// sales is what became of orders, and what the merchant decides of it.
type sales interface {
	// ExplainedSale returns commerce.ErrNotFound for an order that is not
	// processed yet. The Explanation is nil until there is one.
	ExplainedSale(ctx context.Context, companyID, orderID string) (commerce.ExplainedSale, error)
	// Order returns commerce.ErrNotFound for an order that is not processed yet.
	Order(ctx context.Context, companyID, orderID string) (commerce.StoredOrder, error)
	Orders(ctx context.Context, companyID string, filter commerce.OrderFilter) ([]commerce.StoredOrder, error)
	Products(ctx context.Context, companyID string, after commerce.ProductCursor, limit int) ([]commerce.StoredProduct, error)
	// DecideEvidence returns commerce.ErrNotFound where the author's company has no such
	// influencer, and commerce.ErrNeedsSecond.
	DecideEvidence(ctx context.Context, author commerce.Author, d commerce.EvidenceDecision) error
	// AskErasure asks to erase the person whom keys name, by the kinds that were given.
	AskErasure(ctx context.Context, author commerce.Author, kinds []string, keys []facts.Key, random io.Reader) (commerce.Erasure, error)
	// Erasure returns commerce.ErrNotFound for an unknown one.
	Erasure(ctx context.Context, companyID, erasureID string) (commerce.Erasure, error)
	// ErasedConversions returns at most 1000 conversions that networks were told of orders of an erasure, and whether there are more.
	ErasedConversions(ctx context.Context, companyID, erasureID string) (list []commerce.ToldConversion, more bool, err error)
	// LogExport says in the audit log that what is stored about a person is read, and by what the person is named.
	LogExport(ctx context.Context, author commerce.Author, kinds []string, random io.Reader) error
	// WritePerson writes one JSON object.
	WritePerson(ctx context.Context, p commerce.PersonFile, keys []facts.Key, to io.Writer) error
	// Today returns a company's time zone and day.
	Today(ctx context.Context, companyID string, now time.Time) (zone *time.Location, day string, err error)
}

// statements is what is owed and paid.
type statements interface {
	// AskStatements returns commerce.ErrNotFound for an unknown influencer, else
	// commerce.ErrFutureDay or commerce.ErrTooManyStatements.
	AskStatements(ctx context.Context, author commerce.Author, asked commerce.Closing, random io.Reader) ([]commerce.Statement, error)
	// PayStatement returns commerce.ErrNotFound, commerce.ErrNotClosed,
	// commerce.ErrCarried, commerce.ErrPaidOtherwise or commerce.ErrRestored.
	PayStatement(ctx context.Context, author commerce.Author, p commerce.StatementPayment) error
	// UndoPayment returns commerce.ErrNotFound, commerce.ErrNotPaid or commerce.ErrRestored.
	Withhold(ctx context.Context, author commerce.Author, w commerce.Withholding) error
	UndoPayment(ctx context.Context, author commerce.Author, u commerce.PaymentUndo) error
	// ClaimEntry returns commerce.ErrNotFound for an unknown influencer, commerce.ErrEntryExists where an entry with
	// that id has another content. accepted: the processor has its record.
	ClaimEntry(ctx context.Context, author commerce.Author, e commerce.NewEntry) (accepted bool, err error)
	Statements(ctx context.Context, companyID string, filter commerce.StatementFilter, after commerce.StatementCursor,
		limit int) ([]commerce.Statement, error)
	// Statement returns commerce.ErrNotFound for an unknown one.
	Statement(ctx context.Context, companyID, statementID string) (commerce.Statement, error)
	Parties(ctx context.Context, companyID string, statementIDs []string) (map[string]commerce.Parties, error)
	StatementLines(ctx context.Context, companyID, statementID, after string, limit int) ([]commerce.StatementLine, error)
	// LinkNumber returns the number with which links to a statement are made; with revoke
	// those of before do not work any more. commerce.ErrNotFound for an unknown statement.
	LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (int64, error)
	Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error)
	Ledger(ctx context.Context, companyID string, now time.Time, filter commerce.LedgerFilter, after commerce.LedgerCursor,
		limit int) ([]commerce.LedgerItem, error)
}

// Reports reads reports. *report.Standby is one, of internal/postgres/report.
type Reports interface {
	// Report returns reports.ErrTooManyRows where the report would have too many rows, and
	// reports.ErrTooManyChannels where its model cannot divide among so many channels.
	Report(ctx context.Context, q reports.Query) (*reports.Report, error)
}

// reporting is reports and fraud signals.
type reporting interface {
	Reports
	// Signs looks at the orders of some days, YYYY-MM-DD, as of a moment ago. It returns
	// fraud.ErrBeingMade where ctx ended before: RenewSigns makes the report.
	Signs(ctx context.Context, companyID, from, to string) (*fraud.Report, error)
	// RenewSigns makes the reports of signs anew that were asked for lately and are not as new
	// as the orders, of at most limit companies.
	RenewSigns(ctx context.Context, limit int) error
	// SignsWanted tells that RenewSigns has a report to make for which somebody waits.
	SignsWanted() <-chan struct{}
}

// networks is where conversions go. What else is done with an account at a network is done by its id as with a webhook endpoint.
type networks interface {
	// Networks returns at most commerce.MaxNetworks, the oldest first.
	Networks(ctx context.Context, companyID string) ([]commerce.Network, error)
	// AddNetwork may return commerce.ErrTooManyNetworks, and, as ChangeNetwork, commerce.ErrNetworkThere.
	AddNetwork(ctx context.Context, author commerce.Author, n commerce.Network, secret commerce.SealedSecret) error
	// ChangeNetwork is ChangeEndpoint of an account at a network.
	ChangeNetwork(ctx context.Context, author commerce.Author, id string, change func(n *commerce.Network) error) error
}

// webhooks is where events go, and what became of each. commerce.ErrNotFound where the company has no such endpoint.
type webhooks interface {
	// ConnectOffer returns the zero offer where no connect service ever ran.
	ConnectOffer(ctx context.Context) (commerce.ConnectOffer, error)
	// Endpoints returns at most commerce.MaxEndpoints, the oldest first.
	Endpoints(ctx context.Context, companyID string) ([]commerce.Endpoint, error)
	Endpoint(ctx context.Context, companyID, id string) (commerce.Endpoint, error)
	// AddEndpoint may return commerce.ErrTooManyEndpoints.
	AddEndpoint(ctx context.Context, author commerce.Author, e commerce.Endpoint, secret commerce.SealedSecret) error
	// ChangeEndpoint lets change edit the endpoint. Where change returns an error, that is returned and nothing is stored.
	ChangeEndpoint(ctx context.Context, author commerce.Author, id string, change func(e *commerce.Endpoint) error) error
	RotateSecret(ctx context.Context, author commerce.Author, id string, secret commerce.SealedSecret) error
	RemoveEndpoint(ctx context.Context, author commerce.Author, id string) error
	// TestEndpoint returns the number of the event; commerce.ErrEndpointDisabled where none is sent, commerce.ErrNetworkTestCode where
	// it would count.
	TestEndpoint(ctx context.Context, author commerce.Author, id string) (int64, error)
	// ReplayEndpoint may return commerce.ErrEndpointFull. Where ctx ends soon it leaves the rest to another one: Replayed.More.
	ReplayEndpoint(ctx context.Context, author commerce.Author, id string, from, to time.Time) (commerce.Replayed, error)
	// Messages returns those below a number, the newest first; before 0: from the newest on; state empty: all.
	Messages(ctx context.Context, companyID, id, state string, before int64, limit int) ([]commerce.Message, error)
	// ResendMessage returns commerce.ErrNotFound also where the endpoint has no message of that number, commerce.ErrEndpointDisabled
	// where nothing is sent.
	ResendMessage(ctx context.Context, author commerce.Author, id string, number int64) error
}

// outbox is what waits to be published.
type outbox interface {
	// OutboxWaits returns the id of the company's last record that waits to be published, at most upTo; 0 where none does.
	OutboxWaits(ctx context.Context, companyID string, upTo int64) (id int64, err error)
	// OutboxSize returns how many records wait to be published, and since when
	// the oldest waits; zero where none does.
	OutboxSize(ctx context.Context) (waiting int64, oldest time.Time, err error)
	// AcquireRelay returns commerce.ErrConflict while another process publishes.
	AcquireRelay(ctx context.Context) (account.OutboxRelay, error)
}
