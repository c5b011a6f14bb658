// Package core defines what an event means. The Go SDK, the browser's WASM
// worker, the edge and (for its types) the processor share it.
//
// Its functions are pure: they scan JSON, validate and normalise events, read
// campaigns from URLs, write an event's canonical bytes and say when to try
// again. It has no I/O, goroutines, clock or randomness; times and ids are passed in.
//
// What may enter: errors, strings, strconv, slices, unicode/utf8 and little
// else of the standard library, because every import makes the browser's
// download larger (docs/adr/0004). No fmt, time, encoding/json, regexp, crypto or net.
package core
