package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
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
	if !checkSchemaAndRole(ctx, f, db) {
		return
	}
	e.checkStandby(ctx, f, db)
	if kafkaAnswers {
		e.checkOwner(ctx, f, db, client)
		checkOffsets(ctx, f, db, client)
	} else {
		f.leftOut("processor's offsets", "Kafka does not answer")
	}
	waiting, oldest, err := merchant.New(db).OutboxSize(ctx)
	switch {
	case err != nil:
		f.fail("outbox", err.Error(), "let this user read the tables")
	case waiting > 0 && time.Since(oldest) > staleOutbox:
		f.fail("outbox", fmt.Sprintf("%d records wait since %s: edges and processors do not know these changes", waiting, moment(oldest)),
			"start an admin; if one runs, its log says what keeps it")
	default:
		f.ok("outbox", fmt.Sprintf("%d records wait", waiting))
	}
	checkConnect(ctx, f, merchant.New(db))
}

// checkStandby tells whether reports can be read from the standby of --postgres-read.
func (e *examination) checkStandby(ctx context.Context, f *findings, db *postgres.DB) {
	const about = "standby"
	if e.read == "" { // few have one
		return
	}
	const do = "reports are read from the primary meanwhile; see to the standby, or correct --postgres-read"
	standby, err := report.OpenStandby(ctx, e.read, report.New(db), slog.New(slog.DiscardHandler))
	if err != nil {
		f.fail(about, err.Error(), do)
		return
	}
	defer standby.Close()
	var age time.Duration
	for range 5 { // it may need a moment for what the primary has written just now
		if age, err = standby.Look(ctx); err == nil {
			f.ok(about, fmt.Sprintf("%v behind at most", age.Round(time.Millisecond)))
			return
		}
		background.Sleep(ctx, 200*time.Millisecond)
	}
	f.warn(about, err.Error(), do)
}

// checkConnect tells whether a connect service runs, where one ever did.
func checkConnect(ctx context.Context, f *findings, db *merchant.Store) {
	offer, err := db.ConnectOffer(ctx)
	switch {
	case err != nil:
		f.fail("connect", err.Error(), "let this user read the tables")
	case offer.SeenAt.IsZero():
		f.ok("connect", "it has never run here: no shop is connected")
	case time.Since(offer.SeenAt) > serviceGone:
		f.fail("connect", "it last ran at "+moment(offer.SeenAt)+": orders wait at the shops' platforms", "start `tributary connect`")
	default:
		f.ok("connect", fmt.Sprintf("it runs, with %d platforms", len(offer.Platforms)))
	}
}

// checkSchemaAndRole tells whether this program may use the schema, by its versions. What the role may not do is
// told too.
func checkSchemaAndRole(ctx context.Context, f *findings, db *postgres.DB) bool {
	const grant = "run `tributary migrate --grant ROLE` as the owner of the tables (docs/operations.md, Roles)"
	state, err := db.Schema(ctx)
	if errors.Is(err, postgres.ErrPrivileges) {
		f.fail("privileges", err.Error(), grant)
		return false
	}
	if err != nil {
		f.fail("schema", err.Error(), "let this user read the schema")
		return false
	}
	switch err := state.Problem(); {
	case errors.Is(err, postgres.ErrOldSchema):
		f.fail("schema", "is older than this program", runMigrate)
		return false
	case errors.Is(err, postgres.ErrFormer):
		f.fail("schema", err.Error(), "make a new database")
		return false
	case err != nil:
		f.fail("schema", err.Error(), "use the newer program; services of this one end")
		return false
	case state.Version > state.Known:
		f.remark("schema", fmt.Sprintf("version %d is newer than this program, which is of %d and may use it: it takes programs of %d and later",
			state.Version, state.Known, state.Oldest))
	default:
		f.ok("schema", fmt.Sprintf("up to date, version %d", state.Version))
	}
	if err := db.Privileges(ctx); err != nil {
		f.fail("privileges", err.Error(), grant)
	} else {
		f.ok("privileges", "this role may do what services do")
	}
	return true
}

