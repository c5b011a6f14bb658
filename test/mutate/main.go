// Command mutate runs mutation tests of the packages without I/O, each against
// its own tests, and fails where too many mutants live. A mutant is the package
// with one operator changed; it is killed when a test fails. Run it from the
// module's root:
//
//	go run ./test/mutate [DIRECTORY...]
//
// What may enter: running gremlins (.ci/gremlins.mod), reading its report,
// running what it leaves out (the conditions of cases), and the list of mutants that behave as the original does (equivalent.txt).
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// Least shares, in percent: killed of those that a test runs, and run by a test
// of all.
const (
	leastKilled  = 97
	leastCovered = 95
)

// purePackages are those that are tested when none is named.
func purePackages() []string {
	return []string{
		"internal/account", "internal/attribution", "internal/commerce", "internal/facts", "internal/fold", "internal/identity",
		"internal/ledger", "internal/lenient", "internal/models", "internal/publichost", "internal/scrub",
		"internal/upkeep/statements", "sdk/core",
	}
}

//go:embed equivalent.txt
var equivalentText string

func main() {
	flag.Parse()
	directories := flag.Args()
	if len(directories) == 0 {
		directories = purePackages()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	enough, err := run(ctx, directories)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if !enough {
		os.Exit(1)
	}
}

func run(ctx context.Context, directories []string) (enough bool, err error) {
	equivalent, err := parseEquivalent(equivalentText)
	if err != nil {
		return false, err
	}
	enough = true
	fmt.Printf("%-24s %8s %8s %8s %8s\n", "package", "mutants", "killed", "covered", "named")
	for _, directory := range directories {
		directory = filepath.ToSlash(filepath.Clean(directory))
		mutants, err := gremlins(ctx, directory)
		if err != nil {
			return false, err
		}
		if err := runCases(ctx, ".", directory, mutants); err != nil {
			return false, err
		}
		result := judge(directory, mutants, equivalent)
		fmt.Printf("%-24s %8d %7.1f%% %7.1f%% %8d\n", directory, result.total(), result.killedPercent(), result.coveredPercent(), result.named)
		for _, m := range result.alive {
			fmt.Printf("  %s %s:%d %s\n\t%s\n", m.status, m.file, m.line, m.kind, m.source)
		}
		for _, stale := range result.stale {
			fmt.Printf("  equivalent.txt names a mutant that does not live: %s %s\n\t%s\n", stale.file, stale.kind, stale.source)
		}
		if !result.enough() {
			enough = false
		}
	}
	if !enough {
		fmt.Printf("Want at least %d %% killed of those covered and %d %% covered, and no name in equivalent.txt without its mutant.\n",
			leastKilled, leastCovered)
	}
	return enough, nil
}
