package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/admin/mail"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
)

func newAdmin() *cobra.Command {
	var common serviceFlags
	var public publicFlags
	var database postgresFlags
	var config admin.Config
	var publicURL, edgeURL string
	var tokens, formerTokens secretFlag
	var former formerHashing
	var smtp smtpFlags
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Run the admin API and the dashboard",
		Long: `Run the admin API (live at /admin/v1, sandbox at /sandbox/admin/v1) and the
dashboard (/dashboard/). It needs Kafka and PostgreSQL. Several may run; one at
a time publishes the directory and the rules' changes.`,
		Example: `  tributary admin --short-base go.example.com --postgres "$DSN" --hashing-secret-file hashing --token-secret-file token`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			setup := adminSetup{config: config, dashboard: dashboard.Config{PublicURL: publicURL, EdgeURL: edgeURL}}
			var wrong problems
			setup.service, err = common.read(cmd)
			wrong.add(err)
			if config.ShortBase == "" {
				wrong.add(errors.New("give --short-base or $" + environmentName("short-base")))
			}
			setup.dsn, err = database.require()
			wrong.add(err)
			setup.read = database.read
			setup.hasher, setup.previous, err = former.hashers(&public.hashing)
			wrong.add(err)
			trusted, err := public.proxies.prefixes()
			wrong.add(err)
			setup.trusted, setup.config.ClientIP = trusted, forwardedFor(trusted)
			setup.dashboard.ClientIP = setup.config.ClientIP
			setup.dashboard.TokenSecret, err = tokens.require()
			wrong.add(err)
			setup.dashboard.PreviousTokenSecret, err = formerTokens.read()
			wrong.add(err)
			setup.mail, err = smtp.config(publicURL)
			wrong.add(err)
			wrong.add(public.tls.read(&setup.service))
			if err := wrong.err(); err != nil {
				return err
			}
			if err := public.listen(&common, &setup.service); err != nil {
				return err
			}
			return runAdmin(cmd.Context(), setup)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.ShortBase, "short-base", "",
		"the part of a short link before its code, without scheme: go.example.com or edge.example.com/s")
	flags.StringVar(&publicURL, "public-url", "",
		"where browsers reach the dashboard; with https its cookies are Secure behind a proxy that ends TLS")
	flags.StringVar(&edgeURL, "edge-url", "",
		"where shops load the script from, https://collect.example.com: for the snippet that the dashboard shows")
	flags.IntVar(&config.IngestRate.PerSecond, "ingest-rate", 100, "orders and products a key may send a second")
	flags.IntVar(&config.IngestRate.Burst, "ingest-burst", 200, "orders and products a key may send at once")
	flags.IntVar(&config.BulkRate.PerSecond, "bulk-rate", 10, "requests of many orders a key may send a second")
	flags.IntVar(&config.BulkRate.Burst, "bulk-burst", 20, "requests of many orders a key may send at once")
	flags.IntVar(&config.RuleRate.PerSecond, "rule-rate", 10, "other requests a key may send a second")
	flags.IntVar(&config.RuleRate.Burst, "rule-burst", 40, "other requests a key may send at once")
	common.register(flags, "admin", "127.0.0.1:7701")
	public.register(flags, &config.ShutdownTimeout)
	former.register(flags)
	database.register(flags)
	database.registerRead(flags)
	tokens.register(flags, "token-secret", "the secret that signs dashboard sessions, at least 32 bytes")
	required(flags, "short-base", "token-secret-file")
	formerTokens.register(flags, "previous-token-secret", "the former token secret: sessions that it signed stay valid")
	smtp.register(flags)
	return cmd
}

// adminSetup is everything that runAdmin needs.
type adminSetup struct {
	service
	config    admin.Config
	dashboard dashboard.Config // runAdmin sets its ShortBase
	dsn       string
	read      string // of a standby; may be empty
	hasher    *identity.Hasher
	previous  *identity.Hasher // whose signatures hold; nil: none
	trusted   []netip.Prefix   // proxies
	mail      *mail.Config     // nil: no mails are sent
}

