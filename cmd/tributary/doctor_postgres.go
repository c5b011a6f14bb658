package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/processor"
)

// leastPostgres is the oldest version that the schema is made for (docs/operations.md).
const leastPostgres = 160000

// fewConnections is what one admin or processor may need besides those open now.
const fewConnections = 10

// staleOutbox is an age of the outbox's oldest record. The admin publishes
// records within a second: one that waits longer than this means that none runs.
const staleOutbox = time.Minute

// checkPostgres checks the server, and then what our tables say.
func (e *examination) checkPostgres(ctx context.Context, f *findings, client *kafka.Client, kafkaAnswers bool) {
	if e.dsn == "" {
		f.leftOut("PostgreSQL", "no --postgres is given")
		return
	}
	db, err := postgres.Open(ctx, e.dsn)
	if err != nil {
		f.fail("PostgreSQL", err.Error(), "correct --postgres")
		return
	}
	defer db.Close()
	asked := time.Now()
	state, err := db.ServerState(ctx)
	if err != nil {
		f.fail("PostgreSQL", err.Error(), "start it, or correct --postgres")
		return
	}
	checkServer(f, state)
	checkClock(f, "PostgreSQL", state.Now, asked, time.Now(), 0)
	pending, err := postgres.Pending(ctx, e.dsn)
	switch {
	case err != nil:
		f.fail("schema", err.Error(), "let this user read the schema")
		return
	case pending:
		f.fail("schema", "is older than this program", runMigrate)
		return
	}
	f.ok("schema", "up to date")
	if kafkaAnswers {
		checkOffsets(ctx, f, db, client)
	} else {
		f.leftOut("processor's offsets", "Kafka does not answer")
	}
	waiting, oldest, err := merchant.New(db).OutboxSize(ctx)
	switch {
	case err != nil:
		f.fail("outbox", err.Error(), "let this user read the tables")
	case waiting > 0 && time.Since(oldest) > staleOutbox:
		f.fail("outbox", fmt.Sprintf("%d records wait since %s: edges and processors do not know these changes", waiting, moment(oldest)), "start an admin; if one runs, its log says what keeps it")
	default:
		f.ok("outbox", fmt.Sprintf("%d records wait", waiting))
	}
}

// checkServer checks the server's version and settings.
func checkServer(f *findings, s postgres.ServerState) {
	const about = "PostgreSQL"
	before := f.failed
	if s.VersionNumber < leastPostgres {
		f.fail(about, "version "+s.Version+" is too old", "use version 16 or later")
	}
	if s.Encoding != "UTF8" {
		f.fail(about, "the database's encoding is "+s.Encoding+": texts of shops cannot be stored", "make the database with encoding 'UTF8'")
	}
	if s.ReadOnly {
		f.fail(about, "takes no writes: it is a standby, or read only", "give the address of the primary")
	}
	if !s.BtreeGist {
		f.fail(about, "the extension btree_gist is not installed on the server", "install PostgreSQL's contrib package")
	}
	if s.Fsync != "on" || s.FullPageWrites != "on" {
		f.fail(about, fmt.Sprintf("fsync is %s and full_page_writes %s: a crash of the machine destroys the database", s.Fsync, s.FullPageWrites), "set both to on")
	}
	if s.SynchronousCommit == "off" {
		f.fail(about, "synchronous_commit is off: a crash loses changes that were acknowledged", "set it to on, or to local or more where there are standbys")
	}
	if free := s.MaxConnections - s.Connections; free < fewConnections {
		f.warn(about, fmt.Sprintf("%d of %d connections are in use", s.Connections, s.MaxConnections), "raise max_connections, or lower pool_max_conns in --postgres of the services")
	}
	if f.failed == before {
		f.ok(about, fmt.Sprintf("version %s, %d of %d connections in use", s.Version, s.Connections, s.MaxConnections))
	}
}

// checkOffsets compares the processor's stored offsets with the log. It finds
// the same errors that the processor reports at its start.
func checkOffsets(ctx context.Context, f *findings, db *postgres.DB, client *kafka.Client) {
	const about = "processor's offsets"
	const repair = `see "A halted partition" in docs/operations.md`
	stored, err := factstore.New(db).Offsets(ctx)
	switch {
	case err != nil:
		f.fail(about, err.Error(), "let this user read the tables")
		return
	case len(stored) == 0:
		f.ok(about, "none yet: no processor has run")
		return
	}
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		f.fail(about, err.Error(), "see what is said of Kafka")
		return
	}
	group := kafka.NewGroup(client, processorGroup, nil, wire.TopicEvents, wire.TopicCommerce)
	behind, before := int64(0), f.failed
	for _, o := range stored {
		partition := fmt.Sprintf("%s/%d", o.Topic, o.Partition)
		if o.ClusterID != cluster {
			f.fail(about, fmt.Sprintf("%s: %v: %q, not %q", partition, facts.ErrOtherCluster, o.ClusterID, cluster), "give the --kafka-brokers of that cluster, or the database that belongs to this one")
			return
		}
		first, end, err := group.Bounds(ctx, o.Topic, o.Partition)
		switch {
		case err != nil:
			f.fail(about, err.Error(), "see what is said of Kafka and its topics")
			return
		case o.Next > end:
			f.fail(about, fmt.Sprintf("%s: %v: stored %d, log ends at %d", partition, processor.ErrPastEnd, o.Next, end), repair)
		case o.Next < first:
			f.fail(about, fmt.Sprintf("%s: %v: stored %d, log begins at %d", partition, processor.ErrRetained, o.Next, first), repair)
		default:
			behind += end - o.Next
		}
	}
	if f.failed == before {
		f.ok(about, fmt.Sprintf("%d records not yet applied", behind))
	}
}
