package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Rules for the files after those of 0.1.0: while they run, services of the version before and of this one write. A statement that
// is of none of these forms is refused; who needs another form adds it here, with the reason why nobody waits.

const (
	table    = `(?:if not exists |if exists )?([a-z_0-9]+)`
	kind     = `[a-z]+(?: [a-z]+)*(?:\([0-9, ]+\))?(?:\[\])?`
	constant = `(?:-?[0-9.]+|'[^']*'(?:::[a-z ]+(?:\[\])?)?|true|false|null)`
)

// inTransaction are forms of a file that is one transaction. Each lock of another's table is held until its end, so a file changes
// one such table alone.
var inTransaction = []struct{ form, why string }{
	{`create table ` + table + ` \([^;]*\)`, "nobody has it yet"},
	{`create (?:or replace )?(?:view|function) [^;]*`, "replaces text alone"},
	{`create (?:unique )?index [a-z_0-9]+ on ` + table + ` [^;]*`, "only on a table of the same file: all writers wait for it"},
	{`insert into ` + table + ` [^;]*`, "only into a table of the same file"},
	{`alter table ` + table + ` add column [a-z_0-9]+ ` + kind + `(?: not null)?(?: default ` + constant + `)?`,
		"writes no row: a default that is constant is kept beside the table"},
	{`alter table ` + table + ` alter column [a-z_0-9]+ (?:set default ` + constant + `|drop default|drop not null)`, "reads no row"},
	{`alter table ` + table + ` add constraint [a-z_0-9]+ check \([^;]*\) not valid`, "rows of before are not read; validate it later"},
	{`update oldest_program set schema_version = [0-9]+`, "has one row"},
}

// contracting are forms only for files that end older programs.
var contracting = []struct{ form, why string }{
	{`drop (?:table|view|function) (?:if exists )?[a-z_0-9]+(?:\([^;]*\))?`, "no program of now uses it"},
	{`alter table ` + table + ` drop (?:column|constraint) [a-z_0-9]+`, "writes no row"},
}

// alone are forms of a file with NO TRANSACTION, each statement by itself. They wait, for hours too, and nobody waits for them.
var alone = []struct{ form, why string }{
	{`set lock_timeout = 0`, "these wait without keeping others from the table"},
	{`reset lock_timeout`, "for the files after it"},
	{`drop index concurrently if exists [a-z_0-9]+`, "one whose making was cut off is there and is of no use"},
	// Not a unique one: while it is made it refuses what older programs may write twice.
	{`create index concurrently [a-z_0-9]+ on ` + table + ` [^;]*`, "writers go on"},
	{`alter table ` + table + ` validate constraint [a-z_0-9]+`, "writers go on"},
}

// partitioned tables take no index concurrently.
var partitioned = map[string]bool{"event_fact": true}

// notInColumn is what makes a statement that adds a column write rows, or lock another table.
var notInColumn = regexp.MustCompile(`\b(?:serial|bigserial|smallserial|references|primary key|generated|unique)\b`)

// waits says what in a migration may make somebody wait, or breaks off half done.
func waits(text string) (found []string) {
	whole := !strings.Contains(text, "-- +goose NO TRANSACTION")
	if strings.Contains(text, "StatementBegin") != whole {
		found = append(found, "StatementBegin and StatementEnd are around a file of a transaction, and in no other")
	}
	text = regexp.MustCompile(`--[^\n]*`).ReplaceAllString(text, "")
	text = strings.Join(strings.Fields(text), " ")
	ours, others, dropped := map[string]bool{}, map[string]bool{}, map[string]bool{}
	forms := inTransaction
	if strings.Contains(text, "update oldest_program set") {
		forms = append(forms[:len(forms):len(forms)], contracting...)
	}
	if !whole {
		forms = alone
	}
	list := statementsOf(text)
	for n, s := range list {
		var of []string
		for _, f := range forms {
			if of = regexp.MustCompile(`^` + f.form + `$`).FindStringSubmatch(s); of != nil {
				break
			}
		}
		name := ""
		if len(of) > 1 {
			name = of[1]
		}
		words := strings.Fields(s)
		switch {
		case of == nil || notInColumn.MatchString(s) && strings.HasPrefix(s, "alter table") ||
			strings.Contains(s, "references") && strings.HasPrefix(s, "create table"):
			found = append(found, "of no form that is known to make nobody wait: "+s)
		case strings.HasPrefix(s, "create table"):
			ours[name] = true
		case whole && (strings.Contains(s, " index ") || strings.HasPrefix(s, "insert")) && !ours[name]:
			found = append(found, name+" is not made by the same file: "+s)
		case strings.HasPrefix(s, "drop index"):
			dropped[words[len(words)-1]] = true
		case !whole && strings.HasPrefix(s, "create "):
			index := strings.Fields(s[strings.Index(s, "concurrently"):])[1]
			if !dropped[index] {
				found = append(found, index+" may be there, cut off: drop it before")
			}
			if partitioned[name] {
				found = append(found, name+" has partitions, of which each gets its index")
			}
		case whole && strings.HasPrefix(s, "alter table") && !ours[name]:
			others[name] = true
		}
		if !whole && (n == 0) != (s == "set lock_timeout = 0") || !whole && (n == len(list)-1) != (s == "reset lock_timeout") {
			found = append(found, "set lock_timeout = 0 comes first, and reset lock_timeout last")
		}
	}
	if len(others) > 1 {
		found = append(found, fmt.Sprintf("%d tables are changed: while it waits for one, others wait for those before", len(others)))
	}
	if !whole && strings.Contains(text, "oldest_program") {
		found = append(found, "oldest_program is of a file of a transaction")
	}
	return found
}

