// Command build makes sdk-js/dist: the WASM core by the Go compiler, the
// scripts by esbuild's Go package (Node is not needed), hashed names, the
// types, compressed siblings and manifest.json. Run it from the module's root:
//
//	go run ./sdk-js/build
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the module's root directory")
	quick := flag.Bool("quick", false, "compress little: for tests and development")
	out := flag.String("out", "", "where the files go (default: sdk-js/dist under the root)")
	npm := flag.String("npm", "", "also write the npm packages below this directory: sdk, core-wasm and admin")
	flag.Parse()
	if err := run(context.Background(), *root, *out, *npm, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "sdk-js build:", err)
		os.Exit(1)
	}
}
