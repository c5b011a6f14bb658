package equivalence

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-rod/rod"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/tributary-io/tributary/sdk/core"
)

// now is the time that every engine is told: 2026-05-28T20:26:40.123Z.
const now = 1_780_000_000_123

// engine makes canonical events of bodies, one answer for each.
type engine func(ctx context.Context, bodies []string) ([]string, error)

func native(_ context.Context, bodies []string) ([]string, error) {
	var out []string
	for _, body := range bodies {
		out = append(out, string(core.AppendCanonical(nil, body, "-", core.Options{Now: now})))
	}
	return out, nil
}

// inWazero runs the module that the browsers get.
func inWazero(wasm string) engine {
	return func(ctx context.Context, bodies []string) (out []string, err error) {
		binary, err := os.ReadFile(wasm) //nolint:gosec // of our own build
		if err != nil {
			return nil, err
		}
		runtime := wazero.NewRuntime(ctx)
		defer func() { err = errors.Join(err, runtime.Close(ctx)) }()
		wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
		m, err := runtime.InstantiateWithConfig(ctx, binary, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
		if err != nil {
			return nil, err
		}
		call := func(name string, args ...uint64) uint32 {
			r, callErr := m.ExportedFunction(name).Call(ctx, args...)
			if callErr != nil || len(r) == 0 {
				err = errors.Join(err, callErr)
				return 0
			}
			return uint32(r[0])
		}
		for _, body := range bodies {
			n := uint64(len(body))
			m.Memory().WriteString(call("trb_input", n), body)
			length := call("trb_canonical", n, api.EncodeF64(now))
			text, found := m.Memory().Read(call("trb_output"), length)
			if err != nil || !found {
				return nil, fmt.Errorf("wazero: %w, memory read: %t", err, found)
			}
			out = append(out, string(text))
		}
		return out, nil
	}
}

// nodeScript answers each line of its input, a JSON text, by a line.
const nodeScript = `
const { createInterface } = require("node:readline");
require(process.argv[1]).load().then((core) => {
  createInterface({ input: process.stdin }).on("line", (line) => process.stdout.write(JSON.stringify(core(JSON.parse(line), %d)) + "\n"));
});`

// inNode runs the package @tributary-io/core-wasm.
func inNode(pkg string) engine {
	return func(ctx context.Context, bodies []string) ([]string, error) {
		var in bytes.Buffer
		encoder := json.NewEncoder(&in)
		for _, body := range bodies {
			if err := encoder.Encode(body); err != nil {
				return nil, err
			}
		}
		//nolint:gosec // paths of ours
		command := exec.CommandContext(ctx, "node", "-e", fmt.Sprintf(nodeScript, now), filepath.Join(pkg, "index.cjs"))
		var wrong bytes.Buffer
		command.Stdin, command.Stderr = &in, &wrong
		lines, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("node: %w: %s", err, wrong.String())
		}
		return decode(lines)
	}
}

func decode(lines []byte) (out []string, err error) {
	scanner := bufio.NewScanner(bytes.NewReader(lines))
	scanner.Buffer(nil, 8<<20)
	for scanner.Scan() {
		var text string
		if err := json.Unmarshal(scanner.Bytes(), &text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, scanner.Err()
}

// workerPage hands bodies to the worker that pages start.
const workerPage = `async (worker, wasm, bodies, now) => {
	const w = new Worker(worker);
	const next = () => new Promise((done, fail) => { w.onmessage = (e) => done(e.data); w.onerror = (e) => fail(e.message) });
	w.postMessage({ wasm });
	const ready = await next();
	if (!ready.ready) throw new Error(ready.failed);
	const out = [];
	for (const body of bodies) {
		w.postMessage({ call: out.length + 1, body, now });
		out.push((await next()).answer);
	}
	w.terminate();
	return out;
}`

// inChromium runs the worker in a page.
func inChromium(browser *rod.Browser, dist string) engine {
	return func(ctx context.Context, bodies []string) (out []string, err error) {
		files := http.FileServer(http.Dir(dist))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				_, _ = w.Write([]byte("<!doctype html><title>.</title>"))
				return
			}
			files.ServeHTTP(w, r)
		}))
		defer server.Close()
		worker, err := one(dist, "worker.*.js")
		if err != nil {
			return nil, err
		}
		wasm, err := one(dist, "core.*.wasm")
		if err != nil {
			return nil, err
		}
		err = rod.Try(func() {
			page := browser.Context(ctx).MustPage(server.URL + "/")
			defer page.MustClose()
			const step = 500
			for len(bodies) > 0 {
				n := min(step, len(bodies))
				for _, answer := range page.MustEval(workerPage, "/"+filepath.Base(worker), "/"+filepath.Base(wasm), bodies[:n], now).Arr() {
					out = append(out, answer.Str())
				}
				bodies = bodies[n:]
			}
		})
		return out, err
	}
}

func one(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s: %v %w, want one file", pattern, found, err)
	}
	return found[0], nil
}

// oneLine makes a body fit for a message.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}
