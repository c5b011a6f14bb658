// Package shops is the part of `make prove` about connected shops: what the connect service takes from fake shops of all platforms,
// under faults, is in the end what the shops have.
//
// What may enter: starting and breaking the real programs, fake shops and what they saw. No service of ours is imported.
package shops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// patience bounds everything that is waited for; only what is broken takes so long.
const patience = 20 * time.Minute

// stand is Kafka, PostgreSQL and the services, each a process.
type stand struct {
	dir, binary string
	say         func(format string, args ...any)

	broker   *devstack.Broker
	kafkaAt  devstack.BrokerConfig
	server   *devstack.Postgres
	serverAt devstack.PostgresConfig
	dsn      string
	db       *postgres.DB
	rules    *merchant.Store

	env       []string
	admin     string // address of the admin API
	connectAt string // address that connect listens on
	arguments []string
	connect   *child.Process
	others    map[string]*child.Process
}

// newStand starts all but connect. Call close when done.
func newStand(ctx context.Context, dir, binary string, say func(string, ...any)) (s *stand, err error) {
	s = &stand{dir: dir, binary: binary, say: say, others: map[string]*child.Process{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	ports, err := freePorts(5)
	if err != nil {
		return s, err
	}
	if err := readable(dir); err != nil {
		return s, err
	}
	s.kafkaAt = devstack.BrokerConfig{Addr: address(ports[0]), Dir: filepath.Join(dir, "kafka")}
	s.serverAt = devstack.PostgresConfig{Dir: filepath.Join(dir, "postgres"), Port: ports[1],
		Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY")}
	if s.broker, err = devstack.StartBroker(s.kafkaAt); err != nil {
		return s, err
	}
	if s.server, err = devstack.StartPostgres(ctx, s.serverAt); err != nil {
		return s, err
	}
	if s.dsn, err = s.server.CreateDatabase(ctx, "prove"); err == nil {
		err = errors.Join(postgres.Migrate(ctx, s.dsn), s.makeTopics(ctx))
	}
	if err != nil {
		return s, err
	}
	if s.db, err = postgres.Open(ctx, s.dsn); err != nil {
		return s, err
	}
	s.rules = merchant.New(s.db)
	s.admin, s.connectAt = "http://"+address(ports[2]), address(ports[3])
	s.env = append(os.Environ(), "TRIBUTARY_KAFKA_BROKERS="+s.broker.Addr(), "TRIBUTARY_POSTGRES="+s.dsn,
		"TRIBUTARY_HASHING_SECRET="+strings.Repeat("h", 48), "TRIBUTARY_TOKEN_SECRET="+strings.Repeat("t", 48),
		"TRIBUTARY_SHUTDOWN_DELAY=0")
	edge := address(ports[4])
	for name, args := range map[string][]string{
		"admin":     {"--addr", address(ports[2]), "--short-base", edge + "/s"},
		"edge":      {"--addr", edge},
		"processor": {"--addr", "127.0.0.1:0"},
	} {
		if s.others[name], err = s.start(name, args...); err != nil {
			return s, err
		}
	}
	return s, s.ready(ctx, s.admin)
}

func (s *stand) makeTopics(ctx context.Context) error {
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{s.broker.Addr()}, ClientID: "prove"})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.EnsureTopics(ctx, kafka.TopicPlan{Partitions: 8, Replication: 1, MinInsyncReplicas: 1, KeepForever: true})
}

// readable lets PostgreSQL's account pass to dir, which is below a private directory.
func readable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
		return err
	}
	return os.Chmod(filepath.Dir(dir), 0o755) //nolint:gosec // likewise
}

// start starts a service; its output is kept in the stand's directory.
func (s *stand) start(name string, args ...string) (*child.Process, error) {
	//nolint:gosec // in our own directory
	output, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd := exec.Command(s.binary, append([]string{name}, args...)...) //nolint:gosec,noctx // the program to prove; package child ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, output, output
	return child.Start(cmd, syscall.SIGKILL)
}

// startConnect starts connect, or starts it again.
func (s *stand) startConnect() (err error) {
	s.connect, err = s.start("connect", s.arguments...)
	return err
}

// leaseLeft is what is left of a lease of a minute after a kill. It is long enough for what platforms allow to flow in again.
const leaseLeft = 15 * time.Second

// kill ends connect by SIGKILL. Without wait what it held is free after leaseLeft, else after its lease.
func (s *stand) kill(ctx context.Context, wait bool) error {
	s.connect.Stop(patience, syscall.SIGKILL)
	if wait {
		return nil
	}
	_, err := s.db.Pool().Exec(ctx, `update connection_turn set leased_until = now() + $1 where holder <> ''`, leaseLeft)
	return err
}

// kafkaAway stops Kafka and starts it again after a pause.
func (s *stand) kafkaAway(ctx context.Context, pause time.Duration) (err error) {
	s.broker.Stop()
	background.Sleep(ctx, pause)
	s.broker, err = devstack.StartBroker(s.kafkaAt)
	return err
}

// postgresAway stops PostgreSQL and starts it again after a pause.
func (s *stand) postgresAway(ctx context.Context, pause time.Duration) (err error) {
	s.server.Stop()
	background.Sleep(ctx, pause)
	s.server, err = devstack.StartPostgres(ctx, s.serverAt)
	return err
}

// alive is an error if a service ended by itself.
func (s *stand) alive() error {
	processes := maps.Clone(s.others)
	processes["connect"] = s.connect
	for name, p := range processes {
		if p == nil {
			continue
		}
		select {
		case <-p.Done():
			return fmt.Errorf("%s ended by itself: %w (%s)", name, errors.Join(errEnded, p.Err()), filepath.Join(s.dir, name+".log"))
		default:
		}
	}
	return nil
}

var errEnded = errors.New("unexpected end")

func (s *stand) close() {
	for _, p := range append(slices.Collect(maps.Values(s.others)), s.connect) {
		if p != nil {
			p.Stop(patience, syscall.SIGKILL)
		}
	}
	if s.db != nil {
		s.db.Close()
	}
	if s.broker != nil {
		s.broker.Stop()
	}
	if s.server != nil {
		s.server.Stop()
	}
}

// ready returns once a service answers that it is.
func (s *stand) ready(ctx context.Context, base string) error {
	client := &http.Client{Timeout: 5 * time.Second}
	return On{Alive: s.alive}.until(ctx, base+" is ready", func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it is asked again
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// freePorts are ports of loopback on which nobody listens now.
func freePorts(n int) (ports []int, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // all at the end: no port comes twice
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
