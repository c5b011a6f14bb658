package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// An export of every company, what it tells, and that its directory can be forgotten.
func TestExportTellsWhatItWrote(t *testing.T) {
	live, dsn := installation(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	put := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, append([]any{live.CompanyID}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	body, err := facts.PackOrder(&wire.Order{OrderID: "o1", CreatedAt: time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC), Currency: "BRL",
		TotalMinor: 100})
	if err != nil {
		t.Fatal(err)
	}
	put(`insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, body, processed_at)
		values ($1, 'o1', '2026-11-05', '2026-11-05', 0, 'BRL', 100, $2, now())`, body)
	dir := t.TempDir()
	file := filepath.Join(dir, "orders", "company="+live.CompanyID, "day=2026-11-05", "orders.csv")
	refused := func(want string, args ...string) {
		t.Helper()
		if out, status := command(t, append([]string{"export"}, args...)...); status == 0 || !strings.Contains(out, want) {
			t.Errorf("export %v: exit status %d and\n%s\nwant %q", args, status, out, want)
		}
	}
	refused("give --export-key-file", "orders", "--to", dir)
	t.Setenv("TRIBUTARY_EXPORT_KEY", "short")
	refused("at least 32 bytes", "orders", "--to", dir)
	t.Setenv("TRIBUTARY_EXPORT_KEY", strings.Repeat("e", 32))
	refused(`"xlsx" is none of parquet, csv`, "orders", "--to", dir, "--format", "xlsx")
	refused("no such company", "orders", "--to", dir, "--company", "c_nobody")

	if out, status := command(t, "export", "orders", "--to", dir, "--format", "csv"); status != 0 ||
		!strings.Contains(out, live.CompanyID+": 1 new files, 0 written anew, 0 unchanged, 0 not compared, 0 removed; 1 rows,") {
		t.Fatalf("exit status %d and\n%s", status, out)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "\no1,2026-11-05T00:00:00Z,approved,BRL,100,") {
		t.Errorf("%v\n%s", err, text)
	}
	put(`update orders set status = 2 where company_id = $1`)
	// An erasure that waits for it: the processor has ended its work in the database.
	erasure := uuid.NewString()
	put(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, done_at) 
		values ($1, $2, 9, now(), 'test', 'email', now())`,
		erasure)
	put(`insert into erasure_export (company_id, erasure_id, export_id, kind, begun) select company_id, $2, export_id, kind, begun from export
		where company_id = $1`, erasure)
	if out, status := command(t, "export", "list", "--company", live.CompanyID, "--csv"); status != 0 ||
		!strings.Contains(out, ",orders,csv,") || !strings.Contains(out, ",1,1,") || !strings.Contains(out, dir) ||
		!strings.HasSuffix(out, ",1\n") {
		t.Errorf("exit status %d and\n%s", status, out)
	}
	done := reported[exportReport](t, 0, "export", "orders", "--to", dir, "--format", "csv", "--company", live.CompanyID)
	if len(done.Companies) != 1 || len(done.Companies[0].Anew) != 1 || done.Companies[0].Anew[0] != file || done.Companies[0].Rows != 1 ||
		len(done.Companies[0].Erasures) != 1 || done.Companies[0].Erasures[0] != erasure || done.Companies[0].Removed == nil {
		t.Errorf("%+v", done)
	}

	out, status := command(t, "export", "list", "--company", live.CompanyID, "--json")
	var list []struct {
		ExportID string `json:"export_id"`
		Waiting  int    `json:"erasures_waiting"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 || len(list) != 1 || list[0].Waiting != 0 {
		t.Fatalf("%v, exit status %d and\n%s", err, status, out)
	}
	refused("nothing of "+live.CompanyID+" was exported to", "forget", t.TempDir(), "--company", live.CompanyID)
	refused("nothing of "+live.CompanyID+" was exported to", "forget", uuid.NewString(), "--company", live.CompanyID)
	// What is there can name a person.
	refused(file+" is still there", "forget", dir, "--company", live.CompanyID)
	if err := os.RemoveAll(filepath.Join(dir, "orders")); err != nil {
		t.Fatal(err)
	}
	gone := reported[forgottenReport](t, 0, "export", "forget", dir, "--company", live.CompanyID)
	if gone.ExportID != list[0].ExportID {
		t.Errorf("%+v, want %s", gone, list[0].ExportID)
	}
	refused("nothing of "+live.CompanyID, "forget", list[0].ExportID, "--company", live.CompanyID)

	// A directory that is gone as a whole is forgotten by its place, here or as the list has it.
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, host + ":" + dir, "elsewhere:/srv/files"} {
		was := reported[exportReport](t, 0, "export", "orders", "--to", dir, "--format", "csv", "--company", live.CompanyID)
		if len(was.Companies) != 1 || was.Companies[0].New != 1 {
			t.Fatalf("%+v", was)
		}
		if name == "elsewhere:/srv/files" {
			put(`update export set place = $2 where company_id = $1 and forgotten_at is null`, name)
		} else {
			if err := os.RemoveAll(filepath.Join(dir, "_tributary")); err != nil {
				t.Fatal(err)
			}
			refused("is still there", "forget", name, "--company", live.CompanyID)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if gone := reported[forgottenReport](t, 0, "export", "forget", name, "--company", live.CompanyID); gone.ExportID == list[0].ExportID {
			t.Errorf("%+v", gone)
		}
		refused("nothing of "+live.CompanyID+" was exported to "+name, "forget", name, "--company", live.CompanyID)
	}
	for range 2 {
		reported[exportReport](t, 0, "export", "orders", "--to", dir, "--company", live.CompanyID)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	refused("give one of the ids", "forget", dir, "--company", live.CompanyID)

	// No company is left out without a word.
	put(`with s as (insert into store (store_id, name) select gen_random_uuid(), $1 from generate_series(1, 100000) returning store_id)
		insert into company (company_id, store_id, environment, name) select 'c_' || store_id, store_id, 'live', 'Another' from s`)
	refused("more than 100000 companies", "orders", "--to", dir)
}