// checkServer checks the server's version and settings.
func checkServer(f *findings, s postgres.ServerState) {
	const about = "PostgreSQL"
	before := f.Failed
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
		f.fail(about, fmt.Sprintf("fsync is %s and full_page_writes %s: a crash of the machine destroys the database", s.Fsync, s.FullPageWrites),
			"set both to on")
	}
	if s.SynchronousCommit == "off" {
		f.fail(about, "synchronous_commit is off: a crash loses changes that were acknowledged",
			"set it to on, or to local or more where there are standbys")
	}
	if free := s.MaxConnections - s.Connections; free < fewConnections {
		f.warn(about, fmt.Sprintf("%d of %d connections are in use", s.Connections, s.MaxConnections),
			"raise max_connections, or lower pool_max_conns in --postgres of the services")
	}
	if f.Failed == before {
		f.ok(about, fmt.Sprintf("version %s, %d of %d connections in use", s.Version, s.Connections, s.MaxConnections))
	}
}

// checkOffsets compares the processor's stored offsets with the log. It finds
// the same errors that the processor reports at its start.
func checkOffsets(ctx context.Context, f *findings, db *postgres.DB, client *kafka.Client) {
	const about = "processor's offsets"
	list, err := places(ctx, factstore.New(db), kafka.NewGroup(client, processorGroup, nil, wire.Processed...),
		func(*facts.StoredOffset) bool { return true })
	switch {
	case err != nil:
		f.fail(about, err.Error(), "see what is said of Kafka and its topics; let this user read the tables")
		return
	case len(list) == 0:
		f.ok(about, "none yet: no processor has run")
		return
	}
	behind, before := int64(0), f.Failed
	for i := range list {
		switch p := &list[i]; {
		case errors.Is(p.halted, facts.ErrOtherCluster):
			f.fail(about, fmt.Sprintf("%s: %v", p, p.halted), "give the --kafka-brokers of that cluster, or the database that belongs to this one")
			return
		case p.halted != nil:
			f.fail(about, p.halted.Error(),
				`see "A halted partition" in docs/operations.md; if the records are lost for good: tributary offsets reset`)
		default:
			behind += p.end - p.Next
		}
	}
	if f.Failed == before {
		f.ok(about, fmt.Sprintf("%d records not yet applied", behind))
	}
}

// checkOwner tells whether the topics belong to the database's installation.
func (e *examination) checkOwner(ctx context.Context, f *findings, db *postgres.DB, client *kafka.Client) {
	const about = "installation"
	id, owner, err := checkInstallation(ctx, client, db)
	switch {
	case errors.Is(err, errOtherInstallation):
		f.fail(about, err.Error(), "stop the services that have the wrong address of the two")
	case err != nil:
		f.fail(about, err.Error(), "see what is said of Kafka and PostgreSQL")
	case owner.id == "":
		f.warn(about, "the directory does not name it: services of another installation would take these topics for theirs", runMigrate)
	default:
		f.ok(about, id)
		checkRestored(ctx, f, client, db)
	}
	switch blocked, err := merchant.New(db).Restored(ctx); {
	case err != nil:
		f.fail("paying", err.Error(), "let this user read the tables")
	case len(blocked) > 0:
		f.warn("paying", fmt.Sprintf("blocked in %d companies, such as %s: changes of them are lost, since the database was restored "+
			"from a backup", len(blocked), blocked[0]),
			"let their owners confirm on the dashboard's page Statements")
	}
}

// mostNamed bounds the differences that doctor names.
const mostNamed = 20

// checkRestored compares the directory with the database: where it is ahead, the database was restored.
func checkRestored(ctx context.Context, f *findings, client *kafka.Client, db *postgres.DB) {
	const about = "directory"
	list, _, err := compareDirectory(ctx, client, db)
	if err != nil {
		f.fail(about, err.Error(), "see what is said of Kafka and PostgreSQL")
		return
	}
	for _, d := range list[:min(mostNamed, len(list))] {
		f.fail(about, d.key+" "+d.what, `the database was restored from a backup: see "Backup and restore" in docs/operations.md`)
	}
	switch {
	case len(list) > mostNamed:
		f.fail(about, fmt.Sprintf("%d more differ", len(list)-mostNamed), "tributary directory show")
	case len(list) == 0:
		f.ok(about, "has nothing that PostgreSQL does not have")
	}
}