// runAdmin serves until ctx ends.
func runAdmin(ctx context.Context, s adminSetup) (err error) {
	defer s.closeListeners()
	ctx, leaving, release := s.leave(ctx, "admin")
	defer release()
	s.config.Leaving = leaving
	client, err := kafka.NewClient(s.kafka)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := errors.Join(checkTopics(ctx, client, wire.Topics...), checkSchema(ctx, s.dsn)); err != nil {
		return err
	}
	db, err := openStores(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	registry := newRegistry(s.internal != nil)
	reads, stopReading, err := s.readStandby(ctx, db, registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopReading()) }()
	if err := refuseOtherTopics(ctx, client, db.db); err != nil {
		return err
	}
	secret := secretCheck{log: s.log, client: client, hasher: s.hasher}
	if err := whereKafkaAnswers(ctx, client, secret.ask); err != nil && !errors.Is(err, admin.ErrWrongHashingSecret) {
		s.log.Warn("it is not known yet whether the hashing secret is the directory's", "error", err)
	}
	block := func(ctx context.Context) error { return blockPaying(ctx, s.log, client, db.db) }
	if err := whereKafkaAnswers(ctx, client, block); err != nil {
		s.log.Warn("it is not known yet whether the database was restored from a backup", "error", err)
	}
	ctx, foreign := watchOwner(ctx, s.log, client, db.db)
	defer func() { err = errors.Join(foreign(), err) }()
	ctx, refused := watchSchema(ctx, s.log, db.db)
	defer func() { err = errors.Join(refused(), err) }()
	s.dashboard.ShortBase = s.config.ShortBase
	var api *admin.Server // made below
	pages, err := dashboard.New(s.dashboard, dashboard.Deps{
		Database: db, Reports: reads, Log: s.log, Hasher: s.hasher, Previews: db, Events: client, Rules: cases.NewReader(db.db),
		CheckLinks: func(ctx context.Context, urls []string) []error { return api.CheckLinks(ctx, urls) },
		OnKafka:    func(ctx context.Context, companyID string) error { return api.OnKafka(ctx, companyID) },
		AddEntry: func(ctx context.Context, author commerce.Author, e commerce.NewEntry) error {
			return api.AddEntry(ctx, author, e)
		},
		Hints: func(ctx context.Context, handle func([]byte) error) error {
			return client.Follow(ctx, wire.TopicResults, 0, kafka.FromLast,
				func(_ int64, r kafka.Record) error { return handle(r.Value) }, nil)
		},
	})
	if err != nil {
		return err
	}
	batcher := produce.NewBatcher(kafka.NewProducer(client), produce.Config{Log: s.log})
	defer func() {
		// What is still queued was answered 503 already, so a short time is enough.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		batcher.Close(limited)
	}()
	s.config.Internal = s.internal != nil
	ctx, stopped := watchStop(ctx, s.log, "admin", registry, stopMetrics{counted: map[string]string{
		"tributary_admin_requests_total": "requests", "tributary_admin_outbox_published_total": "outbox_records",
	}})
	defer func() { stopped(err) }()
	stopWatching, err := s.watchCertificate(ctx, "admin", registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopWatching()) }()
	tracer, stopTracing, err := s.startTracing(ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	api, err = admin.New(s.config, admin.Deps{
		Metrics: registry, Tracer: tracer, Database: db, Reports: reads, Names: db, Previews: db, Links: pages, Producer: batcher,
		Hasher:   s.hasher,
		Previous: s.previous, Log: s.log,
		BeforePublishing: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, installationTimeout)
			defer cancel()
			if err := secret.beforePublishing(ctx); err != nil {
				return err
			}
			return block(ctx)
		},
		Secret: secret.state,
		Checks: map[string]func(context.Context) error{
			"postgres":       db.db.Ping,
			"privileges":     db.db.Privileges,
			"hashing_secret": secret.state,
			"kafka": func(ctx context.Context) error {
				_, err := client.Partitions(ctx, wire.TopicCommerce)
				return err
			},
		},
	})
	if err != nil {
		return err
	}
	stopMail, err := startMail(ctx, s.mail, db, s.dashboard.TokenSecret, s.dashboard.PreviousTokenSecret, s.log, registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMail()) }()
	asking := background.Start(ctx, s.log, "hashing secret", secret.run)
	defer func() { err = errors.Join(err, asking.Stop()) }()
	sockets := background.Start(ctx, s.log, "live", pages.Run)
	// The pages' sockets end first: the server's shutdown would wait for them.
	stop := context.AfterFunc(ctx, sockets.Cancel)
	defer stop()
	stopInternal := s.startInternal(ctx, api.Internal())
	listener, handler := api.Admitted(s.listener, s.trusted), admin.Mux(api, pages)
	if s.certificate != nil {
		listener, handler = tls.NewListener(listener, s.certificate.Config()), strict(handler)
	}
	err = api.Serve(ctx, listener, handler)
	return errors.Join(err, sockets.Stop(), stopInternal())
}
