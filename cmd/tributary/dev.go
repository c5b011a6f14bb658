package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/internal/devstack"
	"github.com/tributary-io/tributary/internal/devstack/storefront"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/processor"
)

func newDev() *cobra.Command {
	var config devConfig
	var logging logFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with a demo shop, to try it out",
		Long: `Run everything on this machine: an embedded Kafka broker, a real PostgreSQL
(downloaded once), the edge, the admin API with the dashboard, the processor,
and a demo shop that uses them. The first start makes a store, keys and a
log-in, and sends a little traffic through the real doors; a later start finds
the same data. When all is ready, DIR/dev.json holds what a program needs.

It is for trying out, demos and tests. For real use, run edge, admin and
processor against an Apache Kafka and a PostgreSQL of your own.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logging.logger(cmd)
			if err != nil {
				return err
			}
			return runDev(cmd.Context(), config, cmd.OutOrStdout(), log)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.data, "data", "./data", "directory that keeps everything")
	flags.StringVar(&config.edgeAddr, "edge-addr", "127.0.0.1:7700", "address of the edge; port 0 takes a free one")
	flags.StringVar(&config.adminAddr, "admin-addr", "127.0.0.1:7701", "address of the admin API and the dashboard")
	flags.StringVar(&config.storefrontAddr, "storefront-addr", "127.0.0.1:7702", "address of the demo shop")
	flags.BoolVar(&config.empty, "empty", false, "make a store, keys and a log-in only: no catalogue, influencers or traffic")
	logging.register(flags, "warn")
	return cmd
}

type devConfig struct {
	data                                string
	edgeAddr, adminAddr, storefrontAddr string
	empty                               bool
}

// demoHost is the shop's address on paper: links must be https on a public
// host, so the edge rewrites this one to the demo shop at redirect.
const demoHost = "loja.example.com"

// Partitions of events.v1 and commerce.v1 in dev (wire.md).
const devPartitions = 8

// dev is what `tributary dev` holds while it runs. Its parts are stopped in the
// reverse order of their start.
type dev struct {
	config    devConfig
	out       io.Writer
	log       *slog.Logger
	listeners devListeners
	secrets   *devSecrets
	broker    *devstack.Broker
	postgres  *devstack.Postgres
	dsn       string
	hasher    *identity.Hasher
	running   []*running
	info      devInfo
}

type devListeners struct{ edge, admin, storefront net.Listener }

// runDev starts everything, tells what there is, and waits for ctx's end.
func runDev(ctx context.Context, config devConfig, out io.Writer, log *slog.Logger) (err error) {
	d := &dev{config: config, out: out, log: log}
	if d.config.data, err = filepath.Abs(config.data); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	unlock, err := d.takeDirectory()
	if err != nil {
		return err
	}
	defer unlock()
	defer func() { err = d.stop(ctx, err) }()
	// Before anything slow: a taken port is known at once.
	if err := d.listen(); err != nil {
		return err
	}
	if d.secrets, err = openSecrets(filepath.Join(d.config.data, "secrets.json")); err != nil {
		return err
	}
	if d.hasher, err = identity.NewHasher([]byte(d.secrets.Hashing)); err != nil {
		return err
	}
	if err := d.startStores(ctx); err != nil {
		return err
	}
	if err := d.ensureStore(ctx); err != nil {
		return err
	}
	if err := d.startServices(ctx); err != nil {
		return err
	}
	sale, err := d.seed(ctx)
	if err != nil {
		return err
	}
	if err := writeJSON(d.infoFile(), d.info); err != nil {
		return err
	}
	d.tell(sale)
	return d.wait(ctx)
}

func (d *dev) infoFile() string { return filepath.Join(d.config.data, "dev.json") }

// takeDirectory makes the data directory and locks it.
func (d *dev) takeDirectory() (unlock func(), err error) {
	// Passable for others, since PostgreSQL may run as another user; the files in it are private.
	if err := os.MkdirAll(d.config.data, 0o755); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	unlock, err = devstack.TryLock(filepath.Join(d.config.data, "dev.lock"))
	if errors.Is(err, devstack.ErrLocked) {
		return nil, fmt.Errorf("another `tributary dev` runs on %s: %w", d.config.data, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", d.config.data, err)
	}
	// A former start's, which others may be waiting to see anew.
	if err := os.Remove(d.infoFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		unlock()
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", d.config.data, err)
	}
	return unlock, nil
}

func (d *dev) listen() (err error) {
	for _, one := range []struct {
		flag, addr string
		listener   *net.Listener
	}{
		{"edge-addr", d.config.edgeAddr, &d.listeners.edge},
		{"admin-addr", d.config.adminAddr, &d.listeners.admin},
		{"storefront-addr", d.config.storefrontAddr, &d.listeners.storefront},
	} {
		if *one.listener, err = listen(one.flag, one.addr); err != nil {
			return err
		}
	}
	edgeURL, adminURL := origin(d.listeners.edge), origin(d.listeners.admin)
	d.info = devInfo{
		EdgeURL: edgeURL, ShortURL: edgeURL + "/s", StorefrontURL: origin(d.listeners.storefront),
		AdminURL: adminURL + "/admin/v1", SandboxURL: adminURL + "/sandbox/admin/v1", DashboardURL: adminURL + "/dashboard",
	}
	return nil
}

// reached is the host:port at which a listener is reached from this machine:
// one on all addresses (0.0.0.0, ::) is reached on loopback.
func reached(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(addr.Port))
	}
	return addr.String()
}

func origin(l net.Listener) string { return "http://" + reached(l) }

// startStores starts the broker and PostgreSQL side by side, and migrates.
func (d *dev) startStores(ctx context.Context) error {
	dir, elsewhere, err := devstack.ReachableDir(filepath.Join(d.config.data, "postgres"))
	if err != nil {
		return err
	}
	if elsewhere != "" {
		fmt.Fprintf(d.out, "PostgreSQL cannot reach %s as an unprivileged user: its data is in %s.\n", d.config.data, elsewhere)
	}
	var group errgroup.Group
	group.Go(func() (err error) {
		d.broker, err = devstack.StartBroker(devstack.BrokerConfig{Dir: filepath.Join(d.config.data, "kafka")})
		return err
	})
	group.Go(func() (err error) {
		d.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresConfig{Dir: dir, Progress: progressOn(d.out)})
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if d.dsn, err = d.postgres.CreateDatabase(ctx, "tributary"); err != nil {
		return err
	}
	d.info.Kafka, d.info.Postgres = d.broker.Addr(), d.dsn
	return migrate(ctx, d.dsn, d.kafka("migrate"), kafka.TopicPlan{
		Partitions: devPartitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true,
	})
}

func (d *dev) kafka(client string) kafka.Config {
	return kafka.Config{Brokers: []string{d.broker.Addr()}, ClientID: "tributary-" + client}
}

// progressOn shows slow steps: each once, a download at every tenth.
func progressOn(out io.Writer) func(step string, done, total int64) {
	var last string
	return func(step string, done, total int64) {
		text := step
		if total > 0 {
			text = fmt.Sprintf("%s: %d of %d MB", step, done*10/total*total/10>>20, total>>20)
		}
		if text != last {
			fmt.Fprintln(out, text)
			last = text
		}
	}
}

// startServices starts what a real installation runs, and the shop.
func (d *dev) startServices(ctx context.Context) error {
	shop, err := storefront.New(storefront.Config{
		EdgeURL: d.info.EdgeURL, CompanyID: d.info.CompanyID, AdminURL: d.info.AdminURL, APIKey: d.info.APIKey,
		Coupons: demoCoupons(), Log: d.log,
	})
	if err != nil {
		return err
	}
	d.start(ctx, service{"processor", func(ctx context.Context) error {
		return runProcessor(ctx, processorSetup{config: processor.Config{}, kafka: d.kafka("processor"), dsn: d.dsn, log: d.log})
	}})
	d.start(ctx, service{"admin", func(ctx context.Context) error {
		return runAdmin(ctx, adminSetup{
			config: admin.Config{
				ShortBase: reached(d.listeners.edge) + "/s", AcceptUnresolved: true,
				// Trying out includes importing a history; the real limits are for real shops.
				IngestRate: admin.Rate{PerSecond: 2000, Burst: 4000}, RuleRate: admin.Rate{PerSecond: 200, Burst: 400},
			},
			dashboard: dashboard.Config{TokenSecret: []byte(d.secrets.Token)},
			kafka:     d.kafka("admin"), dsn: d.dsn, hasher: d.hasher, listener: d.listeners.admin, log: d.log,
		})
	}})
	d.start(ctx, service{"edge", func(ctx context.Context) error {
		return runEdge(ctx, edgeSetup{
			config: edge.Config{
				SnapshotFile: filepath.Join(d.config.data, "directory.json"),
				RewriteHosts: map[string]string{demoHost: d.info.StorefrontURL},
			},
			kafka: d.kafka("edge"), hasher: d.hasher, listener: d.listeners.edge, log: d.log,
		})
	}})
	d.start(ctx, service{"storefront", func(ctx context.Context) error { return shop.Serve(ctx, d.listeners.storefront) }})
	for _, url := range []string{origin(d.listeners.admin) + "/readyz", d.info.EdgeURL + "/readyz", d.info.StorefrontURL} {
		if err := d.awaitOK(ctx, url); err != nil {
			return err
		}
	}
	return nil
}

func (d *dev) start(ctx context.Context, s service) {
	d.running = append(d.running, start(ctx, s, d.log))
}

// readyTimeout bounds a service's start: it has only to connect and to read the directory.
const readyTimeout = 60 * time.Second

// awaitOK waits until a URL answers 200, or a service ends.
func (d *dev) awaitOK(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	client := &http.Client{Timeout: 5 * time.Second}
	last := "no answer"
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			text, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			last = response.Status + " " + string(text)
		}
		if err := d.ended(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%s)", url, ctx.Err(), last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ended tells whether a part of us has ended by itself.
func (d *dev) ended() error {
	select {
	case <-d.postgres.Done():
		return errors.New("PostgreSQL ended by itself: see postgres.log in its data directory")
	default:
	}
	for _, r := range d.running {
		select {
		case <-r.done:
			if r.err != nil {
				return fmt.Errorf("%s: %w", r.name, r.err)
			}
			return fmt.Errorf("%s ended by itself", r.name)
		default:
		}
	}
	return nil
}

// wait returns nil at ctx's end, or the error of a part that ended before.
func (d *dev) wait(ctx context.Context) error {
	failed := make(chan struct{}, len(d.running)+1)
	watch := func(done <-chan struct{}) {
		select {
		case <-done:
			failed <- struct{}{}
		case <-ctx.Done():
		}
	}
	go watch(d.postgres.Done())
	for _, r := range d.running {
		go watch(r.done)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-failed:
		return d.ended()
	}
}

// stop ends everything in the reverse order of its start: the doors first,
// then what stands behind them.
func (d *dev) stop(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil
	if interrupted {
		fmt.Fprintln(d.out, "\nStopping …")
	}
	for i := len(d.running) - 1; i >= 0; i-- {
		// A part that failed has been told already; one that stops badly is told now.
		if stopErr := d.running[i].stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("%s: %w", d.running[i].name, stopErr)
		}
	}
	for _, l := range []net.Listener{d.listeners.edge, d.listeners.admin, d.listeners.storefront} {
		if l != nil {
			l.Close() // closed already where its service ran
		}
	}
	if d.broker != nil {
		d.broker.Stop()
	}
	if d.postgres != nil {
		d.postgres.Stop()
	}
	if interrupted && errors.Is(err, context.Canceled) {
		return nil // stopped while starting: as asked
	}
	return err
}

// openDB is a pool of dev's own, for what the services do not do.
func (d *dev) openDB(ctx context.Context) (*postgres.DB, error) { return postgres.Open(ctx, d.dsn) }
