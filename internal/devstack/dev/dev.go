// Package dev is what `tributary dev` runs: an embedded Kafka broker, a real
// PostgreSQL, the three services, and the demo shop, on one machine.
//
// What may enter: starting, watching and stopping them, and the store that they
// show. The services themselves are handed in: only cmd imports them.
package dev

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/devstack"
	"github.com/tributary-io/tributary/internal/devstack/demo"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
)

// Config says where dev keeps and serves everything.
type Config struct {
	Dir string // keeps everything
	// host:port each; port 0 takes a free one
	EdgeAddr, AdminAddr, StorefrontAddr string
	// PostgresRepository is devstack.PostgresConfig's Repository.
	PostgresRepository string
	// Empty makes a store, keys and a log-in only: no catalogue, influencers or traffic.
	Empty bool
	Out   io.Writer // for who started dev
	Log   *slog.Logger
}

// Services are the parts of the program that dev runs. Each of the last three
// runs until its context ends.
type Services struct {
	// Listen is net.Listen on TCP, with an error that names the flag.
	Listen func(flag, addr string) (net.Listener, error)
	// Migrate brings the schema up to date and makes the topics.
	Migrate      func(ctx context.Context, dsn string, config kafka.Config, plan kafka.TopicPlan) error
	HashPassword func(password string) (hash string, err error)

	Processor, Admin, Edge func(ctx context.Context, e Environment) error
}

// Environment is what a service of dev is run with.
type Environment struct {
	Kafka       kafka.Config
	DSN         string
	Hasher      *identity.Hasher
	Log         *slog.Logger
	Listener    net.Listener // the service's own; nil for the processor
	TokenSecret []byte       // signs dashboard sessions
	ShortBase   string       // what stands before a short link's code, without scheme
	Snapshot    string       // file for the edge's directory
	// RewriteHosts is edge.Config's: the demo shop's host, and where it runs.
	RewriteHosts map[string]string
}

// program is what dev holds while it runs. Its parts are stopped in the reverse
// order of their start.
type program struct {
	Config
	services  Services
	listeners listeners
	secrets   *secrets
	broker    *devstack.Broker
	postgres  *devstack.Postgres
	dsn       string
	// postgresLog is the server's own log, to name where it ends by itself.
	postgresLog string
	hasher      *identity.Hasher
	tasks       []*background.Task
	info        Info
}

type listeners struct{ edge, admin, storefront net.Listener }

// Run starts everything, prints what there is, and waits for the end of ctx.
func Run(ctx context.Context, config Config, services Services) (err error) {
	p := &program{Config: config, services: services}
	if p.Dir, err = filepath.Abs(config.Dir); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	unlock, err := p.takeDirectory()
	if err != nil {
		return err
	}
	defer unlock()
	defer func() { err = p.stop(ctx, err) }()
	// Before anything slow: a taken port is known at once.
	if err := p.listen(); err != nil {
		return err
	}
	if p.secrets, err = openSecrets(filepath.Join(p.Dir, "secrets.json")); err != nil {
		return err
	}
	if p.hasher, err = identity.NewHasher([]byte(p.secrets.Hashing)); err != nil {
		return err
	}
	if err := p.startStores(ctx); err != nil {
		return err
	}
	if err := p.ensureStore(ctx); err != nil {
		return err
	}
	if err := p.startServices(ctx); err != nil {
		return err
	}
	sale, err := p.seed(ctx)
	if err != nil {
		return err
	}
	if err := writeJSON(p.infoFile(), p.info); err != nil {
		return err
	}
	p.print(sale)
	return p.wait(ctx)
}

func (p *program) infoFile() string { return filepath.Join(p.Dir, "dev.json") }

// seed fills an empty store, once, and returns the sale that came of it; none
// (no OrderID) with Empty. A start that was killed while it filled the store fills it again.
func (p *program) seed(ctx context.Context) (sale demo.Sale, err error) {
	if p.Empty && !p.secrets.Seeded {
		return sale, nil
	}
	store := demo.NewStore(p.info.EdgeURL, p.info.CompanyID, p.info.AdminURL, p.info.APIKey)
	if !p.secrets.Seeded {
		fmt.Fprintln(p.Out, "making a demo store: products, influencers, a little traffic")
		if err := store.Fill(ctx); err != nil {
			return sale, fmt.Errorf("fill the demo store: %w", err)
		}
		p.secrets.Seeded = true
		if err := p.secrets.save(); err != nil {
			return sale, err
		}
	}
	if sale, err = store.Sale(ctx); err != nil {
		return sale, fmt.Errorf("read the demo sale: %w", err)
	}
	return sale, nil
}
