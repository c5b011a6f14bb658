package network_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// Google takes a sale at once and says later whether it counts. It is asked after half an hour, then less and less often, for a day. What
// it dropped is given up with its reason, and can be sent again.
func TestGoogleSaysLaterWhatBecameOfASale(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var status atomic.Value
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, _ := status.Load().(string); r.Method == http.MethodGet && text != "" {
			_, _ = io.WriteString(w, `{"requestStatusPerDestination":[`+text+`]}`)
			return
		}
		s.google.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.options.Rewrite["datamanager.googleapis.com"] = front.URL
	s.account(commerce.ToGoogle)
	b := s.buyer("maria")
	s.does(b, completed, "granted google")
	s.buys(b, "1")
	s.look("1")
	told := func() (sent bool, wait time.Duration) {
		t.Helper()
		var seconds float64
		s.must(s.db.Pool().QueryRow(t.Context(), `select exists (select from conversion where sent_at is not null),
			(select extract(epoch from due_at - now())::float8 from outgoing)`).Scan(&sent, &seconds))
		return sent, time.Duration(seconds * float64(time.Second))
	}
	const processing = "net_google order:1 waiting processing fake-request-"
	waits := func(least, most time.Duration) func() bool {
		return func() bool {
			sent, wait := told()
			return sent && wait > least && wait < most && strings.HasPrefix(s.messages()[0], processing)
		}
	}
	s.send(waits(29*time.Minute, 31*time.Minute))
	requests := s.google.Requests()
	s.exec(`update outgoing set tries = jsonb_set(tries, '{-1,at}', to_jsonb(now() - interval '3 h'))`)
	status.Store(`{"requestStatus":"PROCESSING"}`)
	s.due()
	s.send(waits(179*time.Minute, 181*time.Minute))
	if n := s.google.Requests() - requests; n != 1 { // for an access token
		t.Errorf("Google was asked %d times more", n)
	}
	status.Store(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_DENIED_CONSENT",` +
		`"recordCount":"1"}]}}`)
	s.due()
	s.send(func() bool { return !strings.Contains(s.messages()[0], "waiting") })
	s.wantMessages("net_google order:1 parked refused FAILED PROCESSING_ERROR_REASON_DENIED_CONSENT")
	if sent, _ := told(); sent {
		t.Error("what Google dropped is stored as what it has")
	}
	// Sent again, it is known by its id: Google has it.
	status.Store("")
	again := func(answer string) {
		t.Helper()
		s.exec(`update outgoing set state = 'waiting', due_at = now(), attempts = 0, done_at = null,
			tries = jsonb_set(tries, '{-1,at}', to_jsonb(now() - interval '25 h'))`)
		status.Store(answer)
		s.due()
		s.sendAll()
		s.wantMessages("net_google order:1 delivered")
		if sent, _ := told(); !sent || len(s.google.Events()) != 1 {
			t.Errorf("sent: %t, Google has %q", sent, idsOf(s.google.Events()))
		}
	}
	again("")
	// Where Google says nothing for a day, what it took is done.
	s.exec(`update outgoing set tries = '[{"at": "2026-01-01T00:00:00Z", "failure": "processing", "answer": "r", "took_ms": 1}]'`)
	again(`{"requestStatus":"PROCESSING"}`)
	// A refund that Google drops is still to be told: Google has the sale as it was.
	has := func(minor int64) {
		t.Helper()
		var stored int64
		s.must(s.db.Pool().QueryRow(t.Context(), `select value_minor from conversion where sent_at is not null`).Scan(&stored))
		if stored != minor {
			t.Errorf("Google has %d, want %d", stored, minor)
		}
	}
	s.buys(b, "1", func(o *reporttest.Order) { o.Status = commerce.OrderCancelled })
	s.look("1")
	status.Store(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_INVALID_EVENT"}]}}`)
	s.sendAll()
	s.wantMessages("net_google order:1 delivered", "net_google order:1 parked refused FAILED PROCESSING_ERROR_REASON_INVALID_EVENT")
	has(12990)
	// What fails at Google is sent again.
	s.look("1")
	status.Store(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_INTERNAL_ERROR"}]}}`)
	s.send(func() bool { return strings.Contains(strings.Join(s.messages(), ";"), "waiting processing") })
	s.due()
	s.send(func() bool { return strings.Contains(strings.Join(s.messages(), ";"), "waiting status FAILED") })
	has(12990)
	status.Store(`{"requestStatus":"SUCCESS"}`)
	s.due()
	s.sendAll()
	has(0)
}
