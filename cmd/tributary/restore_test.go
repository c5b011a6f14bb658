package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// one returns the one value that a query finds.
func one[T any](t *testing.T, dsn, sql string, args ...any) (value T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatal(sql, err)
	}
	return value
}

// liveHash is the ledger hash of the live rows. What else verify finds is left out: these tests make statements by hand.
func liveHash(t *testing.T, dsn string) string {
	t.Helper()
	status := 0
	if one[int64](t, dsn, `select count(*) from statement`) > 0 {
		status = statusFailed
	}
	found := reported[verification](t, status, "verify", "--postgres", dsn)
	if found.Different > 0 || found.LiveHash != found.ReplayedHash {
		t.Errorf("%+v", found)
	}
	return found.LiveHash
}

// pays records a payment, as an owner does.
func pays(t *testing.T, dsn, company, statement string) error {
	t.Helper()
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return db.PayStatement(t.Context(), commerce.Author{CompanyID: company, Actor: actor, At: time.Now()},
		commerce.StatementPayment{StatementID: statement, PaidAt: time.Now().UTC().Truncate(time.Second), Reference: "PIX 1"})
}

const paid, unpaid = "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5c1", "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5c2"

// closedStatements makes two statements that can be paid.
func closedStatements(t *testing.T, s *services) {
	t.Helper()
	const ana = "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2"
	execute(t, s.dsn, `insert into influencer (company_id, influencer_id, name, name_folded, `+
		`rev) values ('`+s.company+`', '`+ana+`', 'Ana', 'ana', 1)`)
	for _, id := range []string{paid, unpaid} {
		execute(t, s.dsn, `
			insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor,
				closed_at, opening_minor, total_minor, lines, carried)
			values ('`+s.company+`', '`+id+`', 1, '`+ana+`', 'BRL', '2026-01-31', 0, now(), 'cli', now(), 0, 100, 0, false)`)
	}
}

// TestThePageOfARestoreIsFollowed does what docs/operations.md says, command by command. After the backup an order came, a key
// was revoked, a store was made, and a statement was paid.
func TestThePageOfARestoreIsFollowed(t *testing.T) {
	s := startServices(t)
	broker := os.Getenv("TRIBUTARY_KAFKA_BROKERS")
	closedStatements(t, s)
	say := func(status int, want string, words ...string) string {
		t.Helper()
		out, got := command(t, words...)
		if got != status || !strings.Contains(out, want) {
			t.Fatalf("%s: exit status %d and\n%s\nwant %d and %s", strings.Join(words, " "), got, out, status, want)
		}
		return out
	}
	s.processor.stop() // so that what it has applied is in the backup
	backup := copyWhile(t, s)
	// What comes after it.
	keyID := one[string](t, s.dsn, `select key_id from api_key where company_id = $1`, s.company)
	s.admin.is(http.StatusOK, func() *http.Request {
		return s.request(http.MethodPost, s.admin.origin()+"/admin/v1/order", anOrder)
	})
	say(0, "", "company", "create", "Loja 2")
	say(0, "", "keys", "revoke", keyID, "--company", s.company)
	if err := pays(t, s.dsn, s.company, paid); err != nil {
		t.Fatal(err)
	}
	await.Until(t, await.Long, func() bool { return one[int64](t, s.dsn, `select count(*) from outbox`) == 0 }, s.admin.out.String)
	second := one[string](t, s.dsn, `select company_id from company where company_id <> $1 and environment = 'live'`, s.company)

	s.processor = start(t, "processor") // which applies what came, as the restored database will
	await.Until(t, await.Long, func() bool { return one[int64](t, s.dsn, `select count(*) from orders`) == 1 }, s.processor.out.String)
	before := liveHash(t, s.dsn)
	s.processor.stop()

	t.Setenv("TRIBUTARY_PARTITIONS", "8")
	t.Setenv("TRIBUTARY_REPLICATION", "1")
	t.Setenv("TRIBUTARY_MIN_INSYNC_REPLICAS", "1")
	stack := &stricken{services: s}
	f := stack.follow("### Backup and restore")
	f.does("systemctl stop", 0)
	t.Setenv("TRIBUTARY_POSTGRES", devtest.AsServices(t, backup))
	f.owner = backup
	f.says("tributary migrate", "up to date")
	p := &patient{t, oneBroker(broker)}
	p.dsn = backup
	p.finds("FAIL", "directory", second)
	f.says("tributary directory show", endedThere)
	out := f.says("tributary directory prune", "company/"+second)
	if !strings.Contains(out, "Changes of "+s.company+" are lost: paying is blocked") ||
		!strings.Contains(out, keyID+" of "+s.company+" had ended: it is revoked again") {
		t.Error(out)
	}
	say(1, "only after they have applied everything (`tributary doctor`)", "statement", "unblock", "--company", s.company)
	f.does("systemctl start", 0)
	f.says("tributary offsets show", "commerce.v1")
	admin := s.admin
	await.Until(t, await.Long, func() bool {
		return one[int64](t, backup, `select (select count(*) from orders) + (select count(*) from statement_payment)`) == 2
	}, func() string { return s.processor.out.String() + admin.out.String() })
	if err := pays(t, backup, s.company, unpaid); err == nil || !strings.Contains(err.Error(), "paying is blocked") {
		t.Errorf("paid: %v", err)
	}
	say(1, "nothing is paid until an owner confirms", "statement", "pay", unpaid, "--company", s.company, "--paid-at",
		"2026-03-05T12:00:00Z", "--reference", "PIX 2")
	f.says("tributary statement unblock", "can be paid again")
	f.ends()
	say(0, "nothing was changed", "statement", "unblock", "--company", s.company, "--yes")
	if after := liveHash(t, backup); after != before {
		t.Errorf("the ledger hash was %s, and is %s", before, after)
	}
	if err := pays(t, backup, s.company, unpaid); err != nil {
		t.Error(err)
	}
	// Nothing is blocked again by an admin that starts later, and doctor has nothing more to say.
	admin.stop()
	admin = start(t, "admin", "--short-base", "go.example.com")
	admin.is(http.StatusOK, func() *http.Request { return s.request(http.MethodGet, admin.origin()+"/readyz", "") })
	if n := one[int64](t, backup, `select count(*) from company where restored_at is not null`); n != 0 {
		t.Errorf("%d companies are blocked again", n)
	}
	await.Until(t, await.Long, func() bool { return one[int64](t, backup, `select count(*) from outbox`) == 0 }, admin.out.String)
	p.finds("ok", "directory", "nothing that PostgreSQL does not have")
	// The edge, which ran all the time, has what the restored database has.
	s.edge.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", s.event()) })
	say(0, "", "company", "set", s.company, "--origin", "https://new.example.com")
	s.edge.is(http.StatusNoContent, func() *http.Request {
		r := s.request(http.MethodOptions, s.edge.origin()+"/v1/events", "")
		r.Header.Set("Origin", "https://new.example.com")
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		return r
	})
}

