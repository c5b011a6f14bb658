package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/tributary-io/tributary/sdk/core"
)

// bundler makes the files of dist.
type bundler struct {
	root, out string
	npm       string // where the npm packages go; empty: nowhere
	quick     bool
	events    []byte // the types of an event
	version   string
	mangled   map[string]any // how the build has shortened names
	made      []made
}

// made is a file in manifest.json. Sizes are in bytes.
type made struct {
	Name   string `json:"name"`
	Size   int    `json:"size"`
	Gzip   int    `json:"gzip"`
	Brotli int    `json:"brotli"`
}

// manifest has the names of a build's files.
type manifest struct {
	Version string `json:"version"`
	Loader  string `json:"loader"` // the edge lets it be cached for a short time
	Script  string `json:"script"` // the same bytes under a hashed name
	More    string `json:"more"`   // what the script fetches when the page is idle
	Overlay string `json:"overlay"`
	Worker  string `json:"worker"`
	WASM    string `json:"wasm"`
	Files   []made `json:"files"`
}

func run(ctx context.Context, root, out, npm string, quick bool) error {
	events, err := makeTypes(root)
	if err != nil {
		return err
	}
	if out == "" { // the build for all; a test's changes no source
		out = filepath.Join(root, "sdk-js", "dist")
		if err := update(filepath.Join(root, eventTypesFile), events); err != nil {
			return err
		}
	}
	b := &bundler{root: root, out: out, npm: npm, quick: quick, events: events, mangled: map[string]any{}}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var pkg struct {
		Version string `json:"version"`
	}
	text, err := os.ReadFile(filepath.Join(root, "sdk-js", "npm", "sdk.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &pkg); err != nil {
		return fmt.Errorf("read sdk.json: %w", err)
	}
	b.version = pkg.Version
	m, err := b.all(ctx)
	if err != nil {
		return err
	}
	if err := b.clean(); err != nil {
		return err
	}
	text, err = json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	// The manifest is written last: it exists only if the build is complete.
	if err := update(filepath.Join(out, manifestFile), append(text, '\n')); err != nil {
		return err
	}
	fmt.Printf("%-32s %9s %9s %9s\n", "sdk-js/dist", "bytes", "gzip", "brotli")
	slices.SortFunc(m.Files, func(a, b made) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range m.Files {
		fmt.Printf("%-32s %9d %9d %9d\n", f.Name, f.Size, f.Gzip, f.Brotli)
	}
	return nil
}

// all builds every file. The page's script contains the names of the worker and
// the core, so those are built first.
func (b *bundler) all(ctx context.Context) (m manifest, err error) {
	wasm, err := b.wasm(ctx)
	if err != nil {
		return m, err
	}
	m = manifest{Version: b.version, Loader: "tributary.js", WASM: hashed("core", ".wasm", wasm)}
	if err := b.write(m.WASM, wasm); err != nil {
		return m, err
	}
	if m.Worker, err = b.hashedScript("worker", "worker.ts", nil); err != nil {
		return m, err
	}
	if m.Overlay, err = b.hashedScript("tributary-overlay", "overlay.ts", nil); err != nil {
		return m, err
	}
	clickIDs := core.ClickIDs()
	names := map[string]string{
		"WASM": m.WASM, "WORKER": m.Worker, "OVERLAY": m.Overlay, "VERSION": b.version,
		"CLICK_IDS": strings.Join(clickIDs[:], "|"), "MORE": "",
	}
	// Both files must shorten names alike: the first that is built chooses them.
	if _, err := b.script("script.ts", api.FormatIIFE, names); err != nil {
		return m, err
	}
	if m.More, err = b.hashedScript("tributary-more", "more-script.ts", names); err != nil {
		return m, err
	}
	names["MORE"] = m.More
	script, err := b.script("script.ts", api.FormatIIFE, names)
	if err != nil {
		return m, err
	}
	m.Script = hashed("tributary", ".js", script)
	if err := errors.Join(b.write(m.Loader, script), b.write(m.Script, script), b.modules(names)); err != nil {
		return m, err
	}
	m.Files = b.made
	if b.npm != "" {
		err = b.packages(m)
	}
	return m, err
}

// hashedScript bundles one entry of src into a file with a hashed name.
func (b *bundler) hashedScript(stem, entry string, names map[string]string) (name string, err error) {
	code, err := b.script(entry, api.FormatIIFE, names)
	if err != nil {
		return "", err
	}
	name = hashed(stem, ".js", code)
	return name, b.write(name, code)
}

// about is what a file of types says to those who change it, and the space before its lines: the npm package has neither.
var about = regexp.MustCompile(`^(//.*\n)+\n|(?m:^\s+)`)

// eventTypes is where a module has the types of an event from: one file, of CommonJS, which both kinds of modules may import.
// declare says nothing in such a file
var eventTypes = strings.NewReplacer(`"./event-types"`, `"./events.cjs"`, "export declare ", "export ")

// modules builds what bundlers take: for pages, and for servers and sandboxes.
func (b *bundler) modules(names map[string]string) error {
	if err := b.write("events.d.cts", about.ReplaceAll(b.events, nil)); err != nil {
		return err
	}
	for _, module := range []struct{ entry, types, name string }{{"index.ts", "types.ts", "tributary"},
		{"server.ts", "server-types.ts", "server"}} {
		code, err := b.script(module.entry, api.FormatESModule, names)
		if err != nil {
			return err
		}
		common, err := commonJS(code)
		if err != nil {
			return fmt.Errorf("%s: %w", module.entry, err)
		}
		if err := errors.Join(b.write(module.name+".mjs", code), b.write(module.name+".cjs", common)); err != nil {
			return err
		}
		types, err := os.ReadFile(filepath.Join(b.root, "sdk-js", "src", module.types))
		if err != nil {
			return err
		}
		types = []byte(eventTypes.Replace(string(about.ReplaceAll(types, nil))))
		// One copy: what imports it has the types of what requires it.
		if err := errors.Join(b.write(module.name+".d.cts", types),
			b.write(module.name+".d.ts", []byte(`export * from "./`+module.name+`.cjs";`))); err != nil {
			return err
		}
	}
	return nil
}

// exports is the last statement of a module, as esbuild writes it.
var exports = regexp.MustCompile(`export\{([^}]*)\};\s*$`)

// commonJS turns a module without imports into CommonJS. esbuild's own form has 500 bytes
// of helpers in each file.
func commonJS(module []byte) ([]byte, error) {
	found := exports.FindSubmatchIndex(module)
	if found == nil {
		return nil, errors.New("the module does not end with its exports")
	}
	var out bytes.Buffer
	out.WriteString(`"use strict";exports.__esModule=!0;`)
	out.Write(module[:found[0]])
	for _, export := range strings.Split(string(module[found[2]:found[3]]), ",") {
		name, public, renamed := strings.Cut(export, " as ")
		if !renamed {
			public = name
		}
		fmt.Fprintf(&out, "exports.%s=%s;", public, name)
	}
	return out.Bytes(), nil
}

// wasm compiles the core. Every shopper downloads it, so size is more important
// than speed: without inlining it is 33 KB smaller after brotli and takes 41 µs
// an event instead of 36. The older garbage collector saves 7 KB more.
func (b *bundler) wasm(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "tributary-wasm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "core.wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false",
		"-gcflags=all=-l", "-ldflags", "-s -w -buildid=", "-o", file, "./wasm")
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOEXPERIMENT=nogreenteagc", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the WASM core: %w\n%s", err, out)
	}
	return os.ReadFile(file)
}

