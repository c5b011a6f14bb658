// Command wasm is sdk/core as a WebAssembly reactor for the browser's worker:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o core.wasm ./wasm
//
// (sdk-js/build adds what makes it small.)
//
// The host calls _initialize once. Then, for each batch: trb_input(n) returns
// the address of n bytes, into which the host writes a body (UTF-8 JSON).
// trb_canonical(n, now) returns the length of a JSON text (see
// core.AppendCanonical), and trb_output() its address. Both buffers belong to
// the module and stay valid until the next call.
//
// What may enter: these functions only. What an event means is in sdk/core.
// Every import is downloaded by every shopper.
package main

// main is required by the build mode and never called.
func main() {}
