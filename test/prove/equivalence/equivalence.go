// Package equivalence is a part of `make prove`: the core gives the same bytes wherever it
// runs, natively, in wazero, in Node and in a worker of Chromium, for random operations.
// A body for which they differ is kept in testdata/equivalence, and tried first the next time.
//
// What may enter: the engines and the operations.
package equivalence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/test/prove"
)

// Many is how many random operations `make prove` makes; `make test` makes a hundredth.
const Many = 20_000

// Outcome is what a run saw.
type Outcome struct {
	Operations int
	Engines    []string
	Differ     []string // descriptions
}

// Build builds the SDK and its packages below dir.
func Build(ctx context.Context, root, dir string) error {
	//nolint:gosec // ours
	command := exec.CommandContext(ctx, "go", "run", "./sdk-js/build", "-quick", "-out", filepath.Join(dir, "dist"), "-npm",
		filepath.Join(dir, "npm"))
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the SDK: %w: %s", err, out)
	}
	return nil
}

// Compare runs n random operations of a seed, and the kept ones, in every engine. dir has
// a build; root is the module's.
func Compare(ctx context.Context, n int, seed uint64, root, dir string, browser *rod.Browser) (o Outcome, err error) {
	envelopes, kept, err := golden(root)
	if err != nil {
		return o, err
	}
	bodies := append(append(kept, envelopes...), "", "[]", "7")
	bodies = append(bodies, operations(envelopes, n, seed)...)
	o.Operations = len(bodies)
	wasm, err := one(filepath.Join(dir, "dist"), "core.*.wasm")
	if err != nil {
		return o, err
	}
	want, err := native(ctx, bodies)
	if err != nil {
		return o, err
	}
	o.Engines = []string{"native"}
	for _, e := range []struct {
		name string
		run  engine
	}{
		{"wazero", inWazero(wasm)},
		{"Node", inNode(filepath.Join(dir, "npm", "core-wasm"))},
		{"Chromium", inChromium(browser, filepath.Join(dir, "dist"))},
	} {
		got, err := e.run(ctx, bodies)
		if err != nil {
			return o, fmt.Errorf("%s: %w", e.name, err)
		}
		if len(got) != len(want) {
			return o, fmt.Errorf("%s: %d answers, want %d", e.name, len(got), len(want))
		}
		o.Engines = append(o.Engines, e.name)
		for i := range want {
			if got[i] != want[i] {
				o.Differ = append(o.Differ, fmt.Sprintf("%s of %s: %s, native %s", e.name, oneLine(bodies[i]), oneLine(got[i]), oneLine(want[i])))
				if err := keep(root, bodies[i], want[i]); err != nil {
					return o, err
				}
			}
		}
	}
	return o, nil
}

// keep writes a body for which engines differ, with what the native core makes of it.
func keep(root, body, want string) error {
	sum := sha256.Sum256([]byte(body))
	dir := filepath.Join(root, "testdata", "equivalence")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	//nolint:gosec // a vector, for everybody
	return os.WriteFile(filepath.Join(dir, hex.EncodeToString(sum[:6])+".txt"), []byte(body+"\n----------\n"+want+"\n"), 0o644)
}

const text = "" +
	"Random operations (raw envelopes, sound and damaged, single and in batches) go through the core natively, in wazero, in Node and in " +
	"the worker of\n" +
	"a real Chromium: the canonical bytes must be the same."

// Section is its part of the page. open starts a browser; its second value ends it.
func Section(open func(ctx context.Context, profile string) (*rod.Browser, func(), error)) prove.Section {
	return prove.Section{
		Name: "core", Title: "One core everywhere", Text: text, Columns: []string{"operations", "differ"},
		Cases: []prove.Case{{Name: "engines", Title: "native, wazero, Node, Chromium",
			Run: func(ctx context.Context, e prove.Env) (result prove.Result, err error) {
				if _, err := exec.LookPath("node"); err != nil {
					return result, fmt.Errorf("%w: Node: %w", prove.ErrNotHere, err)
				}
				if err := Build(ctx, ".", e.Dir); err != nil {
					return result, err
				}
				browser, end, err := open(ctx, filepath.Join(e.Dir, "profile"))
				if err != nil {
					return result, err
				}
				defer end()
				o, err := Compare(ctx, Many, e.Seed, ".", e.Dir, browser)
				result.Cells = []string{fmt.Sprint(o.Operations), fmt.Sprint(len(o.Differ))}
				result.Problems = o.Differ
				return result, err
			}}},
	}
}
