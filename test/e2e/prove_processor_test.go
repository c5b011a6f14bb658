package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/prove/processing"
)

// TestTheLedgerIsThatOfTheFacts is the short form of `make prove`'s lines about the processor: the ledger is that of the facts
// when it is killed inside of a transaction, and when partitions move between two processors. They move on a real Kafka; the
// kill comes on the embedded broker. `make prove` has the other faults.
func TestTheLedgerIsThatOfTheFacts(t *testing.T) {
	devtest.NeedsIntegration(t)
	ran := 0
	for _, fault := range processing.Faults() {
		if fault.Name != "killed-inside" && fault.Name != "moved" {
			continue
		}
		ran++
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			place := processing.Place{
				Binary: raced(), Dir: filepath.Join(t.TempDir(), "run"), DSN: devtest.Postgres(t), Say: t.Logf,
				Kafka: func(context.Context) (processing.Kafka, error) {
					if fault.Name == "moved" {
						broker := devtest.RealKafka(t) //nolint:contextcheck // devtest has its own
						return processing.Kafka{Addr: broker.Addr, Stop: func() {}, Pause: broker.Pause, Continue: broker.Continue}, nil
					}
					return processing.Kafka{Addr: devtest.Kafka(t), Stop: func() {}}, nil //nolint:contextcheck // likewise
				},
			}
			o, err := processing.Run{Place: place, Fault: fault, Size: processing.Short(), Seed: 1}.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range o.Problems {
				t.Error(problem)
			}
			t.Logf("%d records, %d orders, %d kills, %d moves: %s", o.Records, o.Orders, o.Kills, o.Moves, o.Faulted)
		})
	}
	if ran != 2 {
		t.Errorf("%d faults ran", ran)
	}
}
