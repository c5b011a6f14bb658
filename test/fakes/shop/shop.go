package shop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// Options say how a shop starts. The zero value is a Brazilian shop on a free port of loopback, without faults.
type Options struct {
	// Platform is the name: "nuvemshop", "shopify", "vtex", "woocommerce" or "yampi".
	Platform string
	// Listen is host and port; "127.0.0.1:0" when empty.
	Listen string
	// TLS serves https with a certificate of the test's own; see Shop.CertificatePEM.
	TLS bool
	// Shop is the shop's name; "Loja Exemplo" when empty.
	Shop string
	// Currency is the ISO code of one with two decimals; "BRL" when empty.
	Currency string
	// Seed draws ids, keys and secrets: the same seed gives the same.
	Seed uint64
	// Now is the shop's clock, before Faults.ClockSkew; time.Now when nil.
	Now    func() time.Time
	Faults Faults
	// RetryScale multiplies the documented waits between attempts at a notice; 1 when 0.
	RetryScale float64
	// LimitScale multiplies the documented rate limit, as a larger plan does; 1 when 0.
	LimitScale float64
	// StrictURLs refuses addresses for notices that the platform refuses: http and loopback. Tests listen there,
	// so by default they are taken.
	StrictURLs bool
	// Redirect is where the page of consent sends the merchant (the app's redirection URL).
	Redirect string
	// Storefront adds the shop's pages: products, a cart, the page after the purchase, the shop's admin.
	Storefront bool
	// Script is put into each page of the storefront: the address of a script.
	Script string
	// ScriptOf is asked for Script at each page where it is there: the script's owner may start later than the shop.
	ScriptOf func() string
	// RefundKeepsTotal (Nuvemshop): a partial refund shows in the payment's status and in the history, and the order's
	// total stays. The documentation says that a refund may alter the total; real stores must show which it is.
	RefundKeepsTotal bool
	// Scope lists the rights of the app, parted by commas; what the product needs when empty.
	Scope string
	// Undocumented adds fields that older versions of a platform's documentation show and the newest does not: see the
	// platform's folder.
	Undocumented bool
}

// Shop is one running fake. Its methods are the shop's own side: what the merchant and the buyers do. All are safe
// for several goroutines.
type Shop struct {
	options  Options
	platform Platform
	server   *httptest.Server
	api      http.Handler
	pages    *http.ServeMux
	ctx      context.Context
	stop     context.CancelFunc
	bucket   *Bucket
	notices  *sender

	statMu sync.Mutex
	stats  Stats
	recent []time.Time

	mu        sync.Mutex
	faults    Faults
	dice      *dice
	rng       *rand.Rand
	last      int64
	number    int
	products  []Product
	customers map[string]Customer
	orders    map[int64]*Order
	order     []int64 // ids, oldest first
	coupons   []Coupon
	subs      []Subscription
	suspended bool
	redirect  string
	head      string
	private   map[string]string
}

// Open starts a fake of a platform. It ends with ctx or by Close.
func Open(ctx context.Context, options Options, platform func(Options) Platform) (*Shop, error) {
	setDefault(&options.Listen, "127.0.0.1:0")
	setDefault(&options.Shop, "Loja Exemplo")
	setDefault(&options.Currency, "BRL")
	setDefault(&options.RetryScale, 1)
	setDefault(&options.LimitScale, 1)
	if options.Now == nil {
		options.Now = time.Now
	}
	listener, err := net.Listen("tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("fake shop: %w", err)
	}
	s := &Shop{
		options: options, platform: platform(options), pages: http.NewServeMux(),
		faults: options.Faults, dice: newDice(options.Faults.Seed), rng: rand.New(rand.NewPCG(options.Seed, 0x73686f70)),
		customers: map[string]Customer{}, orders: map[int64]*Order{}, private: map[string]string{},
		redirect: options.Redirect, number: 100,
		stats: Stats{Paths: map[string]int{}, Faults: map[string]int{}},
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.last = 871_000_000 + s.rng.Int64N(1_000_000)
	s.products = catalogue(s.rng)
	s.bucket = NewBucket(s.platform.Limit(), options.LimitScale)
	s.api = s.platform.Handler(s)
	s.platform.Pages(s, s.pages)
	s.notices = newSender(s)
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}}
	if options.TLS {
		s.server.StartTLS()
	} else {
		s.server.Start()
	}
	context.AfterFunc(ctx, s.server.CloseClientConnections)
	return s, nil
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

