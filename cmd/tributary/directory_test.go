package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// publishDirectory publishes what a database has, as an admin does.
func publishDirectory(t *testing.T, broker, dsn string) {
	t.Helper()
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	producer := kafka.NewProducer(newClient(t, broker))
	err = db.Directory(t.Context(), func(page []account.OutboxRecord) error {
		for _, r := range page {
			if err := producer.Publish(t.Context(), r.Topic, []byte(r.Key), r.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copyOf makes a copy of a database, as a cold backup is one.
func copyOf(t *testing.T, dsn string) (backup string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(dsn, "/"+config.Database)
	name := config.Database + "_backup"
	server := dsn[:at] + "/postgres" + dsn[at+1+len(config.Database):]
	execute(t, server, "create database "+name+" template "+config.Database)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), server)
		if err == nil {
			_, err = conn.Exec(context.Background(), "drop database "+name+" with (force)")
			conn.Close(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return dsn[:at+1] + name + dsn[at+1+len(config.Database):]
}

// TestAfterARestoreTheDirectoryIsComparedAndPruned: after the backup a store was made, a key was
// revoked and a setting was changed. Then the backup is used.
func TestAfterARestoreTheDirectoryIsComparedAndPruned(t *testing.T) {
	live, dsn := installation(t)
	broker := devtest.Kafka(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	f := func(status int, want string, args ...string) string {
		t.Helper()
		out, got := command(t, args...)
		if got != status || !strings.Contains(out, want) {
			t.Errorf("%s: exit status %d and\n%s\nwant %d and %s", strings.Join(args, " "), got, out, status, want)
		}
		return out
	}
	f(0, "up to date", "migrate", "--partitions", "8", "--replication", "1", "--min-insync-replicas", "1")
	f(0, "", "keys", "create", "erp", "--company", live.CompanyID)
	publishDirectory(t, broker, dsn)
	f(0, "nothing was removed", "directory", "prune", "--yes")
	backup := copyOf(t, dsn)

	second := f(0, "", "company", "create", "Loja 2")
	var gone string
	for line := range strings.Lines(second) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "live" {
			gone = words[1]
		}
	}
	var keyID string
	for line := range strings.Lines(f(0, "erp", "keys", "list", "--company", live.CompanyID)) {
		if words := strings.Fields(line); strings.Contains(line, "erp") {
			keyID = words[0]
		}
	}
	f(0, "", "keys", "revoke", keyID, "--company", live.CompanyID)
	publishDirectory(t, broker, dsn)
	p := &patient{t, oneBroker(broker)}
	p.dsn = dsn
	p.finds("ok", "directory", "nothing that PostgreSQL does not have")

	t.Setenv("TRIBUTARY_POSTGRES", backup)
	p.dsn = backup
	p.finds("FAIL", "directory", wire.CompanyKeyPrefix+gone+" PostgreSQL does not have it")
	p.finds("FAIL", "directory", endedThere+": "+keyID+" of "+live.CompanyID)
	p.finds("FAIL", "directory", wire.CompanyKeyPrefix+live.CompanyID+" is newer")
	f(0, gone, "directory", "show")
	f(1, keyID+" of "+live.CompanyID+" had ended: it is revoked again", "directory", "prune")
	if out := f(0, gone, "directory", "show"); strings.Contains(out, endedThere) {
		t.Errorf("the key has ended:\n%s", out)
	}
	if out := f(1, "give --yes", "directory", "prune"); strings.Contains(out, keyID) {
		t.Errorf("it is revoked already:\n%s", out)
	}
	pruned := reported[pruneReport](t, 0, "directory", "prune", "--yes")
	if len(pruned.Removed) != 2 || !slices.Contains(pruned.Removed, wire.CompanyKeyPrefix+gone) ||
		len(pruned.Revoked)+len(pruned.Blocked) != 0 {
		t.Errorf("pruned: %+v", pruned)
	}
	if out := f(0, "", "directory", "show"); strings.Contains(out, gone) {
		t.Errorf("still there:\n%s", out)
	}

	execute(t, backup, `update installation set installation_id = 'i_other'`)
	f(1, "belong to another installation", "directory", "prune", "--yes")
}

// The directory has a key's end as a time, which may lie ahead, or a day after it as a tombstone.
func TestAKeyThatTheDirectoryEndsSoonerIsFound(t *testing.T) {
	now := time.Now()
	f := func(theirs, ours []byte, want bool) {
		t.Helper()
		if ended, sooner := endedOnlyThere(theirs, ours); sooner != want || want && ended.keyID != "key_1" {
			t.Errorf("%s, and PostgreSQL has %s: %+v %v, want %v", theirs, ours, ended, sooner, want)
		}
	}
	key := func(revoked, expires time.Duration) []byte {
		k := wire.APIKey{V: 1, CompanyID: "c_1", KeyID: "key_1"}
		for _, end := range []struct {
			in time.Duration
			at **time.Time
		}{{revoked, &k.RevokedAt}, {expires, &k.ExpiresAt}} {
			if at := now.Add(end.in); end.in != 0 {
				*end.at = &at
			}
		}
		value, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	const ago, soon, late = -time.Hour, time.Hour, 2 * time.Hour
	f(key(0, 0), key(0, 0), false)
	f(key(ago, 0), key(0, 0), true)
	f(key(soon, 0), key(0, 0), true)
	f(key(soon, 0), key(soon, 0), false)
	f(key(soon, 0), key(0, late), true)
	f(key(late, 0), key(0, soon), false)
	f(key(0, ago), key(0, 0), true)
	f(key(late, soon), key(0, late), true)
	f(key(ago, 0), key(ago, 0), false)
	f(nil, key(0, 0), true)
	f(nil, nil, false)
}
