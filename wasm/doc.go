// Command wasm is sdk/core as a WebAssembly reactor for the browser's worker:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o core.wasm ./wasm
//
// (sdk-js/build adds what makes it small.)
//
// The host calls _initialize once. Then, for each batch: trb_input(n) gives
// the address of n bytes, which the host fills with a body (UTF-8 JSON);
// trb_canonical(n, now) answers with the length of a JSON text (see
// core.AppendCanonical), which lies at trb_output(). Both buffers are the
// module's and stay valid until the next call.
//
// What may enter: that glue and nothing else. What an event means is in
// sdk/core, and every import here is downloaded by every shopper.
package main

// main is required by the build mode and never called.
func main() {}
