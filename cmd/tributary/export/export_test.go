package export

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/csv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/parquet-go/parquet-go"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// files is a store with rows of all kinds, and a directory for them.
type files struct {
	*reporttest.Fixture
	t       *testing.T
	company string
	dir     string
	conn    *pgx.Conn
	hasher  *identity.Hasher
	format  string
}

const (
	influencer = "019cd7a4-2e00-7000-8000-000000000001"
	statement  = "019cd7a4-2e00-7000-8000-00000000000e"
	visitor    = "0199f3a0-1234-4000-8000-00000000000a"
	emailKey   = "k1:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY"
	cartKey    = "k1:Y2FydENhcnRDYXJ0Q2FydENhcnRDYXJ0Q2FydENhcjE"
)

var noon = time.Date(2024, 11, 5, 15, 0, 0, 0, time.UTC)

// newFiles has three orders on three days, one with two touches, two events of one visitor, and a statement.
func newFiles(t *testing.T) *files {
	t.Helper()
	fix := reporttest.New(t)
	conn, err := pgx.Connect(t.Context(), fix.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("x"), identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	f := &files{Fixture: fix, t: t, company: fix.Store.Live.CompanyID, dir: t.TempDir(), conn: conn, hasher: hasher, format: "parquet"}
	for i, id := range []string{"1", "2", "3"} {
		fix.Put(reporttest.Order{CompanyID: f.company, ID: id, Name: "Ana", CreatedAt: noon.AddDate(0, 0, i),
			TotalMinor:   10_000 + int64(i),
			InfluencerID: influencer, CommissionMinor: 1_000, State: "earned", EmailKey: emailKey,
			Sent: func(o *wire.Order) {
				o.VisitorID, o.CartKey, o.DiscountCode = wire.Some(visitor), wire.Some(cartKey), wire.Some(`=HYPERLINK("x")`)
			}})
	}
	f.sql(`update payout set credits = '[[1,"instagram","` + influencer + `","verao",10000,0,0,5000,5000,4000],` +
		`[2,"direct","","",0,10000,null,5000,5000,6000]]' where order_id = '1'`)
	for i := range 2 {
		at := noon.AddDate(0, 0, i)
		fix.Came(wire.Event{CompanyID: f.company, EventID: idAt(t, at), Event: "PAGE_VIEW", ReceivedAt: at.Add(time.Second), Timestamp: at,
			VisitorID: visitor, CookieID: visitor, Bot: wire.BotNone, Consent: wire.ConsentGranted, Via: wire.ViaJS, Trust: wire.TrustOpen,
			Identity: wire.Identity{EmailKey: emailKey, CartKey: cartKey}, Payload: []byte(`{"note":"my name is Ana"}`),
			Context: wire.Context{Page: wire.Page{URL: "https://Loja.example.com/p/vestido?utm_source=ig&x=secret", Title: "Ana"},
				Campaign: wire.Campaign{Source: "ig"}}})
	}
	f.sql(`insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor, closed_at,
		number, opening_minor, total_minor, entries, lines, carried)
		values ($1, $2, 1, $3, 'BRL', '2026-11-30', 0, now(), 'test', '2026-12-01 10:00Z', 7, 0, 3000, 3, 3, false)`,
		f.company, statement, influencer)
	f.sql(`insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
		values ($1, $2, 2, '2026-12-03 12:00Z', 'pix', now(), 'test')`, f.company, statement)
	f.sql(`update statement set run_id = statement_id where statement_id = $1`, statement)
	return f
}

// idAt is an event's id of an instant.
func idAt(t *testing.T, at time.Time) string {
	t.Helper()
	id := facts.FirstID(at)
	if _, err := rand.Read(id[6:]); err != nil {
		t.Fatal(err)
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id.String()
}

func (f *files) sql(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.conn.Exec(f.t.Context(), sql, args...); err != nil {
		f.t.Fatal(err)
	}
}

// export exports a kind.
func (f *files) export(kind string) Result {
	f.t.Helper()
	dir, err := Open(f.dir, f.format)
	if err != nil {
		f.t.Fatal(err)
	}
	defer dir.Close()
	result, err := Export(f.t.Context(), f.DB, dir, f.company, kind, f.hasher.Export(f.company), true)
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// is checks what a run did: new files, files written anew, unchanged ones and removed ones.
func (f *files) is(kind string, fresh, anew, unchanged, removed int) {
	f.t.Helper()
	r := f.export(kind)
	if r.New != fresh || len(r.Anew) != anew || r.Unchanged != unchanged || len(r.Removed) != removed {
		f.t.Errorf("%s: %+v; want %d new, %d anew, %d unchanged, %d removed", kind, r, fresh, anew, unchanged, removed)
	}
}

// list are the files below the directory, without its own.
func (f *files) list() (paths []string) {
	f.t.Helper()
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ownDir {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(f.dir, path)
			paths = append(paths, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return paths
}

// path is a day's file.
func (f *files) path(kind, day string) string {
	return filepath.Join(f.dir, kind, "company="+f.company, "day="+day, kind+"."+f.format)
}

// rowsOf reads a day's Parquet file.
func rowsOf[T any](f *files, kind, day string) []T {
	f.t.Helper()
	rows, err := parquet.ReadFile[T](f.path(kind, day))
	if err != nil {
		f.t.Fatal(err)
	}
	return rows
}

func TestEveryKindIsWrittenAsParquet(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	for _, kind := range commerce.ExportKinds {
		f.export(kind)
	}
	digests := f.hasher.Export(f.company)
	orders := rowsOf[orderRow](f, "orders", "2024-11-06")
	if len(orders) != 1 || orders[0].OrderID != "2" || !orders[0].CreatedAt.Equal(noon.AddDate(0, 0, 1)) || orders[0].TotalMinor != 10_001 ||
		orders[0].Status != "approved" || orders[0].InfluencerID != influencer || *orders[0].CommissionMinor != 1_000 ||
		orders[0].Email != digests.Of("email", emailKey) || orders[0].DiscountCodes != `=HYPERLINK("x")` || orders[0].First != nil {
		t.Errorf("orders: %+v", orders)
	}
	events := rowsOf[eventRow](f, "events", "2024-11-05")
	if len(events) != 1 || events[0].Name != "PAGE_VIEW" || !events[0].At.Equal(noon) || events[0].PageHost != "loja.example.com" ||
		events[0].PagePath != "/p/vestido" || events[0].UTMSource != "ig" || !events[0].Person || !events[0].Arrived || events[0].Bot != "" {
		t.Errorf("events: %+v", events)
	}
	if len(events) != 1 || events[0].Visitor != orders[0].Visitor || events[0].Cookie != orders[0].Visitor ||
		events[0].Cart != orders[0].Cart ||
		events[0].Email != orders[0].Email || len(events[0].Visitor) != 32 {
		t.Errorf("an event and an order of one person have no equal digests:\n%+v\n%+v", events, orders)
	}
	credits := rowsOf[creditRow](f, "credits", "2024-11-05")
	if len(credits) != 2 || credits[0].Channel != "instagram" || *credits[0].FirstMinor != 10_000 || *credits[1].TimeDecayMinor != 6_000 ||
		credits[1].LastNonDirectMinor != nil || *credits[0].LastNonDirectMinor != 0 ||
		credits[1].Position != 2 || credits[1].InfluencerID != "" {
		t.Errorf("credits: %+v", credits)
	}
	entries := rowsOf[ledgerRow](f, "ledger", time.Now().UTC().Format(time.DateOnly))
	if len(entries) != 3 || entries[0].AmountMinor != 1_000 || entries[0].Of != commerce.OfOrder || entries[0].Kind != "earned" ||
		time.Unix(int64(entries[0].PayableOn)*secondsOfDay, 0).UTC().Format(time.DateOnly) < "2024-12-05" {
		t.Errorf("ledger: %+v", entries)
	}
	statements := rowsOf[statementRow](f, "statements", "2026-12-01")
	if len(statements) != 1 || statements[0].TotalMinor != 3_000 || statements[0].Number != 7 || statements[0].StartDate != nil ||
		statements[0].PaidAt == nil || statements[0].PaidAt.Format(time.DateOnly) != "2026-12-03" {
		t.Errorf("statements: %+v", statements)
	}
	if list := f.list(); len(list) != 3+2+1+1+1 {
		t.Errorf("files: %q", list)
	}
}

func TestCSVIsSafeForSpreadsheets(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.format = "csv"
	for _, kind := range commerce.ExportKinds {
		f.export(kind)
	}
	text, err := os.ReadFile(f.path("orders", "2024-11-05"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Fatalf("%v\n%s", err, text)
	}
	cell := func(name string) string { return lines[1][slices.Index(lines[0], name)] }
	for name, want := range map[string]string{"order_id": "1", "created_at": "2024-11-05T15:00:00Z", "total_minor": "10000",
		"discount_codes": `'=HYPERLINK("x")`, "payable_on": "", "commission_minor": "1000", "test": "false", "first_order": ""} {
		if got := cell(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if text, err := os.ReadFile(f.path("statements", "2026-12-01")); err != nil ||
		!strings.Contains(string(text), ",2026-11-30,2026-12-01T10:00:00Z,") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := Open(f.dir, "parquet"); err == nil || !strings.Contains(err.Error(), "format csv") {
		t.Errorf("files of two formats in one directory: %v", err)
	}
}

// What proves a purchase or names a person is in no file, in no form in which the database has it.
func TestNoFileHasWhatProves(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.format = "csv"
	f.export("events")
	f.export("orders")
	looked := 0
	for _, name := range f.list() {
		text, err := os.ReadFile(filepath.Join(f.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		looked++
		for _, needle := range []string{visitor, emailKey, cartKey, emailKey[3:], reporttest.TokenOfOrders, "Ana", "secret", "203.0.113"} {
			if bytes.Contains(text, []byte(needle)) {
				t.Errorf("%s has %q:\n%s", name, needle, text)
			}
		}
	}
	if looked != 5 {
		t.Errorf("%d files were looked at", looked)
	}
	// And under another export key it is another digest, as in another company.
	other, err := identity.NewHasher(bytes.Repeat([]byte("y"), identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	if is := f.hasher.Export(f.company).Of("visitor", visitor); is == other.Export(f.company).Of("visitor", visitor) ||
		is == f.hasher.Export("c_2").Of("visitor", visitor) || is == f.hasher.Export(f.company).Of("session", visitor) {
		t.Error("two digests of different keys, companies or kinds are equal")
	}
}

func TestARunWritesWhatHasChanged(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.is("orders", 3, 0, 0, 0)
	f.is("orders", 0, 0, 3, 0)
	f.sql(`update payout set commission_minor = 7 where order_id = '2'`)
	f.is("orders", 0, 1, 2, 0)
	if rows := rowsOf[orderRow](f, "orders", "2024-11-06"); *rows[0].CommissionMinor != 7 {
		t.Errorf("the file has not what changed: %+v", rows)
	}
	f.sql(`update orders set day = '2024-11-05' where order_id = '2'`)
	f.is("orders", 0, 1, 1, 1)
	if rows := rowsOf[orderRow](f, "orders", "2024-11-05"); len(rows) != 2 {
		t.Errorf("%d orders", len(rows))
	}
	// What a killed run, or a person, left behind.
	last := f.path("orders", "2024-11-07")
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	f.is("orders", 1, 0, 1, 0)
	if err := os.WriteFile(last, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.is("orders", 0, 1, 1, 0)
	f.sql(`update export_day set digest = null where day = '2024-11-05'`)
	f.is("orders", 0, 1, 1, 0)
	unfinished := filepath.Join(f.dir, ownDir, ".orders.parquet.123")
	if err := os.WriteFile(unfinished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A file that the database does not know, as after a restored backup, of a day that has no rows.
	if err := os.MkdirAll(filepath.Dir(f.path("orders", "2024-11-20")), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path("orders", "2024-11-20"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.is("orders", 0, 0, 2, 1)
	if _, err := os.Stat(unfinished); err == nil {
		t.Error("an unfinished file of a killed run is left")
	}
	// Another export key: every digest is another one.
	other, err := identity.NewHasher(bytes.Repeat([]byte("y"), identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	f.hasher = other
	f.is("orders", 0, 2, 0, 0)
	f.sql(`delete from orders`)
	f.is("orders", 0, 0, 0, 2)
	if list := f.list(); len(list) > 0 {
		t.Errorf("left: %q", list)
	}
	f.is("events", 2, 0, 0, 0)
	f.sql(`delete from event_fact where name = 'PAGE_VIEW' and at = $1`, noon)
	f.is("events", 0, 0, 1, 1)
	f.is("credits", 0, 0, 0, 0)
	f.is("ledger", 1, 0, 0, 0)
	f.sql(`update ledger_entry set statement_id = $1 where order_id = '1'`, statement)
	f.is("ledger", 0, 1, 0, 0)
	f.is("statements", 1, 0, 0, 0)
	f.sql(`update statement_payment set undone_rev = 3`)
	f.is("statements", 0, 1, 0, 0)
}

func TestTwoExportsDoNotWriteToOneDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Open(dir, "parquet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "parquet"); err == nil || !strings.Contains(err.Error(), "another export writes to") {
		t.Errorf("the second: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// Another test may be starting a process, which has the file until it begins to run.
	var again *Dir
	await.Until(t, await.Long, func() bool {
		again, err = Open(dir, "parquet")
		return err == nil
	}, func() string { return err.Error() })
	if again.ID != first.ID {
		t.Errorf("the directory is another one: %s, %s", again.ID, first.ID)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// ended is an erasure whose last step in the database is done, as the processor does it.
func (f *files) ended() (id string) {
	f.t.Helper()
	id = uuid.NewString()
	f.sql(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, salt, phase) 
		values ($1, $2, 1, now(), 'test', 'email', '', 5)`,
		f.company, id)
	db, err := postgres.Open(f.t.Context(), f.DSN)
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	if err := factstore.New(db).Transact(f.t.Context(), func(tx *factstore.Tx) error {
		return tx.Erasure().EndErasure(f.t.Context(), f.company, &erasure.Erasure{ErasureID: id}, time.Now())
	}); err != nil {
		f.t.Fatal(err)
	}
	return id
}

// state checks the state of an erasure.
func (f *files) state(id, want string, exports int) {
	f.t.Helper()
	e, err := f.DB.Erasure(f.t.Context(), f.company, id)
	if err != nil || e.State != want || len(e.Exports) != exports || e.DoneAt.IsZero() != (want != commerce.Erased) {
		f.t.Errorf("the erasure is %+v, %v; want %s, with %d exports", e, err, want, exports)
	}
	list, err := f.DB.Erasures(f.t.Context(), f.company, 10)
	if err != nil || !slices.ContainsFunc(list, func(e commerce.Erasure) bool { return e.ErasureID == id && e.State == want }) {
		f.t.Errorf("the list has %+v, %v", list, err)
	}
}

// An erasure is done when the files that can name its person have been written after its rows were removed.
func TestAnErasureWaitsForExportedFiles(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.state(f.ended(), commerce.Erased, 0) // nothing was exported
	f.export("events")
	f.export("orders")
	f.export("ledger") // its files name nobody

	id := f.ended()
	f.state(id, commerce.ErasingFiles, 2)
	f.export("ledger")
	f.state(id, commerce.ErasingFiles, 2)
	if r := f.export("orders"); len(r.Erasures) > 0 {
		t.Errorf("done already: %+v", r)
	}
	f.state(id, commerce.ErasingFiles, 1)
	if r := f.export("events"); !slices.Equal(r.Erasures, []string{id}) {
		t.Errorf("not done: %+v", r)
	}
	f.state(id, commerce.Erased, 0)

	// A run that had begun may have read the person's rows.
	dir, err := Open(f.dir, f.format)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	x := commerce.Export{CompanyID: f.company, ExportID: dir.ID, Kind: "events", Format: f.format, Place: dir.Place}
	if err := f.DB.BeginExport(t.Context(), &x); err != nil {
		t.Fatal(err)
	}
	id = f.ended()
	if done, err := f.DB.EndExport(t.Context(), x); err != nil || len(done) > 0 {
		t.Errorf("done by a run from before: %v, %v", done, err)
	}
	f.state(id, commerce.ErasingFiles, 2)
	list, err := f.DB.Exports(t.Context(), f.company)
	if err != nil || len(list) != 3 || list[0].Kind != "events" || list[0].Erasures != 1 || list[0].Days != 2 || list[0].Rows != 2 ||
		list[1].Erasures != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	// The files are gone.
	if done, err := f.DB.ForgetExport(t.Context(), f.company, dir.ID); err != nil || !slices.Equal(done, []string{id}) {
		t.Errorf("forgotten: %v, %v", done, err)
	}
	f.state(id, commerce.Erased, 0)
}

// A visitor's id is in no Parquet file either, packed or not.
func TestNoParquetFileHasAKeyedHash(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("events")
	f.export("orders")
	for _, name := range f.list() {
		file, err := os.Open(filepath.Join(f.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := parquet.Read[any](file, sizeOf(t, file))
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %v, %d rows", name, err, len(rows))
		}
		for _, row := range rows {
			for key, value := range row.(map[string]any) {
				text, _ := value.(string)
				for _, needle := range []string{visitor, emailKey, cartKey, string(packed.ID(visitor))} {
					if strings.Contains(text, needle) {
						t.Errorf("%s: %s is %q", name, key, text)
					}
				}
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func sizeOf(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
