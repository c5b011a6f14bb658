// Command bench prints what the browser SDK costs, beside its budgets and beside others'
// packages (`make bench-sdk`). It needs Chromium, and npm for the others' packages.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-rod/rod"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/prove/visits"
)

func main() {
	withPeers := flag.Bool("peers", true, "download others' packages by npm and measure them")
	flag.Parse()
	if err := run(context.Background(), *withPeers); err != nil {
		fmt.Fprintln(os.Stderr, "bench/sdk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, withPeers bool) (err error) {
	dir, err := os.MkdirTemp("", "tributary-bench-sdk-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dist, npm := filepath.Join(dir, "dist"), filepath.Join(dir, "npm")
	//nolint:gosec // ours
	if out, err := exec.CommandContext(ctx, "go", "run", "./sdk-js/build", "-out", dist, "-npm", npm).CombinedOutput(); err != nil {
		return fmt.Errorf("build the SDK: %w: %s", err, out)
	}
	if err := sizes(dist, npm); err != nil {
		return err
	}
	if err := inBrowser(ctx, dist, filepath.Join(dir, "profile")); err != nil {
		return err
	}
	if err := atTheEdge(); err != nil {
		return err
	}
	if withPeers {
		return peers(ctx, filepath.Join(dir, "peers"))
	}
	return nil
}

// line prints a measure and its budget; 0 is none.
func line(name string, got, budget float64, unit string) {
	verdict := ""
	if budget > 0 {
		verdict = fmt.Sprintf("≤ %g", budget)
		if got > budget {
			verdict += "  MISSED"
		}
	}
	digits := 1
	if unit == "B" {
		digits = 0
	}
	fmt.Printf("%-56s %10.*f %-6s %s\n", name, digits, got, unit, verdict)
}

func sizes(dist, npm string) error {
	gz := func(pattern string) (float64, error) {
		text, err := read(dist, pattern)
		return float64(gzipped(text)), err
	}
	script, err := gz("tributary.js")
	more, errMore := gz("tributary-more.*.js")
	worker, errWorker := gz("worker.*.js")
	wasm, errWASM := read(dist, "core.*.wasm.br")
	if err := errors.Join(err, errMore, errWorker, errWASM); err != nil {
		return err
	}
	unpacked := 0
	if err := filepath.WalkDir(filepath.Join(npm, "sdk"), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			unpacked += int(info.Size())
		}
		return err
	}); err != nil {
		return err
	}
	line("tributary.js, gzip", script, 2048, "B")
	line("tributary-more.js, gzip, fetched when idle", more, 0, "B")
	line("core.wasm, brotli", float64(len(wasm)), 480_000, "B")
	line("npm package, unpacked", float64(unpacked), 60_000, "B")
	line("a visit of one page downloads", script+more, 0, "B")
	line("… of two pages or more, where data is not scarce", script+more+worker+float64(len(wasm)), 0, "B")
	return nil
}

// inBrowser measures calls and the worker's start in Chromium. Other work on the machine slows them.
func inBrowser(ctx context.Context, dist, profile string) error {
	browser, end, err := visits.Browser(ctx, profile)
	if err != nil {
		return err
	}
	defer end()
	mux := http.NewServeMux()
	mux.Handle("GET /sdk/v1/", http.StripPrefix("/sdk/v1/", http.FileServer(http.Dir(dist))))
	mux.HandleFunc("POST /v1/events", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!doctype html><title>.</title>%s",
			strings.Replace(sdkjs.Snippet(server.URL, "loja"), "data-company", `data-worker="false" data-linger="3600000" data-company`, 1))
	})
	mux.HandleFunc("GET /worker", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!doctype html><title>.</title>%s%s", timedWorker,
			strings.Replace(sdkjs.Snippet(server.URL, "loja"), "data-company", `data-worker="true" data-company`, 1))
	})
	return rod.Try(func() {
		page := browser.MustPage(server.URL + "/")
		page.MustWait(`() => !!(window.tributary && tributary.loaded && !tributary._)`)
		first := page.MustEval(`() => { const t = performance.now(); tributary.track("FIRST", {n: 1}); return performance.now() - t }`).Num()
		stored := page.MustEval(`async () => {
			const t = performance.now();
			for (let i = 0; i < 100; i++) {
				tributary.track("NOTE", {items: [{item_id: "tee", item_quantity: 1}]});
				await null; // after the SDK's own microtask
			}
			return (performance.now() - t) / 100;
		}`).Num()
		warm := page.MustEval(`() => {
			const times = [];
			for (let round = 0; round < 9; round++) {
				const t = performance.now();
				for (let i = 0; i < 100; i++) tributary.track("NOTE", {items: [{item_id: "tee", item_quantity: 1}]});
				times.push((performance.now() - t) / 100);
			}
			return times.sort((a, b) => a - b)[4];
		}`).Num()
		line("track(), the first call", first*1000, 500, "µs")
		line("track(), warm, median of nine hundreds", warm*1000, 15, "µs")
		line("… and the storing at the end of a task of one event", stored*1000, 0, "µs")
		var ready []float64
		for range 9 {
			ready = append(ready, workerReady(browser.MustIncognito(), server.URL+"/worker"))
		}
		slices.Sort(ready)
		line("the worker is ready after, median of nine first visits", ready[len(ready)/2], 120, "ms")
		line("… the fastest", ready[0], 0, "ms")
	})
}

