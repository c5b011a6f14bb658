package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	sdkjs "github.com/tributary-io/tributary/sdk-js"
)

func newEdge() *cobra.Command {
	var addr, shortPath string
	var proxies proxyFlag
	var config edge.Config
	var broker kafkaFlags
	var hashing hashingFlags
	var logging logFlags
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Run the collector: events, short links and the browser SDK's files",
		Long: `Run the collector. It needs Kafka alone: companies and short links come to it by
the topic directory.v1. It acknowledges an event once Kafka has it on all
in-sync replicas.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logging.logger(cmd)
			if err != nil {
				return err
			}
			hasher, err := hashing.hasher()
			if err != nil {
				return err
			}
			kafkaConfig, err := broker.config("tributary-edge")
			if err != nil {
				return err
			}
			config.ShortPath = shortPath
			if config.TrustedProxies, err = proxies.prefixes(); err != nil {
				return err
			}
			listener, err := listen("addr", addr)
			if err != nil {
				return err
			}
			log.Info("edge listens", "addr", listener.Addr().String())
			return runEdge(cmd.Context(), edgeSetup{config, kafkaConfig, hasher, listener, log})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", "127.0.0.1:7700", "address to listen on")
	flags.StringVar(&config.Prefix, "prefix", "", "path before every route, for an edge behind a shop's own domain")
	flags.StringVar(&shortPath, "short-path", "/s", "path of short links")
	flags.StringVar(&config.ShortHost, "short-host", "", "a host of its own for short links, which serves /<code>")
	flags.StringVar(&config.SnapshotFile, "snapshot", "", "file that keeps the directory, so that the edge starts with Kafka down")
	proxies.register(flags)
	flags.DurationVar(&config.DrainTimeout, "drain", 0, "longest wait for requests in flight at the end (default 10s)")
	broker.register(flags)
	hashing.register(flags)
	logging.register(flags, "info")
	return cmd
}

// edgeSetup is what an edge is run with, alone or in dev.
type edgeSetup struct {
	config   edge.Config
	kafka    kafka.Config
	hasher   *identity.Hasher
	listener net.Listener
	log      *slog.Logger
}

// runEdge serves until ctx ends.
func runEdge(ctx context.Context, s edgeSetup) error {
	defer s.listener.Close()
	client, err := kafka.NewClient(s.kafka)
	if err != nil {
		return err
	}
	defer client.Close()
	files := sdkjs.Assets()
	if _, err := fs.Stat(files, "manifest.json"); errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("this binary was built without the browser SDK's files: use make build")
	}
	server, err := edge.New(s.config, edge.Deps{
		Producer: kafka.NewProducer(client), Directory: client, Hasher: s.hasher, Assets: files, Logger: s.log,
	})
	if err != nil {
		return err
	}
	return server.Serve(ctx, s.listener)
}
