package webhooks

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// Database is what the pages of webhook endpoints and of accounts at networks read and keep. Errors are internal/commerce's kinds:
// ErrNotFound where the company has no such one. What is changed is refused as a *commerce.StaleError where the form is of an older version
// of it.
type Database interface {
	// ConnectOffer returns the zero offer where no connect service ever ran.
	ConnectOffer(ctx context.Context) (commerce.ConnectOffer, error)
	// Endpoints returns at most commerce.MaxEndpoints, the oldest first.
	Endpoints(ctx context.Context, companyID string) ([]commerce.Endpoint, error)
	// Networks returns at most commerce.MaxNetworks, the oldest first.
	Networks(ctx context.Context, companyID string) ([]commerce.Network, error)
	// EndpointStates is Endpoints and Networks, as they are kept, without counts of messages and versions: it is quick.
	EndpointStates(ctx context.Context, companyID string) ([]commerce.Endpoint, error)
	// Endpoint returns one, or an account at a network as it is kept.
	Endpoint(ctx context.Context, companyID, id string) (commerce.Endpoint, error)
	// AddNetwork may return commerce.ErrTooManyNetworks and commerce.ErrNetworkThere, as ChangeEndpoint may.
	AddNetwork(ctx context.Context, author commerce.Author, n commerce.Network, secret commerce.SealedSecret) error
	// AddEndpoint may return commerce.ErrTooManyEndpoints.
	AddEndpoint(ctx context.Context, author commerce.Author, e commerce.Endpoint, secret commerce.SealedSecret) error
	ChangeEndpoint(ctx context.Context, author commerce.Author, id string, change func(e *commerce.Endpoint) error) error
	RotateSecret(ctx context.Context, author commerce.Author, id string, secret commerce.SealedSecret) error
	RemoveEndpoint(ctx context.Context, author commerce.Author, id string) error
	// TestEndpoint may return commerce.ErrEndpointDisabled and commerce.ErrNetworkTestCode.
	TestEndpoint(ctx context.Context, author commerce.Author, id string) (number int64, err error)
	// ReplayEndpoint may return commerce.ErrEndpointFull.
	ReplayEndpoint(ctx context.Context, author commerce.Author, id string, from, to time.Time) (commerce.Replayed, error)
	// Messages returns those below a number, the newest first; before 0: from the newest on; state empty: all.
	Messages(ctx context.Context, companyID, id, state string, before int64, limit int) ([]commerce.Message, error)
	// ResendMessage may return commerce.ErrEndpointDisabled.
	ResendMessage(ctx context.Context, author commerce.Author, id string, number int64) error
}

// Pages are the pages of webhook endpoints, and of accounts at networks. Safe for concurrent use.
type Pages struct {
	*site.Site
	db Database
}

// kind is a kind of what messages are sent to, with what its pages have of their own. An id of another kind is none of its.
type kind struct {
	list, one string // paths
	texts     string // section of its texts: what it lacks is webhooks'
	prefix    string // of ids
	states    []string
	most      int
	// stored are the company's, as they are kept.
	stored func(ctx context.Context, db Database, companyID string) ([]commerce.Endpoint, error)
	// form asks for what a merchant sets of one; of a new one, which has no id, also for what cannot change.
	form func(v site.Request, typed map[string][]string, e commerce.Endpoint) *site.Form
	// read reads the form into one, and checks the whole.
	read func(r *http.Request, f *site.Form, e *commerce.Endpoint)
	// secret asks for a new secret; nil: it is made.
	secret func(v site.Request, typed map[string][]string) *site.Form
	// readSecret reads it, and checks it.
	readSecret func(r *http.Request, f *site.Form, e commerce.Endpoint)
	// seal seals what was typed as the secret, or a new one, which is shown once.
	seal func(r *http.Request, random io.Reader, offer commerce.ConnectOffer, companyID, id string) (shown string,
		sealed commerce.SealedSecret, err error)
	add      func(ctx context.Context, db Database, author commerce.Author, e commerce.Endpoint, sealed commerce.SealedSecret) error
	address  func(l *lang.Printer, e commerce.Endpoint) string
	settings func(l *lang.Printer, e commerce.Endpoint) []site.Option
}

// kindPages are the pages of a kind.
type kindPages struct {
	*Pages
	kind
}

// kindOf is the kind of which an id is.
func kindOf(id string) kind {
	if strings.HasPrefix(id, commerce.NetworkPrefix) {
		return networks()
	}
	return endpoints()
}

