// Package cluster is the part of `make prove` about what is not one machine: three brokers, a database with a standby, and
// two of each service behind a balancer, under faults of each of them.
//
// What may enter: starting, breaking and loading the real programs. No service of ours is imported.
package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove"
	"github.com/tributary-io/tributary/test/prove/balance"
	"github.com/tributary-io/tributary/test/prove/edgefault"
	"github.com/tributary-io/tributary/test/prove/shops"
)

const (
	// patience bounds what is waited for; only what is broken takes so long.
	patience = 3 * time.Minute
	brokers  = 3
	// partitions are as many as edgefault.ReadLog reads.
	partitions = 8
	stores     = 4
	// stays is how long a service goes on after SIGTERM, so that balancers notice: as long as by default.
	stays = 5 * time.Second
	// pollEvery is how often connect reads the shop; notices tell it at once.
	pollEvery = 30 * time.Second
)

// secret is the hashing secret.
var secret = strings.Repeat("h", 48)

// store is a merchant's, with a key for orders.
type store struct{ company, key string }

// stand is everything, in a directory of its own.
type stand struct {
	prove.Env
	kafka     *kafkadist.Cluster
	proxies   []*edgefault.Proxy // one for each broker
	database  *database
	db        *postgres.DB // by the proxy
	rules     *merchant.Store
	stores    []store
	services  map[string][]*service        // by kind, two of each
	balancers map[string]*balance.Balancer // by kind
	prom      *prometheus                  // nil: it is not here
	fake      *fakes.Shop
	shop      *shops.Connected
	events    *edgefault.Load
	orders    *orders
	lives     lives
	began     time.Time
	spans     []span           // of the faults so far
	lines     map[string]*line // of the faults so far, by name
	problems  []string
}

// kinds of services, in the order in which they start.
var kinds = []string{"edge", "admin", "processor", "connect"}

// newStand starts everything but the load. Call close when done.
func newStand(ctx context.Context, e prove.Env) (s *stand, err error) {
	s = &stand{Env: e, services: map[string][]*service{}, balancers: map[string]*balance.Balancer{},
		lines: map[string]*line{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for dir := e.Dir; dir != filepath.Dir(filepath.Dir(e.Dir)); dir = filepath.Dir(dir) { // PostgreSQL's account reads below it
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755)); err != nil { //nolint:gosec // likewise
			return s, err
		}
	}
	for _, step := range []func(context.Context) error{
		s.startKafka, s.startDatabase, s.makeStores, s.openShop, s.startServices, s.connectShop, s.awaitDirectory,
	} {
		if err := step(ctx); err != nil {
			return s, err
		}
	}
	s.prom, err = startPrometheus(ctx, e.Dir, s.services)
	if errors.Is(err, errNoPrometheus) {
		s.Say("  no alerts are looked at: %v", err)
		err = nil
	}
	return s, err
}

func (s *stand) startKafka(ctx context.Context) (err error) {
	config := kafkadist.ClusterConfig{Dir: filepath.Join(s.Dir, "kafka"), Nodes: brokers}
	for range brokers {
		p, err := edgefault.NewProxy()
		if err != nil {
			return err
		}
		s.proxies = append(s.proxies, p)
		config.Advertise = append(config.Advertise, p.Addr())
	}
	if s.kafka, err = kafkadist.StartCluster(ctx, config); err != nil {
		return err
	}
	for i, p := range s.proxies {
		p.Serve(ctx, s.kafka.Brokers[i].SideAddr())
	}
	client, err := kafka.NewClient(kafka.Config{Brokers: s.kafka.Addrs(), ClientID: "prove"})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.EnsureTopics(ctx,
		kafka.TopicPlan{Partitions: partitions, Replication: brokers, MinInsyncReplicas: brokers - 1, KeepForever: true})
}

func (s *stand) startDatabase(ctx context.Context) (err error) {
	s.database, err = newDatabase(ctx, s.Dir)
	if errors.Is(err, edgefault.ErrNoRights) {
		return fmt.Errorf("%w: %w", prove.ErrNotHere, err)
	}
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, s.database.direct()); err != nil {
		return err
	}
	if s.db, err = postgres.Open(ctx, s.database.dsn()); err != nil {
		return err
	}
	s.rules = merchant.New(s.db)
	return nil
}

// code is a coupon in each store, whose influencer earns 10 %.
const code = "ANA10"

