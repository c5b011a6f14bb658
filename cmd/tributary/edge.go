package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/cmd/tributary/memory"
	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	sdkjs "github.com/tributary-io/tributary/sdk-js"
)

func newEdge() *cobra.Command {
	var common serviceFlags
	var public publicFlags
	var config edge.Config
	var former formerHashing
	var spooling spool.Config
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Run the collector: events, short links and the browser SDK's files",
		Long: `Run the collector. It needs Kafka alone: companies and short links come to it by
the topic directory.v1. It acknowledges an event once Kafka has it on all
in-sync replicas or, with --spool and while Kafka cannot take it, once it is on
this machine's disk.`,
		Example: `  tributary edge --kafka-brokers kafka-1:9092,kafka-2:9092 --hashing-secret-file hashing --snapshot directory.json ` +
			`--spool spool`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			setup := edgeSetup{config: config, spool: spooling}
			var wrong problems
			setup.service, err = common.read(cmd)
			wrong.add(err)
			setup.hasher, setup.previous, err = former.hashers(&public.hashing)
			wrong.add(err)
			setup.config.TrustedProxies, err = public.proxies.prefixes()
			wrong.add(err)
			wrong.add(public.tls.read(&setup.service))
			if err := wrong.err(); err != nil {
				return err
			}
			if err := public.listen(&common, &setup.service); err != nil {
				return err
			}
			memory.Tune(memory.Edge, os.LookupEnv, os.DirFS("/"))
			return runEdge(cmd.Context(), setup)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.Prefix, "prefix", "", "path before every route, for an edge behind a shop's own domain")
	flags.StringVar(&config.ShortPath, "short-path", "/s", "path of short links")
	flags.StringVar(&config.ShortHost, "short-host", "",
		"a host of its own for short links beside that of the admin's --short-base, which serves /<code>")
	flags.StringVar(&config.SnapshotFile, "snapshot", "", "file that keeps the directory, so that the edge starts with Kafka down")
	flags.StringVar(&spooling.Dir, "spool", "",
		"directory that keeps events while Kafka is away; edges of one machine may share it (default none: 503 while Kafka is away)")
	flags.Int64Var(&spooling.MaxBytes, "spool-bytes", defaultSpoolBytes, "most bytes that this edge keeps there")
	flags.Float64Var(&config.NetworkPerSecond, "network-events-per-second", 2000,
		"events a second that one network (/24, or /48 of IPv6) may send without an API key")
	flags.IntVar(&config.NetworkBurst, "network-burst", 20_000, "events that one network may send at once without an API key")
	flags.IntVar(&config.MaxConnsPerIP, "address-connections", 500,
		"most connections of one address (of IPv6: one /64), but for --trusted-proxy; of one network four times as many; -1: no bound")
	common.register(flags, "edge", "127.0.0.1:7700")
	public.register(flags, &config.DrainTimeout)
	former.register(flags)
	return cmd
}

// defaultSpoolBytes is spool.Config.MaxBytes' default.
const defaultSpoolBytes = 1 << 30

// edgeSetup is everything that runEdge needs.
type edgeSetup struct {
	service
	config edge.Config
	spool  spool.Config // no Dir: none
	hasher *identity.Hasher

	previous *identity.Hasher // whose signatures hold; nil: none
}

// runEdge serves until ctx ends.
func runEdge(ctx context.Context, s edgeSetup) (err error) {
	defer s.closeListeners()
	ctx, leaving, release := s.leave(ctx, "edge")
	defer release()
	s.config.Leaving = leaving
	client, err := kafka.NewClient(s.kafka)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := checkTopics(ctx, client, wire.TopicEvents, wire.TopicDirectory, wire.TopicRejected); err != nil {
		if !hasRun(s.config.SnapshotFile) {
			return err
		}
		s.log.Error("the edge goes on by its snapshot", "error", err)
	}
	files := sdkjs.Assets()
	if _, err := fs.Stat(files, "manifest.json"); errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("this binary was built without the browser SDK's files: use make build")
	}
	registry := newRegistry(s.internal != nil)
	ctx, stopped := watchStop(ctx, s.log, "edge", registry, stopMetrics{
		counted: map[string]string{
			"tributary_edge_requests_total": "requests", "tributary_edge_events_total": "events",
			"tributary_edge_spool_spooled_records_total": "spooled_records",
		},
		left: map[string]string{"tributary_edge_queued_bytes": "unsent_bytes", "tributary_edge_spool_bytes": "spool_bytes"},
	})
	defer func() { stopped(err) }()
	tracer, stopTracing, err := s.startTracing(ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	deps := edge.Deps{Registry: registry, Tracer: tracer, Producer: kafka.NewProducer(client), Directory: client, Hasher: s.hasher,
		Previous: s.previous, Assets: files, Logger: s.log}
	if s.spool.Dir != "" {
		s.spool.Log = s.log
		if deps.Spool, err = spool.Open(s.spool); err != nil { //nolint:contextcheck // the spool bounds its own flushes
			return err
		}
		defer func() { err = errors.Join(err, deps.Spool.Close()) }()
	}
	stopWatching, err := s.watchCertificate(ctx, "edge", registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopWatching()) }()
	if s.certificate != nil {
		s.config.TLS = s.certificate.Config()
	}
	s.config.Internal = s.internal != nil
	server, err := edge.New(s.config, deps)
	if err != nil {
		return err
	}
	stop := s.startInternal(ctx, server.Internal())
	return errors.Join(server.Serve(ctx, s.listener), stop())
}
