//go:build browsers

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// segmentEdge is an edge of its own before dev's Kafka, which is stopped and started while clients send.
type segmentEdge struct {
	*process
	t    *testing.T // until whose end it runs
	d    *dev
	addr string
	env  []string
}

func newSegmentEdge(t *testing.T, d *dev) *segmentEdge {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "secrets.json"))
	if err != nil {
		t.Fatal(err)
	}
	var secrets struct {
		Hashing string `json:"hashing_secret"`
	}
	if err := json.Unmarshal(text, &secrets); err != nil {
		t.Fatal(err)
	}
	e := &segmentEdge{t: t, d: d, addr: freeAddr(t)}
	e.env = []string{"TRIBUTARY_KAFKA_BROKERS=" + d.Kafka, "TRIBUTARY_HASHING_SECRET=" + secrets.Hashing}
	e.start()
	return e
}

func (e *segmentEdge) url() string { return "http://" + e.addr }

func (e *segmentEdge) start() {
	e.t.Helper()
	e.process = startProgram(e.t, binary(), e.env, "edge", "--addr", e.addr)
	await.Until(e.t, await.Long, func() bool {
		got, err := call(e.t.Context(), http.MethodGet, e.url()+"/readyz", "", nil)
		return err == nil && got.status == http.StatusOK
	}, func() string { return "the edge is ready\n" + tail(e.output.String(), 4000) })
}

// allows tells whether a page of an origin may send.
func (e *segmentEdge) allows(t *testing.T, origin string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url()+"/segment/v1/projects/"+e.d.CompanyID+"/settings", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", origin)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// outages stops the edge several times, and starts it again.
func (e *segmentEdge) outages(t *testing.T) {
	t.Helper()
	for range 3 {
		time.Sleep(1500 * time.Millisecond) // meanwhile clients send
		e.stop(t)
		time.Sleep(1500 * time.Millisecond) // … and try in vain
		e.start()
	}
}

// numbers counts, in events.v1, the events of a name by their number.
func (e *segmentEdge) numbers(t *testing.T, name, how string) map[int]int {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{e.d.Kafka}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	partition := kafka.PartitionFor([]byte(e.d.CompanyID), mustPartitions(t, client))
	records, err := client.ReadPartition(t.Context(), wire.TopicEvents, partition)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]int{}
	for _, r := range records {
		var event wire.Event
		var payload struct {
			N   int
			How string
		}
		if wire.IsNotice(r.Value) || json.Unmarshal(r.Value, &event) != nil || event.Event != name || event.CompanyID != e.d.CompanyID {
			continue
		}
		if event.Via != wire.ViaSegment || json.Unmarshal(event.Payload, &payload) != nil {
			t.Errorf("%s", r.Value)
		}
		if payload.How == how {
			found[payload.N]++
		}
	}
	return found
}

func mustPartitions(t *testing.T, client *kafka.Client) int {
	t.Helper()
	n, err := client.Partitions(t.Context(), wire.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// once is each number below n once.
func once(n int) map[int]int {
	all := map[int]int{}
	for i := range n {
		all[i] = 1
	}
	return all
}

// Segment's own libraries, each with its retries and batches, deliver through outages of the edge what they say: once.
func TestSegmentsLibraries(t *testing.T) {
	d := startDev(t, dataDir(t), "--empty")
	e := newSegmentEdge(t, d)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "web", "segment"))); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, tail(string(out), 4000))
	}
	t.Run("analytics-node", func(t *testing.T) {
		for name, key := range map[string]string{"API key": d.APIKey, "companyId": d.CompanyID} {
			t.Run(name, func(t *testing.T) { segmentNode(t, e, dir, key) })
		}
	})
	t.Run("analytics-next", func(t *testing.T) { segmentNext(t, e, dir) })
}

func segmentNode(t *testing.T, e *segmentEdge, dir, key string) {
	const count = 100
	before := e.numbers(t, "SERVER_SEEN", "")
	node := exec.CommandContext(t.Context(), "node", "server.mjs")
	node.Dir = dir
	node.Env = append(os.Environ(), "EDGE="+e.url(), "WRITE_KEY="+key, fmt.Sprint("COUNT=", count))
	var out, problems await.Buffer
	node.Stdout, node.Stderr = &out, &problems
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	e.outages(t)
	if err := node.Wait(); err != nil {
		t.Fatalf("node: %v\n%s%s", err, out.String(), problems.String())
	}
	var said struct {
		Delivered []int
		Failed    []string
	}
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if len(said.Delivered) != count {
		t.Errorf("the library delivered %d of %d: %v", len(said.Delivered), count, said.Failed)
	}
	got := e.numbers(t, "SERVER_SEEN", "")
	for _, n := range said.Delivered {
		if got[n]-before[n] != 1 {
			t.Errorf("the event %d, which the library says it delivered, is %d times in the topic", n, got[n]-before[n])
		}
	}
}

func segmentNext(t *testing.T, e *segmentEdge, dir string) {
	const count = 60
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, "page.js")}, Bundle: true, Platform: api.PlatformBrowser, Format: api.FormatIIFE,
		Outfile: filepath.Join(dir, "page.out.js"), Write: true,
		Define: map[string]string{"process.env.NODE_ENV": `"production"`, "global": "window"},
	})
	if len(built.Errors) > 0 {
		t.Fatalf("%+v", built.Errors)
	}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page.js" {
			http.ServeFile(w, r, filepath.Join(dir, "page.out.js"))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<title>Loja</title><script>EDGE=%q;COMPANY=%q</script><script src="/page.js"></script>`, e.url(), e.d.CompanyID)
	}))
	defer shop.Close()
	if out, status := runToEnd(t, "company", "set", e.d.CompanyID, "--origin", shop.URL, "--postgres", e.d.Postgres); status != 0 {
		t.Fatalf("allow the shop's origin: %s", out)
	}
	await.Until(t, await.Long, func() bool { return e.allows(t, shop.URL) }, func() string { return "the edge knows the shop's origin" })
	browser := devtest.Browser(t)
	for _, how := range []string{"each alone", "batching"} {
		page := browser.MustIncognito().MustPage(shop.URL + "/?utm_source=influencer&utm_campaign=Ana&ajs_aid=planted")
		page = page.Timeout(2 * time.Minute).MustWaitLoad()
		if loaded := page.MustEval(`(how, count) => shop(how, count)`, how, count).Str(); loaded != "loaded" {
			t.Fatal("the library did not load")
		}
		e.outages(t)
		var got map[int]int
		await.Until(t, 2*await.Long, func() bool {
			got = e.numbers(t, "PAGE_SEEN", how)
			return len(got) == count
		}, func() string {
			return fmt.Sprintf("%d of %d events, %s: failed %s", len(got), count, how, page.MustEval(`() => failed.join()`).Str())
		})
		if !maps.Equal(got, once(count)) {
			t.Errorf("%s: some events are not once in the topic: %v", how, got)
		}
	}
	var campaigns []string
	for _, stored := range storedEvents(t, e.d.Postgres) {
		if event := stored.Event; event.Event == "PAGE_VIEW" && strings.HasPrefix(event.Context.Page.URL, shop.URL) {
			campaigns = append(campaigns, event.Context.Campaign.Name)
		}
	}
	if !slices.Contains(campaigns, "Ana") {
		t.Errorf("campaigns of the page views: %q", campaigns)
	}
}
