package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// The days of lists and reports are the store's, and their last one is in them.

// execute runs a statement in a fixture's database.
func execute(t *testing.T, dsn, sql string, args ...any) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

const putEntry = `
	insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, rule_rev, cause,
		payable_on, statement_id, day)
	values ($1, $2, $3, $4, 'earned', $5, $5, $6, 'BRL', 1, 'rule 1 settings', $7, $8, '2026-03-10')`

func TestTheLedgerHasTheStoresDays(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t) // three hours behind UTC
	company := fix.Store.Live.CompanyID
	ana := fix.Influencer(company, "Ana Prado")
	for order, at := range map[string]string{
		"before": "2026-03-10T02:59:59.999Z", "first": "2026-03-10T03:00:00Z", "last": "2026-03-11T02:59:59.999Z",
		"after": "2026-03-11T03:00:00Z",
	} {
		execute(t, fix.DSN, putEntry, company, order, 1, at, ana, 100, map[bool]string{true: "2026-04-08", false: "2026-04-09"}[order < "c"], nil)
	}
	now := time.Date(2026, 4, 9, 2, 59, 0, 0, time.UTC) // 8 April in the store
	f := func(filter commerce.LedgerFilter, want string) {
		t.Helper()
		list, err := fix.DB.Ledger(t.Context(), company, now, filter, commerce.LedgerCursor{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range list {
			got = append(got, i.OrderID+" "+i.State)
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%+v: %s, want %s", filter, text, want)
		}
	}
	f(commerce.LedgerFilter{}, "after payable, last held, first held, before payable")
	f(commerce.LedgerFilter{From: "2026-03-10", To: "2026-03-10"}, "last held, first held")
	f(commerce.LedgerFilter{From: "2026-03-11"}, "after payable")
	f(commerce.LedgerFilter{To: "2026-03-09"}, "before payable")
	f(commerce.LedgerFilter{State: "held"}, "last held, first held")
}

// Manual entries and agreements are few among very many entries of orders, which a list of them must not read.
func TestEntriesOfNoOrderAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company, ana := fix.Store.Live.CompanyID, uuid.NewString()
	agreement, entry := commerce.AccountOf(commerce.OfAgreement, ana), commerce.AccountOf(commerce.OfEntry, ana)
	for n, of := range []string{"1001", agreement, entry, "agreement/1", "1002"} {
		execute(t, fix.DSN, putEntry, company, of, 1, time.Unix(int64(n), 0), ana, 100, "2026-04-08", nil)
	}
	for of, want := range map[string]string{
		"": "1002 agreement/1 " + entry + " " + agreement + " 1001", commerce.OfOrder: "1002 agreement/1 1001",
		commerce.OfAgreement: agreement, commerce.OfEntry: entry,
	} {
		list, err := fix.DB.Ledger(t.Context(), company, time.Now(), commerce.LedgerFilter{Of: of}, commerce.LedgerCursor{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range list {
			got = append(got, i.OrderID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("of %q: %q, want %q", of, got, want)
		}
	}
	conn, err := pgx.Connect(t.Context(), fix.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, rule_rev,
				cause, payable_on)
			select company_id, 'x' || n, 1, at + n * interval '1 s', kind, influencer_id, cost_id, 1, currency, 1, cause, payable_on
			from ledger_entry, generate_series(1, 20000) n where order_id = '1001'`,
		`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, rule_rev,
				cause, payable_on)
			select company_id, E'\x01entry/' || n, 1, at + n * interval '1 s', kind, influencer_id, cost_id, 1, currency, 1, cause, payable_on
			from ledger_entry, generate_series(1, 2000) n where order_id = '1001'`,
		`analyze ledger_entry`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(t.Context(), `explain `+report.LedgerOfAccounts, pgx.NamedArgs{"company_id": company, "influencer_id": nil,
		"day": "2026-04-09", "state": nil,
		"of": commerce.AccountOf(commerce.OfEntry, ""), "from": nil, "before": nil, "after_at": nil, "after_order": "", "after_entry": 0,
		"most": 10})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, "ledger_account") {
		t.Errorf("%v:\n%s", err, text)
	}
}

// An order of which all was taken back within a statement is no line of it.
func TestAStatementHasNoLineOfNothing(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company, statement, influencer := fix.Store.Live.CompanyID, uuid.NewString(), uuid.NewString()
	for i, e := range []struct {
		order string
		minor int
	}{{"o1", 300}, {"o1", -300}, {"o2", 300}, {"o2", -100}, {"o3", 5}} {
		execute(t, fix.DSN, putEntry, company, e.order, i+1, "2026-03-10T12:00:00Z", influencer, e.minor, "2026-04-09", statement)
	}
	lines, err := fix.DB.StatementLines(t.Context(), company, statement, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range lines {
		got += fmt.Sprint(l.OrderID, " ", l.Day, " ", l.AmountMinor, l.Rates(), "; ")
	}
	if want := "o2 2026-03-10 200 []; o3 2026-03-10 5 []; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A cost counts on its last day, and on none on which it is not owed: one that was removed is owed until the day before.
func TestACostCountsOnTheStoresDays(t *testing.T) {
	t.Parallel()
	s := sum(t)
	s.Cost(s.company, s.ana, s.spring, 100, commerce.Daily, "2026-03-01")
	f := func(first, last, want string) {
		t.Helper()
		list := s.lines(reports.Query{Name: reports.Costs, Start: first, End: last, By: reports.ByTotal})
		if got := list[len(list)-1]; got != want {
			t.Errorf("from %s to %s: %s, want %s", first, last, got, want)
		}
	}
	f("2026-03-09", "2026-03-12", "totals amount=4")
	execute(t, s.DSN, `update cost set end_date = '2026-03-10'`)
	f("2026-03-09", "2026-03-12", "totals amount=2")
	f("2026-03-10", "2026-03-12", "totals amount=1")
	f("2026-03-11", "2026-03-12", "totals")
	execute(t, s.DSN, `update cost set end_date = null, until = '2026-03-10', deleted_at = now()`)
	f("2026-03-09", "2026-03-12", "totals amount=1")
	f("2026-03-10", "2026-03-12", "totals")
	execute(t, s.DSN, `update cost set owed_from = '2026-03-05'`)
	f("2026-03-01", "2026-03-12", "totals amount=5")
}

// Of a day's statements no others are read.
func TestStatementsOfADayAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	fix := reporttest.New(t)
	company := fix.Store.Live.CompanyID
	execute(t, fix.DSN, `
		insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor, closed_at,
			number, opening_minor, total_minor, entries, lines, carried)
		select $1, gen_random_uuid(), n, gen_random_uuid(), 'BRL', '2026-03-31', 0, now(), 'test',
			'2024-01-01 10:00Z'::timestamptz + n / 10 * interval '1 day', n, 0, 1, 1, 1, false from generate_series(0, 7999) n`, company)
	fix.Analyze()
	conn, err := pgx.Connect(t.Context(), fix.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `explain `+report.StateOfStatements, pgx.NamedArgs{"company_id": company,
		"from": time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), "before": time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, "statement_closed") {
		t.Errorf("%v:\n%s", err, text)
	}
}
