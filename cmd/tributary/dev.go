package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/dev"
	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/edge/spool"
)

func newDev() *cobra.Command {
	var config dev.Config
	var logging logFlags
	var shops shopFlags
	var show bool
	var fake string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with a demo shop, to try it out",
		Long: `Run everything on this machine: an embedded Kafka broker, a real PostgreSQL
(downloaded once), the edge, the admin API with the dashboard, the processor,
connect, and a demo shop that uses them. The first start makes a store, keys and a
log-in, and sends a little traffic over HTTP; a later start finds the same
data, and prints less; --show prints all of it again. While all of it is ready,
DIR/dev.json holds what a program needs.

It is for trying out, demos and tests. For real use, run edge, admin, processor
and connect against an Apache Kafka and a PostgreSQL of your own.`,
		Example: `  tributary dev --data ./data
  tributary dev --show`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if config.Log, err = logging.logger(cmd); err != nil {
				return err
			}
			config.Out, config.Program = cmd.OutOrStdout(), os.Args[0]
			var settings connect.Config
			if shops.contact == "" {
				shops.contact = "dev@example.com" // Nuvemshop refuses requests without an e-mail
			}
			if err := shops.into(&settings); err != nil {
				return err
			}
			config.Notices = len(settings.Options.Rewrite) > 0
			if err := checkFakePlatform(fake); err != nil {
				return err
			}
			if show {
				return dev.Show(cmd.Context(), config)
			}
			if fake != "" {
				end, err := startFakeShop(cmd.Context(), fake, &config, &settings)
				if err != nil {
					return err
				}
				defer end()
			}
			return dev.Run(cmd.Context(), config, devServices(settings))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Dir, "data", "./data", "directory that keeps everything")
	flags.StringVar(&config.EdgeAddr, "edge-addr", "127.0.0.1:7700", "address of the edge; port 0 takes a free one")
	flags.StringVar(&config.AdminAddr, "admin-addr", "127.0.0.1:7701", "address of the admin API and the dashboard; port 0 takes a free one")
	flags.StringVar(&config.StorefrontAddr, "storefront-addr", "127.0.0.1:7702", "address of the demo shop; port 0 takes a free one")
	flags.StringVar(&config.ConnectAddr, "connect-addr", "127.0.0.1:0",
		"address to which a fake of a platform sends notices; port 0 takes a free one")
	shops.register(flags)
	flags.StringVar(&fake, "fake-shop", "",
		"in a checkout: start a fake shop of a platform (nuvemshop, shopify, vtex, woocommerce or yampi) at 127.0.0.1:7706 to connect")
	flags.StringVar(&config.PostgresRepository, "postgres-repository", "",
		"URL of a Maven repository to download PostgreSQL from, where a mirror is needed")
	flags.BoolVar(&config.Empty, "empty", false, "make a store, keys and a log-in only: no catalogue, influencers or traffic")
	flags.BoolVar(&show, "show", false,
		"start nothing; print the addresses, keys, curl lines and exports of the dev that runs on --data again")
	logging.register(flags, "warn")
	return cmd
}

// devServices returns the services with the settings of dev: higher limits, and
// links to hosts that do not resolve.
func devServices(shops connect.Config) dev.Services {
	return dev.Services{
		Listen: listen, Migrate: migrate, HashPassword: login.HashPassword,
		Processor: func(ctx context.Context, e dev.Environment) error {
			return runProcessor(ctx, processorSetup{service: devService(e), dsn: e.DSN})
		},
		Admin: func(ctx context.Context, e dev.Environment) error {
			return runAdmin(ctx, adminSetup{
				config: admin.Config{
					ShortBase: e.ShortBase, AcceptUnresolved: true,
					// High enough to import a history.
					IngestRate: admin.Rate{PerSecond: 2000, Burst: 4000}, BulkRate: admin.Rate{PerSecond: 100, Burst: 200},
					RuleRate: admin.Rate{PerSecond: 200, Burst: 400},
				},
				dashboard: dashboard.Config{TokenSecret: e.TokenSecret, EdgeURL: "http://" + strings.TrimSuffix(e.ShortBase, "/s")},
				service:   devService(e), dsn: e.DSN, hasher: e.Hasher,
			})
		},
		Edge: func(ctx context.Context, e dev.Environment) error {
			return runEdge(ctx, edgeSetup{
				// All of dev's shoppers are on one machine: its network gets what a company gets. The embedded broker does
				// one thing at a time: the first events wait for all that a new store writes.
				config: edge.Config{SnapshotFile: e.Snapshot, RewriteHosts: e.RewriteHosts, NetworkPerSecond: 10_000,
					AwayAfter: 3 * time.Second},
				spool:   spool.Config{Dir: e.Spool},
				service: devService(e), hasher: e.Hasher,
			})
		},
		Connect: func(ctx context.Context, e dev.Environment) error {
			keys, err := connectKeysAt(e.ConnectKeys)
			if err != nil {
				return err
			}
			config := shops
			config.AdminURL, config.PublicURL = e.AdminURL, e.ConnectURL
			return runConnect(ctx, connectSetup{service: devService(e), config: config, dsn: e.DSN, keys: keys, drain: time.Second})
		},
	}
}

func devService(e dev.Environment) service {
	return service{kafka: e.Kafka, listener: e.Listener, log: e.Log}
}
