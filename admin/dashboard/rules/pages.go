package rules

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/reports"
)

// Config of the pages of rules.
type Config struct {
	ShortBase string // the part of a short link before its code; empty: pages show the codes alone
	// CheckLinks says of each destination of a short link why it is refused, or nil; the
	// hosts are looked up. nil: all are refused.
	CheckLinks func(ctx context.Context, urls []string) []error
	// Previews says what a change would move before it is saved. nil: changes are saved at
	// once.
	Previews site.Previews
	// Hasher makes the keyed hashes of an influencer's e-mail, phone and document. nil: none are made.
	Hasher *identity.Hasher
	// Partners changes influencers as a whole.
	Partners Partners
	// Importer registers the lines of a spreadsheet.
	Importer   Importer
	ImportTime time.Duration // of one import; 0: 55 s
	// AddEntry adds a manual entry of a ledger, as admin.Server.AddEntry does. nil: none can be added.
	AddEntry func(ctx context.Context, author commerce.Author, e commerce.NewEntry) error
	// Results reads what the template "results" shows of an influencer: report.Pages.PartnerResults does.
	Results func(r *http.Request, v site.Request, i commerce.Influencer) (any, error)
	// Days reads which days a page's address asks for, and what the template "span" shows of them: report.Pages.Days does.
	Days func(r *http.Request, v site.Request, path string) (form any, q reports.Query, err error)
}

// Database is what the pages of rules read and keep. Errors are internal/commerce's
// kinds. What changes rules is as of admin.Database.
type Database interface {
	ListAPIKeys(ctx context.Context, companyID string, limit int) ([]account.APIKey, error)
	CreateAPIKey(ctx context.Context, k account.NewAPIKey) (key account.APIKey, text string, err error)
	RotateAPIKey(ctx context.Context, r account.KeyRotation) (key account.APIKey, text string, err error)
	RevokeAPIKey(ctx context.Context, companyID, keyID string, at time.Time, actor string) (ends time.Time, err error)
	Company(ctx context.Context, companyID string) (commerce.Company, error)
	// Influencer returns commerce.ErrNotFound for one that is archived or not there.
	Influencer(ctx context.Context, companyID, influencerID string) (commerce.Influencer, error)
	// InfluencersOf returns those that there are, in the order of the ids.
	InfluencersOf(ctx context.Context, companyID string, ids []string) ([]commerce.Influencer, error)
	FindInfluencers(ctx context.Context, companyID string, s commerce.InfluencerSearch) ([]commerce.InfluencerSummary, error)
	// ChangeSettings may return a *commerce.SettingsError.
	ChangeSettings(ctx context.Context, c commerce.SettingsChange) (before, after commerce.Settings, err error)
	// RenameStore may return commerce.ErrArchived.
	RenameStore(ctx context.Context, author commerce.Author, name string) error
	RegisterInfluencer(ctx context.Context, author commerce.Author, r commerce.Registration, random io.Reader) (commerce.Registered, error)
	UpdateInfluencer(ctx context.Context, author commerce.Author, name string, asked commerce.InfluencerChange) error
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
	AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	AddAdditionalCost(ctx context.Context, author commerce.Author, cost commerce.AdditionalCost) error
	ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string,
		change func(cost *commerce.AdditionalCost) error) error
	DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error
	// Ledger is as of admin.Database.
	Ledger(ctx context.Context, companyID string, now time.Time, filter commerce.LedgerFilter, after commerce.LedgerCursor,
		limit int) ([]commerce.LedgerItem, error)
	// LastPaid returns when a payment to influencers was last recorded, by their ids.
	LastPaid(ctx context.Context, companyID string, influencerIDs []string) (map[string]time.Time, error)
	HasOrders(ctx context.Context, companyID string) (bool, error)
	// OrdersBelow counts the orders of some days, and those that are worth less than an amount.
	OrdersBelow(ctx context.Context, q reports.Query, minor int64) (below, orders int64, err error)
	// Report may return reports.ErrTooManyRows.
	Report(ctx context.Context, q reports.Query) (*reports.Report, error)
	// LinkClicks returns how often short links were opened on each day of a span, both
	// days inclusive.
	LinkClicks(ctx context.Context, companyID string, codes []string, from, to string) ([]facts.Clicks, error)
}

// Pages are the pages of what a merchant sets up. Safe for concurrent use.
type Pages struct {
	*site.Site
	db         Database
	checkLinks func(ctx context.Context, urls []string) []error
	previews   site.Previews
	hasher     *identity.Hasher
	importing  *site.Turns // of imports
	importTime time.Duration
	imports    Importer
	partners   Partners
	addsEntry  func(ctx context.Context, author commerce.Author, e commerce.NewEntry) error
	results    func(r *http.Request, v site.Request, i commerce.Influencer) (any, error)
	days       func(r *http.Request, v site.Request, path string) (form any, q reports.Query, err error)
	shortBase  string
}

// New makes the pages.
func New(shared *site.Site, config Config, db Database) *Pages {
	s := &Pages{Site: shared, db: db, checkLinks: config.CheckLinks, previews: config.Previews, hasher: config.Hasher,
		importing: site.NewTurns("imports are under way", importsAtOnce, 1), imports: config.Importer,
		importTime: cmp.Or(config.ImportTime, importTime),
		partners:   config.Partners, addsEntry: config.AddEntry, results: config.Results,
		days: config.Days, shortBase: config.ShortBase}
	if s.checkLinks == nil {
		s.checkLinks = refuseAll
	}
	return s
}

func refuseAll(_ context.Context, urls []string) []error {
	list := make([]error, len(urls))
	for i := range list {
		list[i] = publichost.ErrURLHost
	}
	return list
}

// Routes are the pages and forms.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(s.influencerRoutes(), s.importRoutes(), s.keyRoutes(), s.settingsRoutes(), s.costRoutes(), s.listRoutes())
}
