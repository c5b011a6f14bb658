package events

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
)

// Config of the pages of events.
type Config struct {
	EdgeURL string // where the pages' script is loaded from; empty: the page shows an example
	// Log reads the logs of events, and Rules the rules by which they are looked at.
	// Without Log, the page of events says that there is no log here.
	Log   EventLog
	Rules RuleReader
	// Hasher makes the keyed hashes by which a person is erased. nil: nobody can be.
	Hasher *identity.Hasher
}

// Database is what the pages of events read and keep. Errors are internal/commerce's
// kinds.
type Database interface {
	ListAPIKeys(ctx context.Context, companyID string, limit int) ([]account.APIKey, error)
	CreateAPIKey(ctx context.Context, k account.NewAPIKey) (key account.APIKey, text string, err error)
	Company(ctx context.Context, companyID string) (commerce.Company, error)
	// ChangeSettings may return a *commerce.SettingsError.
	ChangeSettings(ctx context.Context, c commerce.SettingsChange) (before, after commerce.Settings, err error)
	SalesSince(ctx context.Context, companyID, day string, since commerce.Cursor, limit int) ([]commerce.Sale, error)
	// Signals tells what has come last.
	Signals(ctx context.Context, companyID string) (commerce.Signals, error)
	// RefusedOrigins returns the origins that the company does not list and that tried to send events since, the last first.
	RefusedOrigins(ctx context.Context, companyID string, since time.Time) ([]commerce.RefusedOrigin, error)
	// StoredEvents returns which of the ids are stored events.
	StoredEvents(ctx context.Context, companyID string, eventIDs []string) ([]string, error)
	// AskErasure may return commerce.ErrTooManyErasures.
	AskErasure(ctx context.Context, author commerce.Author, kinds []string, keys []facts.Key, random io.Reader) (commerce.Erasure, error)
	Erasures(ctx context.Context, companyID string, limit int) ([]commerce.Erasure, error)
	// ErasedConversions returns at most 1000 conversions that networks were told of orders of an erasure, and whether there are more.
	ErasedConversions(ctx context.Context, companyID, erasureID string) (list []commerce.ToldConversion, more bool, err error)
	// LogExport writes into the audit log that WritePerson is called.
	LogExport(ctx context.Context, author commerce.Author, kinds []string, random io.Reader) error
	// WritePerson writes as JSON what is stored about the person whom keys name. After an error the text is not whole.
	WritePerson(ctx context.Context, p commerce.PersonFile, keys []facts.Key, to io.Writer) error
	// ErasedUntil returns, of the digests of keys, those of erased persons, and until when
	// the person's events were erased.
	ErasedUntil(ctx context.Context, companyID string, digests [][]byte) (map[string]time.Time, error)
}

// Pages are the pages of what comes from a shop. Safe for concurrent use.
type Pages struct {
	*site.Site
	db       Database
	edgeURL  string
	eventLog EventLog
	rules    RuleReader
	hasher   *identity.Hasher
	reading  *site.Turns // of pages whose events are read
	writing  *site.Turns // of files of a person's data
	indexMu  sync.Mutex
	indexes  []*attribution.Index // of few companies, the one that was asked for first at the front; indexMu guards it
}

// New makes the pages.
func New(shared *site.Site, config Config, db Database) (*Pages, error) {
	if config.Log != nil && config.Rules == nil {
		return nil, errNoRules
	}
	return &Pages{Site: shared, db: db, edgeURL: config.EdgeURL, eventLog: config.Log, rules: config.Rules, hasher: config.Hasher,
		reading: site.NewTurns("events are being read", readsOfEvents, personsReads),
		writing: site.NewTurns("files of a person's data are made", exportsAtOnce, 1)}, nil
}

// Routes are the pages and forms.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(s.eventRoutes(), s.installRoutes(), s.privacyRoutes())
}
