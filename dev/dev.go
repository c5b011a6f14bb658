// Package dev is the program behind `tributary dev`: an embedded Kafka broker, a
// real PostgreSQL, the four services and the demo shop on one machine.
//
// What may enter: starting, watching and stopping them, and making the demo's
// store. The services are passed in as functions: only cmd imports them.
package dev

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"

	"github.com/tributary-io/tributary/dev/demo"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
)

// Config says where dev keeps its data and where it listens.
type Config struct {
	Program string // how this program was called, for messages
	Dir     string // holds all data
	// host:port each; port 0 takes a free port
	EdgeAddr, AdminAddr, StorefrontAddr, ConnectAddr string
	// Notices says that shops' platforms reach connect: fakes on this machine do.
	Notices bool
	// FakeShop is a shop that stands for a platform's; nil: there is none.
	FakeShop *FakeShop
	// PostgresRepository is devstack.PostgresConfig's Repository.
	PostgresRepository string
	// Empty makes a store, keys and a log-in only: no catalogue, influencers or traffic.
	Empty bool
	Out   io.Writer // messages for the person who started dev
	Log   *slog.Logger
}

// FakeShop is a running fake of a shop at a platform.
type FakeShop struct {
	Platform string
	URL      string            // of its storefront; its admin is at /shop-admin
	Keys     map[string]string // by which it is connected
}

// Services are the functions of the program that dev needs. Processor, Admin, Edge
// and Connect run until their context ends.
type Services struct {
	// Listen is net.Listen on TCP, with an error that names the flag.
	Listen func(flag, addr string) (net.Listener, error)
	// Migrate brings the schema up to date and makes the topics.
	Migrate      func(ctx context.Context, dsn string, config kafka.Config, plan kafka.TopicPlan) error
	HashPassword func(password string) (hash string, err error)

	Processor, Admin, Edge, Connect func(ctx context.Context, e Environment) error
}

// Environment is what dev passes to a service.
type Environment struct {
	Kafka       kafka.Config
	DSN         string
	Hasher      *identity.Hasher
	Log         *slog.Logger
	Listener    net.Listener // of this service; nil for the processor
	TokenSecret []byte       // signs dashboard sessions
	ShortBase   string       // the part of a short link before its code, without scheme
	Snapshot    string       // file in which the edge keeps its directory
	Spool       string       // directory in which the edge keeps events while Kafka is away
	// RewriteHosts is for edge.Config: the demo shop's host, and its real address.
	RewriteHosts map[string]string
	AdminURL     string // without a path
	ConnectURL   string // where platforms reach connect; empty: they do not
	ConnectKeys  string // file of connect's keys, which it makes where there is none
}

// program is a running dev. Its parts are stopped in the reverse order of their
// start.
type program struct {
	Config
	services  Services
	listeners listeners
	secrets   *secrets
	broker    *devstack.Broker
	postgres  *devstack.Postgres
	dsn       string
	// postgresLog is the server's log file, which the error names if it ends.
	postgresLog string
	hasher      *identity.Hasher
	tasks       []*background.Task
	info        Info
	known       bool     // an earlier start was ready, and printed all there is
	archived    []string // companies whose requests are refused
}

type listeners struct{ edge, admin, storefront, connect net.Listener }

// Run starts everything, prints what there is, and waits for the end of ctx.
func Run(ctx context.Context, config Config, services Services) (err error) {
	p := &program{Config: config, services: services}
	if p.Dir, err = filepath.Abs(config.Dir); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	unlock, err := p.lockDirectory()
	if err != nil {
		return err
	}
	defer unlock()
	defer func() { err = p.stop(ctx, err) }()
	if err := p.listen(); err != nil {
		return err
	}
	if p.secrets, err = openSecrets(p.secretsFile()); err != nil {
		return err
	}
	if p.hasher, err = identity.NewHasher([]byte(p.secrets.Hashing)); err != nil {
		return err
	}
	p.known = p.secrets.Shown
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
	p.print(sale) // first: who waits for the file may read what was printed
	if err := writeJSON(p.infoFile(), p.info); err != nil {
		return err
	}
	if !p.known {
		p.secrets.Shown = true
		if err := p.secrets.save(); err != nil {
			return err
		}
	}
	return p.wait(ctx)
}

func (p *program) infoFile() string { return filepath.Join(p.Dir, "dev.json") }

func (p *program) secretsFile() string { return filepath.Join(p.Dir, "secrets.json") }

// seed fills an empty store, once, and returns the attributed sale. With Empty it
// does nothing, and the sale has no OrderID; likewise for an archived company. After a start that was killed while
// it filled the store, the next one fills it again.
func (p *program) seed(ctx context.Context) (sale demo.Sale, err error) {
	if p.Empty && !p.secrets.Seeded || slices.Contains(p.archived, p.info.CompanyID) {
		return sale, nil
	}
	store := demo.NewStore(p.info.EdgeURL, p.info.CompanyID, p.info.AdminURL, p.info.APIKey)
	if !p.secrets.Seeded {
		fmt.Fprintln(p.Out, "making a demo store: three months of visits and orders, twelve influencers, statements")
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
