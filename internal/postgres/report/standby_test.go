package report_test

import (
	"context"
	"log/slog"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// Who has a standby can read reports from it, and nothing else: a new method is a decision (docs/adr/0041).
func TestAStandbyGivesReportsAlone(t *testing.T) {
	t.Parallel()
	var methods []string
	is := reflect.TypeFor[*report.Standby]()
	for i := range is.NumMethod() {
		methods = append(methods, is.Method(i).Name)
	}
	want := []string{"Age", "Close", "Counts", "Look", "Report", "Run", "SetMostAge"} // the last for this test
	if !slices.Equal(methods, want) {
		t.Errorf("methods are %v, want %v", methods, want)
	}
	for i := range is.Elem().NumField() {
		if field := is.Elem().Field(i); field.IsExported() {
			t.Errorf("%s can be reached", field.Name)
		}
	}
}

// sent keeps the statements that were sent to a standby.
type sent struct {
	mu   sync.Mutex
	list []string
}

func (s *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, data.SQL)
	return ctx
}

// What a standby is sent: what names these tables and functions alone, and changes nothing.
var (
	named   = regexp.MustCompile(`[\s(](?:from|join)\s+([a-z_]+)`)
	changes = regexp.MustCompile(`\b(insert|update|delete|merge|truncate|lock|notify|copy|call|do|set)\b`)
	readBy  = []string{"additional_cost", "additional_cost_version", "click_day", "company", "cost", "influencer", "ledger_entry",
		"pg_control_system", "sale_day", "traffic_day", "traffic_month"}
)

// others are the statements that name something else, or change something.
func (s *sent) others() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sql := range s.list {
		sql = strings.ToLower(sql)
		tables := named.FindAllStringSubmatch(sql, -1)
		if changes.MatchString(sql) || slices.ContainsFunc(tables, func(t []string) bool { return !slices.Contains(readBy, t[1]) }) {
			list = append(list, sql)
		}
	}
	return list
}

