package facts

import (
	"slices"
	"testing"
)

// What is stored has these numbers.
func TestKindsAndHubsAreStoredByNumbers(t *testing.T) {
	all := slices.Concat(JoinKinds, DerivedKinds, NameKinds, []KeyKind{KeyCode})
	if len(all) != len(kindCodes) {
		t.Errorf("%d kinds have numbers, of %d", len(kindCodes), len(all))
	}
	for _, kind := range all {
		if got, err := KindOf(kind.Code()); err != nil || got != kind || kind.Code() == 0 {
			t.Errorf("%s has the number %d, which is %s, %v", kind, kind.Code(), got, err)
		}
	}
	if KeyVisitor.Code() != 3 || KeyNetwork.Code() != 4 || KeyUser.Code() != 10 {
		t.Error("indexes and statements name kinds by other numbers")
	}
	if _, err := KindOf(0); err == nil {
		t.Error("0 is a kind")
	}
	for code := range int16(4) {
		if hub, err := HubOf(code); err != nil || hub.Code() != code {
			t.Errorf("%d is %q, %v", code, hub, err)
		}
	}
	if NoHub.Code() != 0 || HubOfVisitors.Code() != 2 {
		t.Error("statements name hubs by other numbers")
	}
	for _, code := range []int16{-1, 4} {
		if hub, err := HubOf(code); err == nil {
			t.Errorf("%d is %q", code, hub)
		}
	}
}
