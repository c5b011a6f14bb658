package processor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// What merchants have asked for is measured until it is done, and counted then.
func TestWhatWasAskedForIsMeasured(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 20_000, coupon("ANA10"))
	o := s.owner()
	o.Log = onePartition{}
	asked := o.Now().UTC().Add(-2 * time.Hour)
	wantMetrics := func(when string, lines ...string) {
		t.Helper()
		if err := o.measureUnfinished(s.ctx); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		o.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range lines {
			if !strings.Contains(w.Body.String(), line+"\n") {
				t.Errorf("%s: no %q", when, line)
			}
		}
	}
	const waiting, done, oldest = "tributary_processor_asked_waiting", "tributary_processor_asked_done_total",
		"tributary_processor_asked_oldest_seconds"
	wantMetrics("at first", waiting+`{what="erasures"} 0`, waiting+`{what="statements"} 0`, oldest+`{what="erasures"} 0`)
	s.bump()
	erasure := s.asks(asked, facts.Key{Kind: facts.KeyEmail, Value: "k1:nobody"})
	statement := "019cd7a4-2e00-7000-8000-000000000077"
	list := []record{
		s.record(s.commerce(wire.KindErasure, erasure, asked, wire.Erasure{ErasureID: erasure})),
		s.record(s.commerce(wire.KindStatement, statement, asked,
			wire.Statement{StatementID: statement, InfluencerID: s.ana, Currency: "BRL", EndDate: "2026-12-31"})),
	}
	for i := range list {
		list[i].Offset = o.next[list[i].topic] + int64(i)
	}
	if err := o.applyRecords(s.ctx, list); err != nil {
		t.Fatal(err)
	}
	wantMetrics("when both are asked for", waiting+`{what="erasures"} 1`, waiting+`{what="statements"} 1`)
	if age := s.metric(o.Processor, oldest); age < 2*7200 { // of both together
		t.Errorf("they wait for %d s", age)
	}
	for s.int(`select count(*) from recompute_company`) > 0 {
		if err := o.recomputeQueued(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantMetrics("when both are done", waiting+`{what="erasures"} 0`, waiting+`{what="statements"} 0`, oldest+`{what="statements"} 0`,
		done+`{what="erasures"} 1`, done+`{what="statements"} 1`)
}
