package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// TestWhatNamesAShopperIsInOrderPersonalOnly sends more than a hundred e-mails,
// phones and customer ids, each of them once, by every way into the services.
// Then it reads every record of Kafka, every row of PostgreSQL, the whole log at
// debug level, PostgreSQL's own log, the edge's snapshot and the metrics. A value may stand in order_personal and in an
// order record's "personal" if it came in a field that is for it, and nowhere
// else. docs/security.md tells what is not looked for.
func TestWhatNamesAShopperIsInOrderPersonalOnly(t *testing.T) {
	t.Parallel()
	d := startDev(t, dataDir(t), "--empty", "--log-level", "debug")
	s := &sender{t: t, dev: d, short: d.register(t, "Ana Prado", "Inverno", "")}
	s.sendEvents()
	s.sendEnvelopes()
	s.sendRejectedEvents()
	s.sendPixels()
	s.openLink()
	s.sendHeaders()
	s.sendBrokenHTTP()
	s.sendOrders()
	s.sendRefusedOrders()
	s.importFiles()
	s.useDashboard()
	if len(s.planted.list) < 150 {
		t.Errorf("%d values were sent, want at least 150", len(s.planted.list))
	}

	wantCount(t, d.Postgres, "events", s.events, `select count(*) from event_fact where company_id = $1`, d.CompanyID)
	wantCount(t, d.Postgres, "orders", s.orders, `select count(*) from orders where company_id = $1`, d.CompanyID)

	all := allRecords(t, d.Kafka)
	all = append(all, allRows(t, d.Postgres)...)
	for _, url := range []string{d.EdgeURL + "/metrics", strings.TrimSuffix(d.AdminURL, "/admin/v1") + "/metrics"} {
		all = append(all, stored{place: "metrics", text: search(s.get(url))})
	}
	snapshot := filepath.Join(d.dir, "directory.json")
	await.Until(t, await.Long, func() bool { _, err := os.Stat(snapshot); return err == nil },
		func() string { return "the edge saves its snapshot" })
	d.stop(t) // the log is whole then
	for line := range strings.Lines(d.output.String()) {
		all = append(all, stored{place: "log", text: search(line)})
	}
	all = append(all, allFiles(t, d.dir)...)
	all = append(all, stored{place: "output of the imports", text: search(s.output.String())})

	wantRead(t, all, s)
	reportLeaks(t, all, s.planted.list)
}

// reportLeaks tells of each value where it was found and must not be, and of
// each that was not found where it has to be.
func reportLeaks(t *testing.T, all []stored, list []planted) {
	t.Helper()
	for i := range list {
		p := &list[i]
		inPersonal := map[string]bool{}
		leaks := map[string]string{} // the first text of each place
		for _, it := range all {
			if !p.found(it.text) {
				continue
			}
			if it.personal && p.kept {
				inPersonal[it.place] = true
			} else if leaks[it.place] == "" {
				leaks[it.place] = it.text.raw
			}
		}
		for place, text := range leaks {
			t.Errorf("%s: the value sent there is in %s: %s", p.door, place, tail(text, 1500))
		}
		if p.kept && len(inPersonal) < 2 {
			t.Errorf("%s: the value sent there is in %v, want it in order_personal and in the order's record", p.door, inPersonal)
		}
	}
}

// wantRead tells whether the reader saw what each place holds: a text that
// names nobody was sent along, and has to be found.
func wantRead(t *testing.T, all []stored, s *sender) {
	t.Helper()
	texts := map[string]int64{}
	innocent := map[string]bool{}
	for _, it := range all {
		texts[it.place]++
		for _, form := range it.text.forms {
			innocent[it.place] = innocent[it.place] || strings.Contains(form, strings.ToLower(names))
		}
	}
	for _, place := range []string{wire.TopicEvents, wire.TopicCommerce, wire.TopicRejected, "public.event_fact", "public.orders",
		"public.order_version", "log"} {
		if !innocent[place] {
			t.Errorf("%q was sent and is not found in %s, of which %d texts were read", names, place, texts[place])
		}
	}
	for place, want := range map[string]int64{
		wire.TopicEvents: s.events, "public.event_fact": 3 * s.events, wire.TopicRejected: s.rejected,
		wire.TopicCommerce: 2*s.orders - 1, "public.order_version": 6 * (s.orders - 1), "public.order_personal": 2,
		"public.idempotency": 2 * s.keyed, wire.TopicDirectory: 3, "metrics": 2,
		"postgres.log": 1, "directory.json": 1, "output of the imports": 1,
	} {
		if texts[place] < want {
			t.Errorf("%d texts were read of %s, want at least %d", texts[place], place, want)
		}
	}
	debug := false
	for _, it := range all {
		debug = debug || it.place == "log" && strings.Contains(it.text.raw, "level=DEBUG")
	}
	if !debug {
		t.Error("the log has no line at debug level")
	}
}

// names names nobody. It is sent beside the values, and stays.
const names = "Zqnobody"

// sender sends values to the services, and counts what they have to store.
type sender struct {
	t       *testing.T
	dev     *dev
	short   string // URL of a short link
	planted plants
	output  strings.Builder // of the imports

	events, rejected, orders, keyed int64
}

// do sends a request and returns the answer. The status has to be one of those. Where a service asks for it (503), the same is sent again,
// as every sender does.
func (s *sender) do(request *http.Request, err error, want ...int) answer {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	var response *http.Response
	var text []byte
	await.Until(s.t, await.Long, func() bool {
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				s.t.Fatal(err)
			}
		}
		if response, err = withoutRedirects.Do(request); err != nil {
			s.t.Fatal(err)
		}
		defer response.Body.Close()
		if text, err = io.ReadAll(io.LimitReader(response.Body, 8<<20)); err != nil {
			s.t.Fatal(err)
		}
		return response.StatusCode != http.StatusServiceUnavailable || slices.Contains(want, response.StatusCode)
	}, func() string { return fmt.Sprintf("%s %s: %s", request.Method, request.URL, text) })
	if !slices.Contains(want, response.StatusCode) {
		s.t.Fatalf("%s %s: %d, want %v: %s", request.Method, request.URL, response.StatusCode, want, text)
	}
	return answer{response.StatusCode, text}
}

func (s *sender) request(method, url, body string, header map[string]string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	return request, nil
}

func (s *sender) get(url string) string {
	s.t.Helper()
	request, err := s.request(http.MethodGet, url, "", nil)
	return string(s.do(request, err, http.StatusOK).body)
}

// grouped is a Brazilian number as people write it: (11) 98765-4321.
func grouped(digits string) string {
	return fmt.Sprintf("(%s) %s-%s", digits[:2], digits[2:7], digits[7:])
}

// fullwidth writes ASCII in its fullwidth forms.
func fullwidth(text string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r - '!' + '！'
		}
		return r
	}, text)
}
