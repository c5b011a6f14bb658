package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// earned is a store whose influencers have commissions that may be paid, reached as the
// commands reach it.
func earned(t *testing.T) (fix *reporttest.Fixture, company string) {
	t.Helper()
	fix = reporttest.New(t)
	company = fix.Store.Live.CompanyID
	t.Setenv("TRIBUTARY_POSTGRES", fix.DSN)
	t.Setenv("TRIBUTARY_COMPANY", company)
	ana, beto := fix.Influencer(company, "Ana Prado"), fix.Influencer(company, "=Beto\x1b[31m")
	long := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	fix.Put(reporttest.Order{CompanyID: company, ID: "1001", CreatedAt: long, TotalMinor: 20000, InfluencerID: ana, CommissionMinor: 2000})
	fix.Put(reporttest.Order{CompanyID: company, ID: "1002", CreatedAt: long, TotalMinor: 20000, InfluencerID: ana, CommissionMinor: -500})
	fix.Put(reporttest.Order{CompanyID: company, ID: "1003", CreatedAt: long, TotalMinor: 20000, InfluencerID: beto, CommissionMinor: 100})
	return fix, company
}

// expect runs a command and fails the test unless it ends so and says so.
func expect(t *testing.T, wantStatus int, say string, args ...string) string {
	t.Helper()
	out, status := command(t, args...)
	if status != wantStatus || !strings.Contains(out, say) {
		t.Fatalf("tributary %s: exit status %d and\n%s\nwant %d and %q", strings.Join(args, " "), status, out, wantStatus, say)
	}
	return out
}

func TestAMonthIsClosedByCommands(t *testing.T) {
	fix, company := earned(t)
	expect(t, 0, "Ana Prado", "payouts")
	if out := expect(t, 0, "15.00", "payouts"); strings.Contains(out, "\x1b") {
		t.Errorf("%q controls the terminal", out)
	}
	var balances []struct {
		Influencer, Currency string
		Payable, Paid        json.Number
	}
	if err := json.Unmarshal([]byte(expect(t, 0, "", "payouts", "--json")), &balances); err != nil || len(balances) != 2 ||
		balances[1].Payable != "15" || balances[1].Paid != "0" {
		t.Errorf("%+v, %v", balances, err)
	}
	rows, err := csv.NewReader(strings.NewReader(expect(t, 0, "", "payouts", "--csv"))).ReadAll()
	if err != nil || len(rows) != 3 || !slices.Contains(rows[1], "'=Beto\x1b[31m") || rows[2][6] != "15.00" {
		t.Errorf("%q, %v", rows, err)
	}

	expect(t, 0, "nothing to close up to 2026-03-01", "statement", "close", "--end-date", "2026-03-01")
	closing := expect(t, 0, "closing", "statement", "close", "--end-date", "2026-04-30", "--influencer", "ANA PRADO", "--json")
	var asked []struct {
		ID, Influencer, State string
		Total                 *json.Number
	}
	if err := json.Unmarshal([]byte(closing), &asked); err != nil || len(asked) != 1 || asked[0].Influencer != "Ana Prado" ||
		asked[0].Total != nil {
		t.Fatalf("%s, %v", closing, err)
	}
	id := asked[0].ID
	expect(t, 1, "is not closed yet", "statement", "pay", id, "--paid-at", "2026-05-05T12:00:00Z", "--reference", "PIX 1")
	expect(t, 1, "is not closed yet", "statement", "withhold", id, "--part", "IRRF=1")
	fix.Close(company)
	expect(t, 0, "15.00", "statement", "list", "--state", "closed")
	for _, bad := range [][]string{{"give --part or --invoice, or --none alone"}, {"or --none alone", "--none", "--invoice", "1"},
		{"write it as NAME=AMOUNT", "--part", "IRRF"}, {"write it as NAME=AMOUNT", "--part", "IRRF=1,50"},
		{"no amount of BRL", "--part", "IRRF=1.505"},
		{"must be greater than 0", "--part", "IRRF=0"}, {"is empty", "--part", "=1"}, {"is there twice", "--part", "a=1", "--part", "A=1"}} {
		expect(t, statusUsage, bad[0], append([]string{"statement", "withhold", id}, bad[1:]...)...)
	}
	expect(t, 1, "more would be withheld than the statement's total", "statement", "withhold", id, "--part", "IRRF=15.01")
	for range 2 {
		expect(t, 0, "Ana Prado of 2026-04-30: 12.50 BRL are paid, 2.50 BRL withheld", "statement", "withhold", id, "--part", "IRRF=1.5",
			"--part", "ISS=1", "--invoice", "NF 118")
	}
	expect(t, 0, "IRRF 1.50, ISS 1.00", "statement", "list", "--csv")
	expect(t, 0, "15.00 BRL are paid, 0.00 BRL withheld", "statement", "withhold", id, "--none")
	expect(t, 0, "1002   2026-03-01  -5.00", "statement", "show", id)
	if rows, err := csv.NewReader(strings.NewReader(expect(t, 0, "", "statement", "show", id, "--csv"))).ReadAll(); err != nil ||
		len(rows) != 3 ||
		!slices.Equal(rows[1], []string{"1001", "", "2026-03-01", "20.00", "BRL", "200.00", "200.00", "", "", "", ""}) {
		t.Errorf("%q, %v", rows, err)
	}
	var whole struct {
		Total json.Number
		Lines []struct {
			OrderID string
			Amount  json.Number
		}
	}
	if err := json.Unmarshal([]byte(expect(t, 0, "", "statement", "show", id, "--json")), &whole); err != nil || whole.Total != "15" ||
		len(whole.Lines) != 2 || whole.Lines[1].Amount != "-5" {
		t.Errorf("%+v, %v", whole, err)
	}
	for range 2 {
		expect(t, 0, "Ana Prado of 2026-04-30 is paid: 15.00 BRL", "statement", "pay", id, "--paid-at", "2026-05-05T12:00:00Z",
			"--reference", "PIX 1")
	}
	expect(t, 1, "was paid on 2026-05-05T12:00:00Z already (PIX 1)", "statement", "pay", id, "--paid-at", "2026-05-06T12:00:00Z",
		"--reference", "PIX 2")
	expect(t, 1, "is paid already", "statement", "withhold", id, "--part", "IRRF=1")
	expect(t, statusUsage, "give --reason", "statement", "undo", id)
	expect(t, statusUsage, "--reason is empty", "statement", "undo", id, "--reason", " ")
	expect(t, 0, "Ana Prado of 2026-04-30 is to be paid again: 15.00 BRL", "statement", "undo", id, "--reason", "sent back")
	expect(t, 1, "has no payment that could be undone", "statement", "undo", id, "--reason", "sent back")
	expect(t, 0, "is paid: 15.00 BRL", "statement", "pay", id, "--paid-at", "2026-05-05T12:00:00Z", "--reference", "PIX 1")
	if out := expect(t, 0, "2026-05-05T12:00:00Z", "statement", "list", "--influencer", "ana prado"); strings.Count(out, "\n") != 2 {
		t.Errorf("%s", out)
	}
	// What is below the minimum is carried.
	expect(t, 0, "minimum-payout: 50, before 0", "company", "set", company, "--minimum-payout", "50")
	expect(t, 0, "closing", "statement", "close", "--end-date", "2026-04-30")
	fix.Close(company)
	carried := strings.Fields(expect(t, 0, "true", "statement", "list", "--state", "closed"))
	at := slices.IndexFunc(carried, func(word string) bool { return len(word) == 36 })
	expect(t, 1, "is carried to the influencer's next statement", "statement", "pay", carried[at], "--paid-at", "2026-05-05T12:00:00Z",
		"--reference", "PIX 1")
}