// text is a text of the kind.
func (k kind) text(l *lang.Printer, name string, args ...any) string {
	return l.T(k.key(l, name), args...)
}

func (k kind) key(l *lang.Printer, name string) string {
	if key := k.texts + "." + name; l.Has(key) {
		return key
	}
	return "webhooks." + name
}

// done is what a page says after a form.
func (k kind) done(what string) string {
	if k.texts == "webhooks" {
		return "webhook_" + what
	}
	return "network_" + what
}

// words are a kind's texts for a template.
type words struct {
	l    *lang.Printer
	kind kind
}

// Text is a text of the kind.
func (w words) Text(name string) string { return w.kind.text(w.l, name) }

// Base is where the kind's forms are sent.
func (w words) Base() string { return w.kind.list }

// New makes the pages. Other pages then show, beside what they showed, which endpoints were disabled, but not those that the store
// disabled itself: site.Site.Failing.
func New(shared *site.Site, db Database) *Pages {
	s := &Pages{Site: shared, db: db}
	others := shared.Failing
	shared.Failing = func(r *http.Request, v site.Request) (links []site.Link, err error) {
		if others != nil {
			links, err = others(r, v)
		}
		if err != nil {
			return nil, err
		}
		list, err := db.EndpointStates(r.Context(), v.Current.CompanyID)
		for _, e := range list {
			if !e.Active && e.Reason != commerce.EndpointByMerchant {
				k := kindOf(e.ID)
				links = append(links, site.Link{Name: k.text(v.Lang, "alert", e.Name, k.reason(v.Lang, e.Reason)),
					Path: k.path(e.CompanyID, e.ID)})
			}
		}
		return links, err
	}
	return s
}

// reason says why one is disabled.
func (k kind) reason(l *lang.Printer, reason string) string {
	return site.TextOf(l, k.key(l, "reason_"+reason), reason)
}

// Routes are the pages and forms.
func (s *Pages) Routes() []site.Route {
	return slices.Concat(kindPages{s, endpoints()}.routes(), kindPages{s, networks()}.routes())
}

func (s kindPages) routes() []site.Route {
	return slices.Concat([]site.Route{
		{Pattern: "GET " + s.kind.list, Handle: s.listPage},
		{Pattern: "POST " + s.kind.list, Owner: true, Handle: s.addForm},
		{Pattern: "GET " + s.one, Handle: s.endpoint},
	}, s.actionRoutes())
}

// path is the address of one's page, with more parameters as of site.StorePath.
func (k kind) path(companyID, id string, more ...string) string {
	return site.StorePath(k.one, companyID, append([]string{"id", id}, more...)...)
}

// endpointOf reads the endpoint that a page or form names. Else the request is answered.
func (s kindPages) endpointOf(w http.ResponseWriter, r *http.Request, v site.Request, id string) (e commerce.Endpoint, ok bool) {
	err := commerce.ErrNotFound
	if commerce.IsID(id) && strings.HasPrefix(id, s.prefix) {
		e, err = s.db.Endpoint(r.Context(), v.Current.CompanyID, id)
	}
	if err != nil {
		s.notFoundOr(w, r, err)
	}
	return e, err == nil
}

// notFoundOr answers an error.
func (s kindPages) notFoundOr(w http.ResponseWriter, r *http.Request, err error) {
	if s.texts == "webhooks" {
		s.NotFoundOr(w, r, err, "no_endpoint")
		return
	}
	s.NotFoundOr(w, r, err, "no_network")
}

// withSecret seals a secret, lets store keep it, and leads to the page of whose it is, which shows once one that was made. It returns
// false, and nothing is done, where no connect service runs.
func (s kindPages) withSecret(w http.ResponseWriter, r *http.Request, v site.Request, id, what string,
	store func(sealed commerce.SealedSecret) error) (runs bool, err error) {
	offer, err := s.db.ConnectOffer(r.Context())
	if err != nil || !offer.Runs(s.Now()) {
		return false, err
	}
	text, sealed, err := s.seal(r, s.Random, offer, v.Current.CompanyID, id)
	if err == nil {
		err = store(sealed)
	}
	switch {
	case err != nil:
	case text == "":
		site.Done(w, r, s.path(v.Current.CompanyID, id), what)
	default:
		s.Made(w, r, v, s.one, []string{"id", id}, id, text)
	}
	return true, err
}
