package processor

import (
	"bytes"
	"log/slog"
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

// An erasure that waits for a run of an export is seen until that run is done, however long ago the database was done with it.
func TestWhatWaitsForExportsIsMeasured(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	o := s.owner()
	o.Log = onePartition{}
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	const what = `{what="exports"}`
	want := func(when string, waiting, oldest string, told bool) {
		t.Helper()
		log.Reset()
		if err := o.measureExports(s.ctx); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		o.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range []string{"tributary_processor_asked_waiting" + what + " " + waiting,
			"tributary_processor_asked_oldest_seconds" + what + " " + oldest} {
			if !strings.Contains(w.Body.String(), "\n"+line) {
				t.Errorf("%s: no %q", when, line)
			}
		}
		if strings.Contains(log.String(), "company="+s.company) != told {
			t.Errorf("%s: the log has %q", when, log.String())
		}
	}
	want("at first", "0\n", "0\n", false)
	now := time.Now()
	o.Now = func() time.Time { return now }
	late := s.asks(now.Add(-50 * time.Hour))
	s.asks(now.Add(-90 * time.Hour)) // of which nothing was exported
	for _, id := range []string{late, s.asks(now.Add(-time.Hour))} {
		s.exec(`insert into erasure_export (company_id, erasure_id, export_id, kind, begun)
			select $1, $2, gen_random_uuid(), kind, 1 from unnest(array['orders', 'events']) k (kind)`, s.company, id)
	}
	want("while the database has the persons", "0\n", "0\n", false)
	s.exec(`update erasure set done_at = now(), salt = null`)
	want("when the database has them no more", "2\n", "18000", true) // 180,000 s and a part of one
	s.exec(`delete from erasure_export where erasure_id = $1`, late)
	want("when the older one's files are written", "1\n", "3600", false)
	s.exec(`delete from erasure_export`)
	want("when all are", "0\n", "0\n", false)
}