// statementsOf splits a text at the semicolons that are in no function's body.
func statementsOf(text string) (list []string) {
	for at, body := range strings.Split(text, "$$") {
		if at%2 == 1 {
			list[len(list)-1] += "…"
			continue
		}
		for n, s := range strings.Split(body, ";") {
			if n == 0 && at > 0 {
				list[len(list)-1] += s
				continue
			}
			list = append(list, strings.ToLower(strings.TrimSpace(s)))
		}
	}
	var whole []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			whole = append(whole, s)
		}
	}
	return whole
}

func TestNoMigrationMakesWritersWait(t *testing.T) {
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < firstSchema {
		t.Fatal(err, files)
	}
	for _, file := range files[firstSchema:] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range waits(string(text)) {
			t.Errorf("%s: %s", file, what)
		}
	}
}

func TestWhatMakesWritersWaitIsFound(t *testing.T) {
	within := func(s string) string {
		return "-- +goose Up\n-- +goose StatementBegin\n-- older programs go on: they do\n" + s + "\n-- +goose StatementEnd\n"
	}
	without := func(s string) string {
		return "-- +goose NO TRANSACTION\n-- +goose Up\nset lock_timeout = 0;\n" + s + "\nreset lock_timeout;\n"
	}
	for _, good := range []string{
		within(`create table webhook (company_id text not null, n int default 1, primary key (company_id, n)); create index x on webhook (n);`),
		within("create function f() returns int language plpgsql as $$ begin update orders set n = 1; return 1; end $$;" +
			"create view v as select 1;"),
		within(`alter table orders add column source text not null default 'shop'; alter table orders add column b numeric(10, 2);`),
		within(`alter table orders add column at timestamp with time zone; alter table orders add column r double precision default 0.5;`),
		within(`alter table orders add column tags text[]; alter table orders add constraint c check (total_minor >= 0) not valid;`),
		within(`alter table orders drop column source; update oldest_program set schema_version = 9;`),
		without(`drop index concurrently if exists x; create index concurrently x on orders (company_id) where a = 1;`),
		without(`alter table orders validate constraint c;`),
	} {
		if found := waits(good); len(found) > 0 {
			t.Errorf("%s: %q", good, found)
		}
	}
	for _, bad := range []string{
		within(`create index x on orders (company_id);`),
		within(`create unique index x on orders (company_id);`),
		within(`create index concurrently x on orders (company_id);`),
		within(`alter table orders add column at timestamptz not null default clock_timestamp();`),
		within(`alter table orders add column id uuid default gen_random_uuid();`),
		within(`alter table orders add column id bigserial;`),
		within(`alter table orders add column n int generated always as (1) stored;`),
		within(`alter table orders add column n int unique;`),
		within(`alter table orders add column n int references company;`),
		within(`alter table orders add column n int check (n > 0);`),
		within(`alter table orders alter column total_minor type numeric;`),
		within(`alter table orders alter column name set not null;`),
		within(`alter table orders add constraint c check (total_minor >= 0);`),
		within(`alter table orders add constraint c unique (company_id, number);`),
		within(`alter table orders add foreign key (company_id) references company;`),
		within(`alter table orders validate constraint c;`),
		within(`alter table orders rename column name to title;`),
		within(`alter table orders drop column name;`),
		within(`drop table orders;`),
		within(`truncate orders;`),
		within(`update orders set status = 1;`),
		within(`delete from orders;`),
		within(`insert into orders select * from orders;`),
		within(`lock table orders;`),
		within(`vacuum full orders;`),
		within(`cluster orders;`),
		within(`select pg_sleep(10);`),
		within(`alter table orders add column a int; alter table payout add column a int;`),
		within("create function f() returns int language sql as $$ select 1; $$; update orders set n = 1;"),
		without(`create index concurrently x on orders (company_id);`),
		without(`drop index concurrently if exists y; create index concurrently x on orders (company_id);`),
		without(`drop index concurrently if exists x; create index concurrently x on event_fact (company_id);`),
		within(`alter table orders add column a int, alter column status type bigint;`),
		within(`alter table orders add column a int, alter column name set not null;`),
		within(`alter table orders add column a int, drop column name;`),
		within(`create table x (company_id text primary key, order_id text references orders);`),
		without(`drop index concurrently if exists x; create unique index concurrently x on orders (company_id);`),
		without(`create index x on orders (company_id);`),
		without(`alter table orders add column a int;`),
		without(`update oldest_program set schema_version = 9;`),
		strings.Replace(without(`alter table orders validate constraint c;`), "reset lock_timeout;", "", 1),
		strings.Replace(without(`alter table orders validate constraint c;`), "set lock_timeout = 0;", "", 1),
		"-- +goose Up\nalter table orders add column a int;\n",
	} {
		if len(waits(bad)) == 0 {
			t.Errorf("nothing is found in %s", bad)
		}
	}
}
