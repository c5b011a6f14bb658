package network_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/connect/network"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fakes/networks"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

const (
	dataset, metaToken = "123456789012345", "EAAB-meta-token"
	stream, ga4Secret  = "G-AB12CD34EF", "ga4-api-secret"
	customer, action   = "1234567890", "987654321"
	pixel, ttToken     = "C4ABCDEFGH12345", "tiktok-token"
	serviceEmail       = "tributary@project.iam.gserviceaccount.com"
)

// shop is a store whose orders networks are told of: the database is a real one, the networks are fakes that were made from their
// documentation by somebody who did not read this package.
type shop struct {
	t       *testing.T
	f       *reporttest.Fixture
	db      *postgres.DB
	company string
	keys    *account.SealKeys
	ana     string // an influencer
	options platform.Options
	keyFile string

	meta   *networks.Meta
	ga4    *networks.GA4
	google *networks.Google
	tiktok *networks.TikTok
}

func newShop(t *testing.T) *shop {
	t.Helper()
	f := reporttest.New(t)
	s := &shop{t: t, f: f, company: f.Store.Live.CompanyID, options: platform.Options{UserAgent: "Tributary", Rewrite: map[string]string{}}}
	s.ana = f.Influencer(s.company, "Ana")
	var err error
	s.keys, err = account.NewSealKeys()
	s.must(err)
	s.db, err = postgres.Open(t.Context(), f.DSN)
	s.must(err)
	t.Cleanup(s.db.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	s.must(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	s.must(err)
	file, err := json.Marshal(commerce.ServiceAccount{Type: "service_account", Email: serviceEmail, KeyID: "k",
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), TokenAt: commerce.GoogleTokenURL})
	s.must(err)
	s.keyFile = string(file)
	s.meta = networks.NewMeta(networks.MetaAccount{Dataset: dataset, Token: metaToken}, time.Now)
	s.ga4 = networks.NewGA4(networks.GA4Account{MeasurementID: stream, Secret: ga4Secret}, time.Now)
	s.google = networks.NewGoogle(networks.GoogleAccount{Account: customer, ConversionAction: action,
		OAuth: networks.GoogleOAuth{ServiceEmail: serviceEmail, ServiceKey: &key.PublicKey}}, time.Now)
	s.tiktok = networks.NewTikTok(networks.TikTokAccount{Pixel: pixel, Token: ttToken}, time.Now)
	for handler, hosts := range map[http.Handler][]string{s.meta: {"graph.facebook.com"}, s.ga4: {"www.google-analytics.com"},
		s.google: {"datamanager.googleapis.com", "oauth2.googleapis.com"}, s.tiktok: {"business-api.tiktok.com"}} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		for _, host := range hosts {
			s.options.Rewrite[host] = server.URL
		}
	}
	t.Cleanup(func() {
		for name, list := range map[string][]string{"meta": s.meta.Complaints(), "ga4": s.ga4.Complaints(), "google": s.google.Complaints(),
			"tiktok": s.tiktok.Complaints()} {
			if len(list) > 0 && !t.Failed() {
				t.Errorf("%s complains: %q", name, list)
			}
		}
	})
	return s
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := s.db.Pool().Exec(s.t.Context(), sql, args...)
	s.must(err)
}

// account adds an account at a network, whose id is the network's name.
func (s *shop) account(to commerce.DestinationKind, change ...func(n *commerce.Network, secret *string)) {
	s.t.Helper()
	n := commerce.Network{Endpoint: commerce.Endpoint{ID: commerce.NetworkPrefix + string(to), Kind: to, Name: string(to), Active: true}}
	secret := ""
	switch to {
	case commerce.ToMeta:
		n.Account.ID, secret = dataset, metaToken
	case commerce.ToGA4:
		n.Account.ID, secret = stream, ga4Secret
	case commerce.ToGoogle:
		n.Account.ID, n.Account.Action, secret = customer, action, s.keyFile
	case commerce.ToTikTok:
		n.Account.ID, secret = pixel, ttToken
	}
	for _, c := range change {
		c(&n, &secret)
	}
	var bad commerce.Violations
	n.Check(&bad)
	commerce.CheckNetworkSecret(to, secret, &bad)
	if bad.Any() {
		s.t.Fatalf("%+v", bad.List)
	}
	bound := account.SealedFor{CompanyID: s.company, ConnectionID: n.ID, Purpose: account.SealNetwork}
	sealed, keyID, err := s.keys.Seal(bound, []byte(secret))
	s.must(err)
	s.must(s.f.DB.AddNetwork(s.t.Context(), commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}, n,
		commerce.SealedSecret{KeyID: keyID, Sealed: sealed}))
}

// buyer is somebody with a browser.
type buyer struct {
	visitor, cart, email string
	at                   time.Time
}

// buyer makes one whose cart only the buyer has.
func (s *shop) buyer(name string) *buyer {
	return &buyer{visitor: uuid.NewString(), cart: "k1:cart-" + name, email: name + "@example.com", at: time.Now().Add(-3 * time.Hour)}
}