func (s *stand) makeStores(ctx context.Context) error {
	hasher, err := identity.NewHasher([]byte(secret))
	if err != nil {
		return err
	}
	for n := range stores {
		made, err := s.rules.CreateStore(ctx,
			commerce.NewStore{Name: fmt.Sprint("Loja ", n+1), Actor: "prove", KeyCheck: hasher.Check, Random: rand.Reader})
		if err != nil {
			return err
		}
		company := made.Live.CompanyID
		if _, err := s.rules.RegisterInfluencer(ctx, commerce.Author{CompanyID: company, Actor: "prove", At: time.Now()},
			commerce.Registration{Name: "Ana Prado", Campaign: "Inverno", Coupons: []commerce.CouponTerms{{Code: code}},
				Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2020-01-01"}}}, rand.Reader); err != nil {
			return err
		}
		_, key, err := s.rules.CreateAPIKey(ctx,
			account.NewAPIKey{CompanyID: company, Name: "erp", Scopes: []account.Scope{account.WriteOrders}, Actor: "prove", Random: rand.Reader})
		if err != nil {
			return err
		}
		s.stores = append(s.stores, store{company, key})
	}
	return nil
}

// openShop starts the fake shop, which connect is told of when it starts.
func (s *stand) openShop(ctx context.Context) (err error) {
	s.fake, err = fakes.Start(ctx, fakes.Options{Platform: "woocommerce", Seed: s.Seed, RetryScale: 1e-2})
	return err
}

func (s *stand) startServices(ctx context.Context) error {
	if err := s.describeServices(ctx); err != nil {
		return err
	}
	for _, kind := range kinds {
		for _, one := range s.services[kind] {
			if err := one.start(ctx); err != nil {
				return err
			}
		}
		if err := s.balanced(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// balanced returns once the balancer leads to all services of a kind.
func (s *stand) balanced(ctx context.Context, kind string) error {
	return until(ctx, "all services are ready", patience, func() (bool, error) {
		for _, one := range s.services[kind] {
			if !s.balancers[kind].Has(one.addr) {
				return false, one.alive()
			}
		}
		return true, nil
	})
}

// describeServices says how services are started, and starts the balancers before them.
func (s *stand) describeServices(ctx context.Context) error {
	var addrs []string
	for _, p := range s.proxies {
		addrs = append(addrs, p.Addr())
	}
	env := append(os.Environ(), "TRIBUTARY_KAFKA_BROKERS="+strings.Join(addrs, ","), "TRIBUTARY_POSTGRES="+s.database.dsn(),
		"TRIBUTARY_HASHING_SECRET="+secret, "TRIBUTARY_TOKEN_SECRET="+strings.Repeat("t", 48))
	for _, kind := range kinds {
		behind, err := kafkadist.FreeAddrs(2)
		if err != nil {
			return err
		}
		for n, addr := range behind {
			name := fmt.Sprint(kind, n+1)
			s.services[kind] = append(s.services[kind], &service{name: name, binary: s.Binary, env: env, addr: addr,
				log: filepath.Join(s.Dir, name+".log"), args: []string{kind, "--addr", addr}})
		}
		b, err := balance.New(ctx, "127.0.0.1:0", behind...)
		if err != nil {
			return err
		}
		s.balancers[kind] = b
	}
	key := filepath.Join(s.Dir, "connect.key")
	//nolint:gosec // the program to prove
	if out, err := exec.CommandContext(ctx, s.Binary, "connect", "key", "create", "--connect-key-file", key).CombinedOutput(); err != nil {
		return fmt.Errorf("connect key create: %w: %s", err, out)
	}
	_, hosts := fakes.Pasted(s.fake)
	var shopAddresses []string
	for _, host := range hosts {
		shopAddresses = append(shopAddresses, host+"="+s.fake.URL())
	}
	stay := []string{"--shutdown-delay", stays.String()}
	for n := range 2 {
		more := map[string][]string{
			"edge": append(stay, "--snapshot", s.snapshot(n), "--spool", filepath.Join(s.Dir, fmt.Sprint("spool", n+1)),
				"--network-events-per-second", "1e9", "--network-burst", "1000000000"), // all clients share one network
			"admin": append(stay, "--short-base", "go.example.com", "--ingest-rate", "1000", "--ingest-burst", "1000"),
			"connect": append(stay, "--admin-url", s.balancers["admin"].URL, "--connect-url", s.balancers["connect"].URL,
				"--connect-key-file", key, "--contact", "nobody@example.com", "--shop-address", strings.Join(shopAddresses, ",")),
		}
		for kind, args := range more {
			s.services[kind][n].args = append(s.services[kind][n].args, args...)
		}
	}
	return nil
}

// snapshot is the file in which an edge keeps what it knows.
func (s *stand) snapshot(n int) string {
	return filepath.Join(s.Dir, fmt.Sprintf("directory%d.json", n+1))
}

// awaitDirectory returns once both edges know all stores.
func (s *stand) awaitDirectory(ctx context.Context) error {
	return until(ctx, "the edges know the stores", patience, func() (bool, error) {
		for n := range 2 {
			text, err := os.ReadFile(s.snapshot(n))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return false, err
			}
			for _, one := range s.stores {
				if !bytes.Contains(text, []byte(one.company)) {
					return false, s.alive()
				}
			}
		}
		return true, nil
	})
}

// connectShop connects the fake shop to a store of its own.
func (s *stand) connectShop(ctx context.Context) error {
	s.shop = shops.New(shops.On{Rules: s.rules, DB: s.db, Say: s.Say, Alive: s.alive}, "woocommerce", s.fake)
	if err := s.shop.AddStore(ctx); err != nil {
		return err
	}
	return s.shop.Join(ctx, pollEvery)
}

// companies are the stores' ids.
func (s *stand) companies() (list []string) {
	for _, one := range s.stores {
		list = append(list, one.company)
	}
	return list
}

// all are the services.
func (s *stand) all() (list []*service) {
	for _, kind := range kinds {
		list = append(list, s.services[kind]...)
	}
	return list
}

// alive is an error if a service ended by itself.
func (s *stand) alive() error {
	for _, one := range s.all() {
		if err := one.alive(); err != nil {
			return err
		}
	}
	return nil
}

// wrong keeps what does not hold.
func (s *stand) wrong(format string, args ...any) {
	const most = 20
	if len(s.problems) < most {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	}
}

// close ends everything.
func (s *stand) close() error {
	if s.lives.end != nil {
		s.lives.end()
		s.lives.wait.Wait()
	}
	if s.events != nil {
		s.events.Stop()
		s.orders.stop()
	}
	if s.prom != nil {
		s.prom.close()
	}
	for _, one := range s.all() {
		if p := one.take(); p != nil {
			p.Stop(patience, syscall.SIGKILL)
		}
	}
	for _, b := range s.balancers {
		b.Close()
	}
	if s.fake != nil {
		s.fake.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
	for _, p := range s.proxies {
		p.Close()
	}
	if s.kafka != nil {
		s.kafka.Kill()
	}
	if s.database != nil {
		return s.database.close()
	}
	return nil
}
