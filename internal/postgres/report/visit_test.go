package report

import (
	"testing"

	"github.com/tributary-io/tributary/internal/fraud"
)

func TestVisitsOfAReportAreBounded(t *testing.T) {
	t.Parallel()
	const id = "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b3"
	cart, identity := fraud.Sale{Last: fraud.Last{EventID: id}}, fraud.Sale{Last: fraud.Last{EventID: id, ByIdentity: true}}
	own := fraud.Sale{Last: fraud.Last{EventID: "order"}}
	b := visitBudget{visits: 4, identities: 1}
	if n := len(b.take([]fraud.Sale{own, {}, identity, identity, cart})); n != 2 {
		t.Errorf("of the first page %d visits are read, want 2", n)
	}
	if n := len(b.take([]fraud.Sale{identity, cart, cart, cart})); n != 2 {
		t.Errorf("of the second page %d visits are read, want 2", n)
	}
}