// copyWhile makes a copy of the services' database. Their connections end for that moment.
func copyWhile(t *testing.T, s *services) string {
	t.Helper()
	s.admin.stop()
	backup := copyOf(t, s.dsn)
	s.admin = start(t, "admin", "--short-base", "go.example.com")
	s.admin.is(http.StatusOK, func() *http.Request { return s.request(http.MethodGet, s.admin.origin()+"/readyz", "") })
	return backup
}

// Nobody read the page: the backup is put in place and the services are started. All that is lost is one payment, and the end of a key.
func TestAnAdminBlocksPayingWhereAPaymentIsLost(t *testing.T) {
	s := startServices(t)
	closedStatements(t, s)
	s.processor.stop()
	backup := copyWhile(t, s)
	s.admin.says("directory published") // so that it is not the next publication of everything that has the payment's revision
	if err := pays(t, s.dsn, s.company, paid); err != nil {
		t.Fatal(err)
	}
	keyID := one[string](t, s.dsn, `select key_id from api_key where company_id = $1`, s.company)
	if out, status := command(t, "keys", "revoke", keyID, "--company", s.company); status != 0 {
		t.Fatal(out)
	}
	await.Until(t, await.Long, func() bool { return one[int64](t, s.dsn, `select count(*) from outbox`) == 0 }, s.admin.out.String)
	lost := one[int64](t, s.dsn, `select rules_rev from company where company_id = $1`, s.company)
	s.admin.stop()
	t.Setenv("TRIBUTARY_POSTGRES", devtest.AsServices(t, backup))
	admin := start(t, "admin", "--short-base", "go.example.com")
	admin.is(http.StatusOK, func() *http.Request { return s.request(http.MethodGet, admin.origin()+"/readyz", "") })
	admin.says("paying is blocked until an owner confirms")
	if err := pays(t, backup, s.company, paid); !errors.Is(err, commerce.ErrRestored) {
		t.Errorf("paid twice: %v", err)
	}
	// A key that was revoked stays so, and the audit log has it.
	if n := one[int64](t, backup, `select count(*) from api_key k join audit_log a on a.subject = k.key_id and a.action = 'api_key.revoke'
		where k.key_id = $1 and k.revoked_at <= now()`, keyID); n != 1 || !strings.Contains(admin.out.String(), keyID) {
		t.Errorf("the key %s was revoked %d times, want once:\n%s", keyID, n, admin.out.String())
	}
	// What edges have read already is of a lower revision than what comes now.
	if now := one[int64](t, backup, `select rules_rev from company where company_id = $1`, s.company); now <= lost {
		t.Errorf("revision %d, and %d is lost", now, lost)
	}
	if n := one[int64](t, backup, `select count(*) from company where restored_at is not null`); n != 1 {
		t.Errorf("%d companies are blocked, want the one of which something is lost", n)
	}
}
