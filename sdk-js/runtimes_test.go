//go:build browsers

package sdkjs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed is a directory of .ci whose packages npm installs at their pinned versions.
func installed(t *testing.T, name string) (dir string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".ci", name))
	if err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in .ci/%s: %v\n%s", name, err, out)
	}
	return filepath.Join(dir, "node_modules")
}

// The server's client, with the core, where Node's own is not all there is.
func TestOtherRuntimes(t *testing.T) {
	dir, modules := packages(t), installed(t, "runtimes")
	e := newEdge(t, filepath.Join(dir, "dist"))
	script := filepath.Join(dir, "use.mjs")
	if err := os.WriteFile(script, []byte(`
		import { track } from "@tributary-io/sdk"; // of pages: it does nothing here, and fails nowhere
		import { Client } from "@tributary-io/sdk/server";
		import { load } from "@tributary-io/core-wasm";
		track("NOWHERE");
		const name = (globalThis.Deno ? Deno.args : process.argv.slice(2))[0];
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t", core: load() });
		client.track(name, { n: 1 }, { email: "ana@example.com" });
		console.log(await client.close(), client.track("LATE"));`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(name, program string, arguments ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), filepath.Join(modules, program), append(arguments, script, name)...)
		command.Dir = dir
		command.Env = append(os.Environ(), "DENO_NO_UPDATE_CHECK=1", "DENO_DIR="+t.TempDir())
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "true undefined\n") || !strings.Contains(string(out), "LATE: the client is closed") {
			t.Errorf("%s: %v, prints %s", name, err, out)
			return
		}
		if got := e.seen().named(name); got == nil || got.raw || got.Identity.Email != "ana@example.com" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	f("DENO", "@deno/linux-x64-glibc/deno", "run", "--no-prompt", "--node-modules-dir=manual", "--allow-net=127.0.0.1", "--allow-read="+dir)
	f("BUN", "@oven/bun-linux-x64/bin/bun")
	f("NODE_22", "node22/bin/node")
	f("NODE_24", "node24/bin/node")
}