// does stores an event of a browser, a minute after the one before.
func (s *shop) does(b *buyer, name, consent string, change ...func(e *wire.Event)) {
	s.t.Helper()
	b.at = b.at.Add(time.Minute).Truncate(time.Millisecond)
	id, err := uuid.NewV7()
	s.must(err)
	word, networks, _ := strings.Cut(consent, " ")
	e := wire.Event{CompanyID: s.company, EventID: id.String(), Event: name, Timestamp: b.at, ReceivedAt: b.at, VisitorID: b.visitor,
		Bot: wire.BotNone, Via: wire.ViaJS, Consent: wire.Consent(word), ConsentFor: networks}
	e.Identity.CartKey = b.cart
	for _, c := range change {
		c(&e)
	}
	s.f.Came(e)
}

// buys stores an approved order of the buyer, which Ana is paid for, and what the shop sent of the person.
func (s *shop) buys(b *buyer, id string, change ...func(o *reporttest.Order)) {
	s.t.Helper()
	o := reporttest.Order{CompanyID: s.company, ID: id, CreatedAt: b.at.Add(time.Minute), TotalMinor: 12990, InfluencerID: s.ana,
		CommissionMinor: 1299, Evidence: "coupon", State: "earned", DiscountCode: "ANA10", Sent: func(o *wire.Order) {
			o.VisitorID, o.CartKey = wire.Optional[string]{}, wire.Some(b.cart)
			o.Items = wire.Some([]wire.Item{{ProductID: "p1", VariantID: "v1", Quantity: 2, Price: "64.95"}})
			o.ShippingMinor = wire.Some[int64](990)
		}}
	for _, c := range change {
		c(&o)
	}
	s.f.Put(o)
	body, err := json.Marshal(wire.Personal{UserAgent: wire.Some("Mozilla/5.0"), BrowserIP: wire.Some("203.0.113.9"),
		Customer: wire.Some(wire.Customer{CustomerID: wire.Some("c-" + id), Name: wire.Some("Maria da Silva"), Email: wire.Some(b.email),
			Phone: wire.Some("(11) 98765-4321"), City: wire.Some("São Paulo"), ProvinceCode: wire.Some("SP"), Zip: wire.Some("01311-000"),
			CountryCode: wire.Some("BR")})})
	s.must(err)
	s.exec(`update order_personal set body = $3 where company_id = $1 and order_id = $2`, s.company, id, body)
}

// look writes for all accounts that an order is to be looked at, as the processor does.
func (s *shop) look(id string) {
	s.t.Helper()
	told := commerce.ConversionTold{OrderID: id}
	s.must(s.db.InTx(s.t.Context(), func(tx pgx.Tx) error {
		return postgres.Tell(s.t.Context(), tx, s.company, func() ([]commerce.Event, error) {
			at := time.Now().UTC().Truncate(time.Microsecond)
			return []commerce.Event{{Type: commerce.ConversionProven, Key: told.Key(), At: at, Data: told}}, nil
		})
	}))
}

// send runs a sender until f says that it is enough.
func (s *shop) send(enough func() bool) {
	s.t.Helper()
	sender, err := network.New(network.Config{Options: s.options, LookEvery: 20 * time.Millisecond, IdleLook: time.Second},
		network.Deps{Database: s.f.DB, Facts: s.f.DB, Keys: s.keys})
	s.must(err)
	ctx, stop := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- sender.Run(ctx) }()
	defer func() { stop(); s.must(<-done) }()
	await.Until(s.t, await.Long, enough, func() string { return "messages: " + strings.Join(s.messages(), "; ") })
}

// sendAll sends until nothing waits. What Google took it is asked for at once, and not after half an hour.
func (s *shop) sendAll() {
	s.t.Helper()
	const waits, processing = " " + commerce.MessageWaiting, " " + commerce.MessageWaiting + " " + commerce.TryProcessing
	all := func() string { return strings.Join(s.messages(), ";") }
	s.send(func() bool { return strings.Count(all(), waits) == strings.Count(all(), processing) })
	if strings.Contains(all(), processing) {
		s.due()
		s.send(func() bool { return !strings.Contains(all(), waits) })
	}
}

// due has all that waits looked at now.
func (s *shop) due() {
	s.t.Helper()
	s.exec(`update outgoing set due_at = now() where state = 'waiting'`)
	s.exec(`update destination set next_at = now()`)
}

// messages is what became of each message: the account, the key, the state and the last attempt's failure and words.
func (s *shop) messages() []string {
	list, err := postgres.Collect(s.t.Context(), s.db.Pool(), pgx.RowTo[string], `
		select concat_ws(' ', destination_id, key, state, tries -> -1 ->> 'failure', tries -> -1 ->> 'answer') from outgoing
		order by number, destination_id`)
	s.must(err)
	return list
}

func (s *shop) wantMessages(want ...string) {
	s.t.Helper()
	if got := s.messages(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("messages are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// idsOf are the events that a network has, with their values.
func idsOf(events []networks.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, fmt.Sprint(e.Name, " ", e.ID, " ", e.Value))
	}
	return ids
}

const viewed, completed = core.PageView, core.CheckoutCompleted
