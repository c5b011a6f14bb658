package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/internal/devstack"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
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
the same data. While all of it is ready, DIR/dev.json holds what a program needs.

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
	flags.StringVar(&config.adminAddr, "admin-addr", "127.0.0.1:7701", "address of the admin API and the dashboard; port 0 takes a free one")
	flags.StringVar(&config.storefrontAddr, "storefront-addr", "127.0.0.1:7702", "address of the demo shop; port 0 takes a free one")
	flags.StringVar(&config.postgresRepository, "postgres-repository", "", "URL of a Maven repository to download PostgreSQL from, where a mirror is needed")
	flags.BoolVar(&config.empty, "empty", false, "make a store, keys and a log-in only: no catalogue, influencers or traffic")
	logging.register(flags, "warn")
	return cmd
}

type devConfig struct {
	data                                string
	edgeAddr, adminAddr, storefrontAddr string
	postgresRepository                  string
	empty                               bool
}

// demoHost is the shop's address on paper: links must be https on a public
// host, so the edge rewrites this one to the demo shop at redirect.
const demoHost = "loja.example.com"

// Partitions of events.v1 and commerce.v1 in dev (docs/wire.md, "Other topics").
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
	// postgresLog is the server's own log, to name where it ends by itself.
	postgresLog string
	hasher      *identity.Hasher
	running     []*running
	info        devInfo
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
	d.postgresLog = filepath.Join(dir, "postgres.log")
	if elsewhere != "" {
		fmt.Fprintf(d.out, "PostgreSQL cannot reach %s as an unprivileged user: its data is in %s.\n", d.config.data, elsewhere)
	}
	var group errgroup.Group
	group.Go(func() (err error) {
		d.broker, err = devstack.StartBroker(devstack.BrokerConfig{Dir: filepath.Join(d.config.data, "kafka")})
		return err
	})
	group.Go(func() (err error) {
		d.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresConfig{
			Dir: dir, Repository: d.config.postgresRepository, Progress: progressOn(d.out),
		})
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