func (s *sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// On a real standby: what is shown is as old as it is said to be, while the primary is idle, while the standby is cut off, and when
// it is away.
func TestReportsOfAStandbySayHowNewTheyAre(t *testing.T) { // not parallel: the primary is idle
	fix := reporttest.New(t)
	live, ctx := fix.Store.Live.CompanyID, t.Context()
	order := func() {
		fix.Sum(live, rollup.Order{Outcome: &facts.Outcome{Day: "2026-11-21", Currency: commerce.BRL, TotalMinor: 100,
			Payout: facts.Payout{State: facts.PayoutNone}}})
	}
	order()
	server, statements, log := devtest.StartStandby(t), &sent{}, &await.Buffer{}
	standby, err := report.OpenStandby(ctx, server.Of(fix.DSN), fix.DB.Reader, slog.New(slog.NewTextHandler(log, nil)),
		postgres.WithTracer(statements))
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	running := background.Start(ctx, slog.New(slog.DiscardHandler), "standby", standby.Run)
	defer func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	}()
	read := func() *reports.Report {
		t.Helper()
		r, err := standby.Report(ctx, reports.Query{CompanyID: live, Name: reports.Sales, Start: "2026-11-21", End: "2026-11-21",
			By: reports.ByTotal})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	orders := func(r *reports.Report) int64 { return r.Totals.Sums[r.Spec.Column("orders")].IntPart() }
	if r := read(); r.FromStandby || orders(r) != 1 {
		t.Errorf("before the standby was asked, %d orders are read, from it: %t", orders(r), r.FromStandby)
	}
	await.Until(t, await.Long, func() bool { return read().FromStandby }, log.String)

	// The primary is idle: nothing is replayed, and nothing is old.
	order()
	await.Until(t, await.Long, func() bool { r := read(); return r.FromStandby && orders(r) == 2 }, log.String)
	time.Sleep(2500 * time.Millisecond)
	quiet := onStandby(t, server.Of(fix.DSN), `select extract(epoch from now() - pg_last_xact_replay_timestamp())::float8`)
	if r := read(); !r.FromStandby || time.Since(r.AsOf) > 2*time.Second || quiet < 2 {
		t.Errorf("as of %v ago, from the standby: %t; nothing was replayed for %v s", time.Since(r.AsOf), r.FromStandby, quiet)
	}

	// It is cut off: it has replayed all that it received, and that is not all.
	receiver := int(onStandby(t, server.Of(fix.DSN), `select pid::float8 from pg_stat_wal_receiver`))
	if err := syscall.Kill(receiver, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goOn := sync.OnceFunc(func() {
		if err := syscall.Kill(receiver, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	defer goOn()
	cut := time.Now()
	order()
	time.Sleep(1500 * time.Millisecond)
	if r := read(); !r.FromStandby || orders(r) != 2 || r.AsOf.After(cut) {
		t.Errorf("%d orders as of %v, from the standby: %t; it was cut off at %v", orders(r), r.AsOf, r.FromStandby, cut)
	}
	if behind := onStandby(t, server.Of(fix.DSN), `select (pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn())::float8`); behind != 0 {
		t.Errorf("the standby has %v bytes to replay", behind)
	}
	standby.SetMostAge(time.Second)
	await.Until(t, await.Long, func() bool { r := read(); return !r.FromStandby && orders(r) == 3 }, log.String)
	await.Until(t, await.Long, func() bool {
		return strings.Contains(log.String(), "read from the primary: the standby cannot be used\" error=\"the standby is more than")
	}, log.String)
	if standby.Age() < time.Second {
		t.Errorf("the standby is %v old", standby.Age())
	}
	standby.SetMostAge(time.Minute)
	goOn()
	await.Until(t, await.Long, func() bool { r := read(); return r.FromStandby && orders(r) == 3 }, log.String)

	// It is away, and comes back.
	server.Stop()
	if r := read(); r.FromStandby || orders(r) != 3 {
		t.Errorf("%d orders, from a standby that is away: %t", orders(r), r.FromStandby)
	}
	order()
	server.Start()
	await.Until(t, await.Long, func() bool { r := read(); return r.FromStandby && orders(r) == 4 }, log.String)
	if from, primary := standby.Counts(); from < 4 || primary < 3 {
		t.Errorf("%d reports of the standby and %d of the primary were counted", from, primary)
	}

	// Nothing was sent there but what reads reports' tables.
	if list := statements.others(); list != nil {
		t.Errorf("the standby was sent %q", list)
	}

	// It becomes a primary, as at a failover: what it has is not known to be ours.
	onStandby(t, server.Of(fix.DSN), `select pg_promote()::int::float8`)
	await.Until(t, await.Long, func() bool {
		_, err := standby.Look(ctx)
		return err != nil && strings.Contains(err.Error(), "not a standby")
	}, log.String)
	if r := read(); r.FromStandby {
		t.Error("a report is read from a server that was promoted")
	}
}

// A standby of something else is not read from.
func TestAStandbyOfAnotherDatabaseIsNotReadFrom(t *testing.T) { // not parallel: the server is copied with its databases
	fix, other := reporttest.New(t), reporttest.New(t)
	server := devtest.StartStandby(t)
	standby, err := report.OpenStandby(t.Context(), server.Of(other.DSN), fix.DB.Reader, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	if _, err := standby.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "another database") {
		t.Errorf("%v, want that it is of another database", err)
	}
	if r, err := standby.Report(t.Context(), reports.Query{CompanyID: fix.Store.Live.CompanyID, Name: reports.Sales, Start: "2026-11-21",
		End: "2026-11-21"}); err != nil || r.FromStandby {
		t.Errorf("%v, from the standby: %t", err, r != nil && r.FromStandby)
	}
}

// A primary that does not answer takes no report from a standby that does, and does not make it one of another database.
func TestASlowPrimaryKeepsTheStandby(t *testing.T) { // not parallel: the server is copied with its databases
	fix := reporttest.New(t)
	dsn, err := url.Parse(fix.DSN)
	if err != nil {
		t.Fatal(err)
	}
	query := dsn.Query()
	query.Set("pool_max_conns", "1")
	dsn.RawQuery = query.Encode()
	db, err := postgres.Open(t.Context(), dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	server := devtest.StartStandby(t)
	standby, err := report.OpenStandby(t.Context(), server.Of(fix.DSN), report.New(db), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	slow := func() (release func()) {
		conn, err := db.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return conn.Release
	}
	release := slow()
	if _, err := standby.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "did not tell yet") {
		t.Errorf("%v, want that the primary did not tell yet", err)
	}
	release()
	await.Until(t, await.Long, func() bool { _, err := standby.Look(t.Context()); return err == nil }, func() string { return "" })
	defer slow()()
	if _, err := standby.Look(t.Context()); err != nil {
		t.Errorf("while the primary is slow: %v", err)
	}
}

// onStandby asks a server for a number.
func onStandby(t *testing.T, dsn, sql string) (number float64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql).Scan(&number); err != nil {
		t.Fatal(err)
	}
	return number
}
