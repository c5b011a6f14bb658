package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/prove/processing"
)

// place is what a run of package processing needs. The run asks for an empty Kafka of
// its own now and then, a real one or an embedded one.
func place(t *testing.T, real bool) processing.Place {
	t.Helper()
	return processing.Place{
		Binary: binary, Dir: filepath.Join(t.TempDir(), "run"), DSN: devtest.Postgres(t), Say: t.Logf,
		Kafka: func(context.Context) (processing.Kafka, error) {
			if real {
				broker := devtest.RealKafka(t) //nolint:contextcheck // devtest has its own
				return processing.Kafka{Addr: broker.Addr, Stop: func() {}, Pause: broker.Pause, Continue: broker.Continue}, nil
			}
			return processing.Kafka{Addr: devtest.Kafka(t), Stop: func() {}}, nil //nolint:contextcheck // likewise
		},
	}
}

// TestTheLedgerIsThatOfTheFacts is the short form of `make prove`'s lines about the
// processor: whatever happens to it, the ledger is that of the facts. Partitions move on
// a real Kafka, the other faults come on the embedded broker.
func TestTheLedgerIsThatOfTheFacts(t *testing.T) {
	devtest.NeedsIntegration(t)
	for _, fault := range processing.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			o, err := processing.Run{Place: place(t, fault.Name == "moved"), Fault: fault, Size: processing.Short(), Seed: 1}.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range o.Problems {
				t.Error(problem)
			}
			t.Logf("%d records, %d orders, %d kills, %d moves: %s", o.Records, o.Orders, o.Kills, o.Moves, o.Faulted)
		})
	}
}

// TestLiveOrdersDoNotWaitForAJob is the short form of its line of `make prove`.
func TestLiveOrdersDoNotWaitForAJob(t *testing.T) {
	devtest.NeedsIntegration(t)
	o, err := processing.ShortJob(place(t, false)).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range o.Problems {
		t.Error(problem)
	}
	t.Logf("%+v", o)
}

// TestProcessorsComeAndGo is the short form of its lines of `make prove`: on a real Kafka,
// since the embedded broker's groups are not Kafka's.
func TestProcessorsComeAndGo(t *testing.T) {
	devtest.NeedsIntegration(t)
	t.Parallel()
	o, err := processing.ShortScale(place(t, true)).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range o.Problems {
		t.Error(problem)
	}
	t.Logf("%+v", o)
}

// TestRemovalsEndWholeWhenTheirProcessIsKilled: persons are erased and all events are removed
// by processes that are killed inside of their transactions, and nothing is half.
func TestRemovalsEndWholeWhenTheirProcessIsKilled(t *testing.T) {
	devtest.NeedsIntegration(t)
	t.Parallel()
	o, err := processing.ShortRemoval(place(t, true)).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range o.Problems {
		t.Error(problem)
	}
	t.Logf("%+v", o)
}

// TestAStrangerCostsTheProcessorLittle is the line of `make prove`, but for its seconds: with a
// hard limit of 512 MiB the processor lives, again after a kill, and it never has more than 256.
func TestAStrangerCostsTheProcessorLittle(t *testing.T) {
	devtest.NeedsIntegration(t)
	p := place(t, false)
	p.Binary = filepath.Join(t.TempDir(), "tributary") // the race detector takes many times the memory
	if err := command(filepath.Join("..", ".."), "go", "build", "-o", p.Binary, "./cmd/tributary"); err != nil {
		t.Fatal(err)
	}
	o, err := processing.StrangersCost(p).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range o.Problems {
		t.Error(problem)
	}
	t.Logf("%+v", o)
}