// timedWorker notes when a page's worker is ready, in milliseconds after it was made.
const timedWorker = `<script>window.Worker = class extends Worker {
	constructor(...args) {
		const began = performance.now();
		super(...args);
		this.addEventListener("message", ({data}) => { if (data.ready) window.ready = performance.now() - began });
	}
}</script>`

// workerReady is how long the SDK's worker takes, in a browser that has nothing cached.
func workerReady(browser *rod.Browser, url string) (ms float64) {
	defer browser.MustClose()
	return browser.MustPage(url).MustWait(`() => window.ready > 0`).MustEval(`() => window.ready`).Num()
}

// atTheEdge measures what the worker saves the edge: parsing alone, the rest is the same.
func atTheEdge() error {
	raw := `["r1","0199f3a0-0000-7000-8000-000000000001","2026-03-15T12:00:00.000Z","ADD_TO_CART","{\"items\":[{\"item_id\":\"tee\",` +
		`\"item_quantity\":1,\"price\":49.9}]}",null,` +
		`{"url":"https://loja.example.com/p/tee?utm_source=influencer&utm_campaign=Ana","referrer":"https://example.com/","title":"Tee",` +
		`"stream":"0123456789ab","seq":3,"locale":"pt-BR","screen":"1920x1080",` +
		`"library":{"name":"sdk-js","version":"0.1.0"},"visitorId":"0199f3a0-0000-7000-8000-00000000000a",` +
		`"sessionId":"0199f3a0-0000-7000-8000-00000000000b"}]`
	var batch core.Batch
	if v := batch.Parse("["+raw+"]", "loja", core.Options{}); v != nil {
		return errors.New(v.Message)
	}
	canonical := string(core.AppendEvent(nil, &batch.Items[0].Event))
	cost := func(event string) float64 {
		body := "[" + event + "]"
		r := testing.Benchmark(func(b *testing.B) {
			var batch core.Batch
			for b.Loop() {
				if v := batch.Parse(body, "loja", core.Options{}); v != nil {
					b.Fatal(v.Message)
				}
			}
		})
		return float64(r.NsPerOp()) / 1000
	}
	line("the edge parses an envelope (no worker)", cost(raw), 0, "µs")
	line("… a canonical event (of the worker)", cost(canonical), 0, "µs")
	return nil
}

// peer is a file of a published package.
type peer struct{ name, file string }

func list() []peer {
	return []peer{
		{"plausible-tracker@0.3.9", "build/module/index.js"},
		{"@segment/analytics-next@1.84.3", "dist/umd/standalone.js"},
		{"mixpanel-browser@2.83.0", "dist/mixpanel.min.js"},
		{"@amplitude/analytics-browser@2.48.1", "lib/scripts/amplitude-min.js"},
		{"@rudderstack/analytics-js@3.34.1", "dist/npm/modern/umd/index.js"},
		{"posthog-js@1.449.2", "dist/array.js"},
	}
}

// peers prints the sizes of others' browser bundles, minified alike.
func peers(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	fmt.Println("\nothers, minified by esbuild, gzip -9:")
	for _, p := range list() {
		pack := exec.CommandContext(ctx, "npm", "pack", "--silent", p.name) //nolint:gosec // of the list above
		pack.Dir = dir
		out, err := pack.Output()
		if err != nil {
			return fmt.Errorf("npm pack %s: %w", p.name, err)
		}
		unpacked, err := os.MkdirTemp(dir, "")
		if err != nil {
			return err
		}
		//nolint:gosec // what npm has written
		if out, err := exec.CommandContext(ctx, "tar", "xzf", filepath.Join(dir, strings.TrimSpace(string(out))), "-C",
			unpacked).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", p.name, err, out)
		}
		small := api.Build(api.BuildOptions{
			EntryPoints: []string{filepath.Join(unpacked, "package", filepath.FromSlash(p.file))}, Bundle: true, Format: api.FormatIIFE,
			Platform:         api.PlatformBrowser,
			MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		})
		if len(small.Errors) > 0 || len(small.OutputFiles) != 1 {
			return fmt.Errorf("%s: %v", p.name, small.Errors)
		}
		line(p.name+" "+filepath.Base(p.file), float64(gzipped(small.OutputFiles[0].Contents)), 0, "B")
	}
	return nil
}

func base(dir, pattern string) string {
	found, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is ours
	if len(found) != 1 {
		return ""
	}
	return filepath.Base(found[0])
}

func read(dir, pattern string) ([]byte, error) {
	name := base(dir, pattern)
	if name == "" {
		return nil, fmt.Errorf("%s: not one file", pattern)
	}
	return os.ReadFile(filepath.Join(dir, name))
}

func gzipped(text []byte) int {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(text) // to memory
	_ = w.Close()
	return b.Len()
}
