// Package sdkjs holds the built files of the browser SDK, for the edge to
// serve, and the snippet that loads them in a shop's page.
//
// What may enter: embedded files and nothing else. Without a build (go run
// ./sdk-js/build) dist is empty but for .gitkeep, and this still compiles.
package sdkjs

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Assets are the files of dist: tributary.js, its hashed siblings, the worker
// and the WASM core, each with .br and .gz beside it, and manifest.json.
func Assets() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(fmt.Sprintf("sdkjs: the embedded directory has no dist: %v", err)) // the build would have failed
	}
	return files
}
