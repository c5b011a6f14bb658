package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/prove"
)

// randomText is what the page says above the table of random facts.
const randomText = "" +
	"The processor's tests of random facts: each makes histories from seeds and gives them to the processor in other orders, batches and\n" +
	"ways, on a real PostgreSQL. `make test` runs some of the seeds; here are all of them."

// randomTests are those tests (seeds, processor/harness_test.go).
var randomTests = []string{
	"TestAClosedStatementNeverChanges", "TestAReplayGivesTheSameLedgerHash", "TestAgreementsFollowFromTheRulesAndTheClosedDay",
	"TestAnErasureChangesNoOutcome", "TestCreditsDependOnTheSetOfFactsAlone", "TestCreditsNeverChangeByAge",
	"TestEntriesAndStatementsConserveMoney", "TestRotationsChangeNoPayout", "TestStrangersChangeNothingThatIsPosted",
	"TestSumsFollowEveryChange", "TestWhatFollowsACheckoutMovesNothing",
}

// randomSection is the part of `make prove` about random facts.
func randomSection() prove.Section {
	return prove.Section{
		Name: "random", Title: "Random facts", Text: randomText, Columns: []string{"tests", "passed", "it took"},
		Cases: []prove.Case{{Name: "processor", Title: "the processor, all seeds", Run: runRandom}},
	}
}

func runRandom(ctx context.Context, _ prove.Env) (prove.Result, error) {
	began := time.Now()
	counts, failed, err := prove.Tests(ctx, 30*time.Minute, "TRIBUTARY_TEST_SEEDS=all",
		"-run=^("+strings.Join(randomTests, "|")+")$", "./processor")
	if err == nil && len(failed) == 0 && counts["pass"] != len(randomTests) {
		failed = []string{fmt.Sprintf("%d of %d tests ran", counts["pass"], len(randomTests))}
	}
	return prove.Result{
		Cells:    []string{fmt.Sprint(len(randomTests)), fmt.Sprint(counts["pass"]), fmt.Sprintf("%.0f s", time.Since(began).Seconds())},
		Problems: failed,
	}, err
}
