package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/devtest"
)

const now = 1_780_000_000_123 // 2026-05-28T20:26:40.123Z

// reactor is the program, built as sdk-js/build does.
var reactor = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "tributary-wasm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "core.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-gcflags=all=-l", "-ldflags", "-s -w", "-o", file, ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOEXPERIMENT=nogreenteagc", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the reactor: %w\n%s", err, out)
	}
	if err := devtest.Sources(".."); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// machine keeps the reactor's machine code, which wazero's compiler makes once for all tests.
var machine = wazero.NewCompilationCache()

// module starts a reactor of its own, as a browser's worker does.
func module(t *testing.T) func(body string) string {
	t.Helper()
	binary, err := reactor()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(machine))
	t.Cleanup(func() { _ = runtime.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	m, err := runtime.InstantiateWithConfig(ctx, binary, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatalf("start the reactor: %v", err)
	}
	call := func(name string, args ...uint64) uint32 {
		r, err := m.ExportedFunction(name).Call(ctx, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return uint32(r[0])
	}
	return func(body string) string {
		n := uint64(len(body))
		if !m.Memory().WriteString(call("trb_input", n), body) {
			t.Fatal("the input buffer is out of memory's range")
		}
		length := call("trb_canonical", n, api.EncodeF64(now))
		out, ok := m.Memory().Read(call("trb_output"), length)
		if !ok {
			t.Fatal("the output is out of memory's range")
		}
		return string(out)
	}
}

func native(body string) string {
	return string(core.AppendCanonical(nil, body, "-", core.Options{Now: now}))
}

func TestNativeAndWASMGiveTheSameBytes(t *testing.T) {
	wasm := module(t)
	same := func(body string) {
		t.Helper()
		if got, want := wasm(body), native(body); got != want {
			t.Fatalf("%s\n  wasm %s\nnative %s", body, got, want)
		}
	}
	files, err := filepath.Glob("../testdata/events/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden events: %v", err)
	}
	var envelopes []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, want, _ := strings.Cut(string(text), "\n----------\n")
		envelopes = append(envelopes, raw)
		same(raw)
		if quoted := string(core.AppendString(nil, strings.TrimSpace(want))); strings.HasPrefix(want, "{") &&
			!strings.Contains(wasm(raw), quoted) {
			t.Errorf("%s: %s", file, wasm(raw))
		}
	}
	same("[" + strings.Join(envelopes, ",") + "]")
	same("")
	same("[" + strings.Repeat("7,", 600) + "7]")

	// Random damage to sound bodies: bytes changed, cut out, doubled.
	const damage = "\"\\{}[],:0e-. \x00\xffnu"
	random := rand.New(rand.NewPCG(20261121, 0))
	for range 5000 {
		body := []byte(envelopes[random.IntN(len(envelopes))])
		for range random.IntN(4) {
			i := random.IntN(len(body))
			switch random.IntN(3) {
			case 0:
				body[i] = damage[random.IntN(len(damage))]
			case 1:
				body = append(body[:i:i], body[min(len(body), i+1+random.IntN(8)):]...)
			case 2:
				body = append(body[:i:i], append([]byte(string(body[:min(len(body), i+random.IntN(20))])), body[i:]...)...)
			}
			if len(body) == 0 {
				break
			}
		}
		same(string(body))
	}
}

func TestTheHostsTimeIsUsed(t *testing.T) {
	if got := module(t)(`["r1",null,null,"PAGE_VIEW",null,null,{}]`); !strings.Contains(got, "2026-05-28T20:26:40.123Z") {
		t.Error(got)
	}
}
