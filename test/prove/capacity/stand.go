package capacity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove/balance"
)

// patience bounds everything that is waited for; only what is broken takes so long.
const patience = 5 * time.Minute

// partitions of each topic: what `tributary migrate` makes.
const partitions = 64

// stand is a real Kafka and PostgreSQL, an edge, an admin and a processor, and stores.
type stand struct {
	dir      string
	kafka    *kafkadist.Broker
	server   *devstack.Postgres
	db       *postgres.DB
	services map[string]*child.Process
	addrs    map[string]string // of the services
	stores   []store
}

// store is one store's live company.
type store struct {
	company, key string
	link         string // code of the influencer's short link
}

const hashingSecret = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh" // of no installation

// newStand starts all of it. Call close when done.
func newStand(ctx context.Context, dir, binary string, stores int) (s *stand, err error) {
	s = &stand{dir: dir, services: map[string]*child.Process{}, addrs: map[string]string{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	// Not a private directory: PostgreSQL may run as nobody.
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
		return s, err
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // likewise
		return s, err
	}
	if s.kafka, err = kafkadist.Start(ctx, filepath.Join(dir, "kafka")); err != nil {
		return s, err
	}
	// The settings are PostgreSQL's own: it is durable, with autovacuum. Its WAL is kept until it was read.
	s.server, err = devstack.StartPostgres(ctx, devstack.PostgresConfig{Dir: filepath.Join(dir, "postgres"),
		Settings: map[string]string{"wal_keep_size": "4GB"}, Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY")})
	if err != nil {
		return s, err
	}
	dsn, err := s.server.CreateDatabase(ctx, "prove")
	if err == nil {
		err = errors.Join(postgres.Migrate(ctx, dsn), s.makeTopics(ctx))
	}
	if err != nil {
		return s, err
	}
	if s.db, err = postgres.Open(ctx, dsn); err != nil {
		return s, err
	}
	if _, err := s.db.Pool().Exec(ctx, "create extension pg_walinspect"); err != nil {
		return s, err
	}
	if err := s.makeStores(ctx, stores); err != nil {
		return s, err
	}
	env := append(os.Environ(), "TRIBUTARY_KAFKA_BROKERS="+s.kafka.Addr(), "TRIBUTARY_POSTGRES="+dsn,
		"TRIBUTARY_HASHING_SECRET="+hashingSecret, "TRIBUTARY_TOKEN_SECRET="+strings.Repeat("t", 48))
	names := []string{"edge", "admin", "processor"}
	addrs, err := kafkadist.FreeAddrs(len(names))
	if err != nil {
		return s, err
	}
	for i, name := range names {
		s.addrs[name] = addrs[i]
	}
	for name, args := range map[string][]string{
		"edge":      {"--spool", filepath.Join(dir, "spool"), "--trusted-proxy", "127.0.0.0/8"},
		"admin":     {"--short-base", s.addrs["edge"] + "/s"},
		"processor": nil,
	} {
		if err := s.start(binary, name, env, args); err != nil {
			return s, err
		}
	}
	return s, s.ready(ctx)
}

func (s *stand) makeTopics(ctx context.Context) error {
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{s.kafka.Addr()}, ClientID: "prove"})
	if err != nil {
		return err
	}
	defer client.Close()
	plan := kafka.TopicPlan{Partitions: partitions, Replication: 1, MinInsyncReplicas: 1}
	const tries = 3 // on a busy machine a leader may not be known yet
	for n := 0; ; n++ {
		if err = client.EnsureTopics(ctx, plan); err == nil || n == tries {
			return err
		}
		background.Sleep(ctx, time.Second)
	}
}

// makeStores makes stores, each with an influencer who has a link and gets 10 %.
func (s *stand) makeStores(ctx context.Context, n int) error {
	hasher, err := identity.NewHasher([]byte(hashingSecret))
	if err != nil {
		return err
	}
	rules := merchant.New(s.db)
	for i := range n {
		made, err := rules.CreateStore(ctx, commerce.NewStore{
			Name: fmt.Sprint("Loja ", i+1), Actor: "cli", Random: rand.Reader, KeyCheck: hasher.Check})
		if err != nil {
			return err
		}
		company := made.Live.CompanyID
		influencer, err := rules.RegisterInfluencer(ctx, commerce.Author{CompanyID: company, Actor: "cli", At: time.Now()},
			commerce.Registration{Name: "Ana Prado", Campaign: "Primavera", Links: []string{"https://loja.example.com/p/vestido"},
				Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2020-01-01"}}}, rand.Reader)
		if err != nil {
			return err
		}
		_, key, err := rules.CreateAPIKey(ctx, account.NewAPIKey{CompanyID: company, Name: "shop", Actor: "cli", Random: rand.Reader,
			Scopes: account.AdminScopes})
		if err != nil {
			return err
		}
		s.stores = append(s.stores, store{company: company, key: key, link: influencer.Codes[0]})
	}
	return nil
}

// start starts a service.
func (s *stand) start(binary, name string, env, args []string) error {
	//nolint:gosec // the names are ours
	output, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	//nolint:gosec,noctx // the program to prove; package child ends it
	cmd := exec.Command(binary, append([]string{name, "--addr", s.addrs[name], "--log-level", "warn"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, output, output
	s.services[name], err = child.Start(cmd, syscall.SIGKILL)
	return err
}

// ready returns once all services are, and the edge knows the stores.
func (s *stand) ready(ctx context.Context) error {
	for name, addr := range s.addrs {
		if err := s.until(ctx, name+" is ready", func() (bool, error) {
			is, _ := balance.Ready(ctx, addr)
			return is, nil
		}); err != nil {
			return err
		}
	}
	client := &http.Client{Timeout: time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, store := range s.stores {
		if err := s.until(ctx, "the edge knows "+store.company, func() (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addrs["edge"]+"/s/"+store.link, nil)
			if err != nil {
				return false, err
			}
			response, err := client.Do(request)
			if err != nil {
				return false, nil //nolint:nilerr // it is asked again
			}
			return response.StatusCode == http.StatusFound, response.Body.Close()
		}); err != nil {
			return err
		}
	}
	return nil
}

var errEnded = errors.New("unexpected end")

// until asks again and again until ok, for patience at most. An error of ok ends it, and so does the end of a service. It asks seldom: what
// the services do for it is measured too.
func (s *stand) until(ctx context.Context, what string, ok func() (bool, error)) error {
	return await.Poll(ctx, what, 500*time.Millisecond, patience, func() (bool, error) {
		for name, p := range s.services {
			select {
			case <-p.Done():
				return false, fmt.Errorf("%s ended by itself: %w (%s)", name, errors.Join(errEnded, p.Err()), filepath.Join(s.dir, name+".log"))
			default:
			}
		}
		return ok()
	})
}

func (s *stand) close() {
	for _, p := range s.services {
		if p != nil {
			p.Stop(patience, syscall.SIGKILL)
		}
	}
	if s.db != nil {
		s.db.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
	if s.kafka != nil {
		s.kafka.Kill()
	}
}
