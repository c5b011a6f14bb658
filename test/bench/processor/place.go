package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/bench/copied"
)

// place is where one store's records come from, and where a processor stores them.
type place struct {
	db       *copied.Database
	broker   *devstack.Broker
	producer *kafka.Producer
	company  string
}

// migrated makes a database with the schema.
func (b *bench) migrated(ctx context.Context, name string) (dsn string, err error) {
	if dsn, err = b.server.CreateDatabase(ctx, name); err == nil {
		err = postgres.Migrate(ctx, dsn)
	}
	return dsn, err
}

// openPlace makes a store in a migrated database, and a broker. stop closes both.
func (b *bench) openPlace(ctx context.Context, dsn string) (at *place, stop func() error, err error) {
	companies, err := createStores(ctx, dsn, 1, noCheck)
	if err != nil {
		return nil, nil, err
	}
	broker, client, stopBroker, err := b.startBroker(ctx)
	if err != nil {
		return nil, nil, err
	}
	db, err := copied.Open(ctx, dsn)
	if err != nil {
		stopBroker()
		return nil, nil, err
	}
	return &place{db, broker, kafka.NewProducer(client), companies[0]}, func() error {
		defer stopBroker()
		return db.Close(ctx)
	}, nil
}

// startProcessor starts the built processor. end ends it and waits for it.
func (b *bench) startProcessor(ctx context.Context, broker, dsn string) (pid int, end func() error, err error) {
	//nolint:gosec // built by us
	command := exec.CommandContext(ctx, b.binary, "processor", "--kafka-brokers", broker, "--addr", "127.0.0.1:0", "--log-level", "warn")
	command.Env, command.Stderr = append(os.Environ(), "TRIBUTARY_POSTGRES="+dsn), os.Stderr
	if err := command.Start(); err != nil {
		return 0, nil, err
	}
	return command.Process.Pid, func() error {
		_ = command.Process.Signal(syscall.SIGTERM)
		return command.Wait()
	}, nil
}