func TestALinkToAStatementIsMadeAndRevoked(t *testing.T) {
	fix, company := earned(t)
	id := fix.Ask(company, fix.Influencer(company, "Caio"), "BRL", "2026-04-30", 0)
	secret := filepath.Join(t.TempDir(), "token-secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := statementlink.NewSigner([]byte(strings.Repeat("a", 32)), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := func(number int64, args ...string) {
		t.Helper()
		out := expect(t, 0, "For Caio, until ",
			append([]string{"statement", "link", id, "--token-secret-file", secret, "--public-url", "https://painel.example.com/x", "--days", "7"},
				args...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		token, found := strings.CutPrefix(lines[len(lines)-1], "https://painel.example.com/dashboard/statement/")
		link, err := signer.Read(token, time.Now())
		if !found || err != nil || link.StatementID != id || link.CompanyID != company || link.Number != number ||
			time.Until(link.Expires) > 7*24*time.Hour || time.Until(link.Expires) < 6*24*time.Hour {
			t.Errorf("%s: %+v, %v", out, link, err)
		}
	}
	f(0)
	f(0)
	f(1, "--revoke")
	f(1)
	f(2, "--revoke")
}

func TestWrongUsageOfStatementsSaysWhatIsMissing(t *testing.T) {
	earned(t)
	const unknown = "019cd7a4-2e00-7000-8000-00000000000f"
	expect(t, statusUsage, "statement needs a command: list, show, close, withhold, pay, undo, unblock, link", "statement")
	expect(t, statusUsage, "give --end-date or $TRIBUTARY_END_DATE", "statement", "close")
	expect(t, statusUsage, "in the future", "statement", "close", "--end-date", "2199-01-01")
	expect(t, statusUsage, "--end-date must be a real date", "statement", "close", "--end-date", "30/04/2026")
	expect(t, 1, `has no influencer "Nobody"`, "statement", "close", "--end-date", "2026-04-30", "--influencer", "Nobody")
	expect(t, 1, "has no influencer "+unknown, "statement", "close", "--end-date", "2026-04-30", "--influencer", unknown)
	expect(t, statusUsage, "STATEMENT_ID is missing: tributary statement pay STATEMENT_ID", "statement", "pay")
	expect(t, statusUsage, "give --paid-at or $TRIBUTARY_PAID_AT\ntributary: give --reference", "statement", "pay", unknown)
	expect(t, 1, "has no statement "+unknown, "statement", "pay", unknown, "--paid-at", "2026-05-05T12:00:00Z", "--reference", "1")
	expect(t, statusUsage, "write it as 2026-11-05T12:00:00Z", "statement", "pay", unknown, "--paid-at", "5 May", "--reference", "1")
	expect(t, 1, "has no statement x", "statement", "show", "x")
	expect(t, statusUsage, "--state must be one of closing, closed, paid", "statement", "list", "--state", "open")
	expect(t, statusUsage, "--limit 0: it must be from 1", "statement", "list", "--limit", "0")
	expect(t, statusUsage, "give --public-url", "statement", "link", unknown)
	expect(t, statusUsage, "give --token-secret-file", "statement", "link", unknown, "--public-url", "https://painel.example.com")
	expect(t, statusUsage, "is not https://host", "statement", "link", unknown, "--public-url", "painel.example.com")
	expect(t, statusUsage, "--json and --csv cannot be given together", "payouts", "--csv", "--json")
	t.Setenv("TRIBUTARY_COMPANY", "")
	t.Setenv("TRIBUTARY_POSTGRES", "")
	expect(t, statusUsage,
		"give --company or $TRIBUTARY_COMPANY\ntributary: give --postgres or $TRIBUTARY_POSTGRES\ntributary: give --end-date",
		"statement", "close")
}
