package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/prove/edgefault"
)

// TestNothingAcknowledgedIsLostOrReordered is the short form of `make prove`: the
// faults that one Kafka node can have, except those that need root or 64 more
// clients.
func TestNothingAcknowledgedIsLostOrReordered(t *testing.T) {
	devtest.NeedsIntegration(t)
	names := []string{"edge-terminated", "no-spool", "both-gone", "drain-killed", "broker-hung", "answers-lost"}
	for _, fault := range edgefault.Faults() {
		if !slices.Contains(names, fault.Name) {
			continue
		}
		t.Run(fault.Name, func(t *testing.T) {
			outcome, err := edgefault.Run{
				Fault: fault, Size: edgefault.Short(), Nodes: 1, Binary: binary, Dir: filepath.Join(t.TempDir(), "run"), Seed: 1, Say: t.Logf,
			}.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !outcome.Good() {
				t.Errorf("%+v", outcome)
			}
			t.Logf("%d sent, %d acknowledged, %d from the spool, %d copies, %d refused, %v", outcome.Sent, outcome.Acked, outcome.Spooled,
				outcome.Copies, outcome.Refused, outcome.Lasted)
		})
	}
}