// script bundles one entry of src.
func (b *bundler) script(entry string, format api.Format, names map[string]string) ([]byte, error) {
	define := map[string]string{}
	for name, value := range names {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		define[name] = string(text)
	}
	if format == api.FormatCommonJS {
		define["import.meta.url"] = "tributaryHere"
	}
	define["TAG"] = strconv.FormatBool(format == api.FormatIIFE)
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{filepath.Join(b.root, "sdk-js", "src", entry)},
		Bundle:            true,
		Format:            format,
		Platform:          api.PlatformBrowser,
		Target:            api.ES2021, // browsers since 2020: Chrome 85, Firefox 79, Safari 14
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone,
		Define:            define,
		TsconfigRaw:       `{"compilerOptions":{"useDefineForClassFields":false}}`, // a field costs an assignment, not a call
		Supported:         map[string]bool{"bigint": true, "dynamic-import": true},
		External:          []string{"node:*"},
		MangleProps:       "[a-z]_$", // ours alone: see src/page.ts
		MangleCache:       b.mangled,
	})
	if len(result.Errors) > 0 {
		lines := api.FormatMessages(result.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return nil, fmt.Errorf("bundle %s:\n%s", entry, strings.Join(lines, ""))
	}
	b.mangled = result.MangleCache
	if len(result.OutputFiles) != 1 {
		return nil, fmt.Errorf("bundle %s: %d files came out, want 1", entry, len(result.OutputFiles))
	}
	return result.OutputFiles[0].Contents, nil
}

