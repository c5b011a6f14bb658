package postgres_test

import (
	"bufio"
	_ "embed"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

// fanOutFile lists the functions whose statements ask all shards of a Citus cluster.
//
//go:embed fanout.txt
var fanOutFile string

// fanOut reads fanOutFile: functions, as "package.Function", and how often each runs.
func fanOut(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(fanOutFile)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		function, when, found := strings.Cut(line, ": ")
		if !found || list[function] != "" {
			t.Fatalf("fanout.txt: %q is no new function with how often it runs", line)
		}
		list[function] = when
	}
	return list
}

// perFact is which functions are called for each event, each order or each request: the packages whose statements the processor
// sends with each batch, and what keys of requests are looked up by.
var perFact = regexp.MustCompile(`^(factstore|cases)\.|^merchant\.(APIKey|ClaimKey|ClaimEntry|KnownNames|PersonSession)`)

// checkFanOut compares the statements that ask all shards with the list. On PostgreSQL alone it checks the list.
func checkFanOut(t *testing.T, sent []*statements.Statement, calls []statements.Call) {
	t.Helper()
	listed, known := fanOut(t), map[string]bool{}
	name := func(c statements.Call) string { return path.Base(c.Package) + "." + c.Function }
	for _, c := range calls {
		known[name(c)] = true
	}
	for function := range listed {
		if !known[function] {
			t.Errorf("fanout.txt: %s sends no statement", function)
		}
		if perFact.MatchString(function) {
			t.Errorf("fanout.txt: %s is called for each event, order or request: it must ask one shard", function)
		}
	}
	for _, s := range sent {
		if volatile.MatchString(s.SQL) && onCluster.MatchString(s.SQL) {
			t.Errorf("Citus refuses an update with a volatile function: %s", s.SQL)
		}
		if nested.MatchString(s.SQL) {
			t.Errorf("Citus refuses a subquery among the values of an insert: %s", s.SQL)
		}
	}
	if os.Getenv(devtest.CitusVariable) == "" {
		return
	}
	explained, found := explain(t, sent), map[string]bool{}
	for s, tasks := range explained {
		if tasks <= 1 {
			continue
		}
		var by []string
		for _, c := range calls {
			if !c.ReadsName && (c.Queued && s.SQL == c.SQL || !c.Queued && s.At(c)) {
				by = append(by, name(c))
				found[name(c)] = true
			}
		}
		slices.Sort(by)
		if !slices.ContainsFunc(by, func(function string) bool { return listed[function] != "" }) {
			t.Errorf("fanout.txt has none of %s, whose statement asks %d shards: %s", strings.Join(slices.Compact(by), ", "), tasks, s.SQL)
		}
	}
	for function := range listed {
		if !found[function] {
			t.Errorf("fanout.txt: %s asks one shard", function)
		}
	}
	if len(explained) < 150 {
		t.Errorf("only %d statements were explained", len(explained))
	}
}

// What Citus refuses, as was seen. onCluster are updates of tables that it knows and that had it.
var (
	volatile  = regexp.MustCompile(`(?i)\b(clock_timestamp|gen_random_uuid|random)\(\)`)
	onCluster = regexp.MustCompile(`(?i)\bupdate\s+(destination|connection\w*|consumer_offset|outbox|influencer\w*|orders|payout)\b`)
	nested    = regexp.MustCompile(`(?i)\bvalues\s*\([^()]*\(\s*select\b`)
)

var taskCount = regexp.MustCompile(`Task Count: (\d+)`)

// explain asks Citus of how many tasks each statement is; those that it cannot explain, such as begin, have none.
func explain(t *testing.T, sent []*statements.Statement) map[*statements.Statement]int {
	t.Helper()
	conn, explained := connect(t, devtest.Postgres(t)), map[*statements.Statement]int{}
	for _, s := range sent {
		switch first := strings.ToLower(strings.Fields(s.SQL)[0]); {
		case s.Copied: // each row goes to its shard
			continue
		case !slices.Contains([]string{"select", "insert", "update", "delete", "with", "merge"}, first):
			continue
		}
		args := slices.DeleteFunc(slices.Clone(s.Args), func(arg any) bool {
			_, formats := arg.(pgx.QueryResultFormats) // of the statement, not of its explanation
			return formats
		})
		lines, err := postgres.Collect(t.Context(), conn, pgx.RowTo[string], "explain (costs off) "+s.SQL, args...)
		if err != nil { // Citus explains no insert from a select with parameters, though it runs it
			lines, err = postgres.Collect(t.Context(), conn, pgx.RowTo[string], "explain (costs off) "+s.SQL,
				append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
		}
		if err != nil {
			t.Errorf("cannot be explained: %v: %s", err, s.SQL)
			continue
		}
		most := 0
		for _, match := range taskCount.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			n, _ := strconv.Atoi(match[1]) // digits
			most = max(most, n)
		}
		explained[s] = most
	}
	return explained
}