func (s *Shop) serve(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if s.platform.API(r) {
		s.serveAPI(w, r)
		return
	}
	s.pages.ServeHTTP(w, r)
}

// maxBody bounds what a client may send.
const maxBody = 4 << 20

// Close ends the server and the sender of notices, and waits for both.
func (s *Shop) Close() {
	s.stop()
	s.notices.wait()
	s.server.CloseClientConnections()
	s.server.Close()
}

// URL is the base of all addresses, without a slash at the end: what stands for the platform's host.
func (s *Shop) URL() string { return s.server.URL }

// Client trusts the shop's certificate.
func (s *Shop) Client() *http.Client { return s.server.Client() }

// CertificatePEM is the certificate of Options.TLS, for a client's pool; "" without TLS.
func (s *Shop) CertificatePEM() string {
	certificate := s.server.Certificate()
	if certificate == nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

// Platform is what makes the shop one of its platform.
func (s *Shop) Platform() Platform { return s.platform }

// Options are what the shop was started with, defaults filled.
func (s *Shop) Options() Options { return s.options }

// Mux takes further pages of the shop.
func (s *Shop) Mux() *http.ServeMux { return s.pages }

// Keys are what a merchant copies to connect the shop.
func (s *Shop) Keys() []Key { return s.platform.Keys(s) }

// Key is one of Keys by its name, or "".
func (s *Shop) Key(name string) string {
	for _, key := range s.Keys() {
		if key.Name == name {
			return key.Value
		}
	}
	return ""
}

// Now is the shop's clock, its skew included.
func (s *Shop) Now() time.Time { return s.options.Now().UTC().Add(s.skew()) }

func (s *Shop) skew() time.Duration { return s.options.Faults.ClockSkew }

// Secret is a text of n hex digits that the seed and the purpose decide.
func (o Options) Secret(purpose string, n int) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", o.Seed, o.Platform, purpose))
	more := sha256.Sum256(digest[:])
	return hex.EncodeToString(append(digest[:], more[:]...))[:n]
}

// Number is a number between low and 2 × low that the seed and the purpose decide.
func (o Options) Number(purpose string, low int64) int64 {
	digest := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", o.Seed, o.Platform, purpose))
	var n int64
	for _, b := range digest[:6] {
		n = n<<8 | int64(b)
	}
	return low + n%low
}

// Stats is a copy of the counters.
func (s *Shop) Stats() Stats {
	s.statMu.Lock()
	defer s.statMu.Unlock()
	stats := s.stats
	stats.Paths, stats.Faults = map[string]int{}, map[string]int{}
	for path, n := range s.stats.Paths {
		stats.Paths[path] = n
	}
	for name, n := range s.stats.Faults {
		stats.Faults[name] = n
	}
	return stats
}

// Suspend makes the shop one that has not paid its bill: where the platform has such an answer (Nuvemshop: 402), all
// requests get it, and notices are not sent. Resume ends it.
func (s *Shop) Suspend() { s.setSuspended(true) }

// Resume ends Suspend.
func (s *Shop) Resume() { s.setSuspended(false) }

func (s *Shop) setSuspended(suspended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = suspended
}

// Uninstall removes the app from the shop: its tokens and subscriptions end.
func (s *Shop) Uninstall() { s.platform.Uninstall(s) }

// Suspended says whether the shop is suspended.
func (s *Shop) Suspended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspended
}

// SetRedirect changes where the page of consent sends the merchant.
func (s *Shop) SetRedirect(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redirect = url
}

// Redirect is where the page of consent sends the merchant.
func (s *Shop) Redirect() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redirect
}

// SetHead changes what the merchant has put into the head of each page of the storefront: HTML, beside Options.Script.
func (s *Shop) SetHead(html string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = html
}

// Head is what the merchant has put into the head of each page.
func (s *Shop) Head() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// Products lists what the shop sells.
func (s *Shop) Products() []Product {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.products)
}

// nextID is a new number, greater than all before. The lock is held.
func (s *Shop) nextID() int64 {
	s.last += 1 + s.rng.Int64N(20)
	return s.last
}
