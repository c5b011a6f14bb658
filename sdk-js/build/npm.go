package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// packages writes the npm packages: sdk, which has the modules, core-wasm, which
// has the core for Node, and admin, the client of the admin API. `npm publish` of each directory publishes it.
func (b *bundler) packages(m manifest) error {
	source := filepath.Join(b.root, "sdk-js")
	sdk := map[string]string{
		"package.json": filepath.Join(source, "npm", "sdk.json"),
		"README.md":    filepath.Join(source, "npm", "README.md"),

		"dist/events.d.cts": filepath.Join(b.out, "events.d.cts"),
	}
	for _, name := range []string{"tributary", "server"} {
		for _, ext := range []string{".mjs", ".cjs", ".d.ts", ".d.cts"} {
			sdk["dist/"+name+ext] = filepath.Join(b.out, name+ext)
		}
	}
	core := map[string]string{
		"package.json": filepath.Join(source, "npm", "core-wasm.json"),
		"core.wasm":    filepath.Join(b.out, m.WASM),
		"index.d.ts":   filepath.Join(source, "npm", "core-wasm.d.ts"),
		"index.d.cts":  filepath.Join(source, "npm", "core-wasm.d.ts"),
	}
	admin := map[string]string{}
	for _, name := range []string{"package.json", "index.mjs", "index.d.ts", "openapi.d.ts"} {
		admin[name] = filepath.Join(source, "npm", "admin", name)
	}
	for name, files := range map[string]map[string]string{"sdk": sdk, "core-wasm": core, "admin": admin} {
		for to, from := range files {
			data, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			if err := writeNew(filepath.Join(b.npm, name, filepath.FromSlash(to)), data); err != nil {
				return err
			}
		}
	}
	// One copy of the client in the package: what imports it and what requires it get the same class.
	if err := writeNew(filepath.Join(b.npm, "sdk", "dist", "server.mjs"), []byte(`export{Client}from"./server.cjs";`)); err != nil {
		return err
	}
	for ext, format := range map[string]api.Format{".mjs": api.FormatESModule, ".cjs": api.FormatCommonJS} {
		code, err := b.script("core-wasm.ts", format, nil)
		if format == api.FormatCommonJS { // which has no import.meta
			code = append([]byte(`"use strict";const tributaryHere=require("node:url").pathToFileURL(__filename).href;`), code...)
		}
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join(b.npm, "core-wasm", "index"+ext), code); err != nil {
			return err
		}
	}
	return nil
}

func writeNew(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("npm package: %w", err)
	}
	return os.WriteFile(path, data, 0o644) //nolint:gosec // a package for everybody, where the flag says
}