// hashed returns a name that no other content has: browsers may keep it for ever.
func hashed(stem, ext string, data []byte) string {
	sum := sha256.Sum256(data)
	return stem + "." + hex.EncodeToString(sum[:4]) + ext
}

// update writes a file where it has something else: what was built from it, and tests of it, stay good.
func update(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return os.WriteFile(path, data, 0o644)
}

// write writes a file and its compressed copies. If the file has not changed, the
// copies stay: brotli takes seconds for the core.
func (b *bundler) write(name string, data []byte) error {
	path := filepath.Join(b.out, name)
	br, errBr := os.ReadFile(path + ".br")
	gz, errGz := os.ReadFile(path + ".gz")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if errBr != nil || errGz != nil || !bytes.Equal(old, data) {
		if br, gz, err = b.compress(data); err != nil {
			return fmt.Errorf("compress %s: %w", name, err)
		}
		for _, f := range []struct {
			path string
			data []byte
		}{{path, data}, {path + ".br", br}, {path + ".gz", gz}} {
			if err := os.WriteFile(f.path, f.data, 0o644); err != nil {
				return err
			}
		}
	}
	b.made = append(b.made, made{name, len(data), len(gz), len(br)})
	return nil
}

func (b *bundler) compress(data []byte) (br, gz []byte, err error) {
	brotliLevel, gzipLevel := brotli.BestCompression, gzip.BestCompression
	if b.quick {
		brotliLevel, gzipLevel = 1, gzip.BestSpeed
	}
	var brOut, gzOut bytes.Buffer
	bw := brotli.NewWriterOptions(&brOut, brotli.WriterOptions{Quality: brotliLevel, LGWin: 22})
	gw, err := gzip.NewWriterLevel(&gzOut, gzipLevel)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{bw, gw} {
		if _, err := w.Write(data); err != nil {
			return nil, nil, err
		}
		if err := w.Close(); err != nil {
			return nil, nil, err
		}
	}
	return brOut.Bytes(), gzOut.Bytes(), nil
}

// manifestFile is written last.
const manifestFile = "manifest.json"

// clean removes the files of earlier builds, and where there are any, before them the manifest that names them.
func (b *bundler) clean() error {
	keep := map[string]bool{".gitkeep": true, manifestFile: true}
	for _, f := range b.made {
		keep[f.Name], keep[f.Name+".br"], keep[f.Name+".gz"] = true, true, true
	}
	entries, err := os.ReadDir(b.out)
	if err != nil {
		return err
	}
	stale := []string{manifestFile}
	for _, e := range entries {
		if !keep[e.Name()] {
			stale = append(stale, e.Name())
		}
	}
	if len(stale) == 1 {
		return nil
	}
	for _, name := range stale {
		if err := os.RemoveAll(filepath.Join(b.out, name)); err != nil {
			return err
		}
	}
	return nil
}
