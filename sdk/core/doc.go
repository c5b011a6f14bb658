// Package core is the one meaning of an event, shared by the Go SDK, the
// browser's WASM worker, the edge and (as types) the processor.
//
// It holds pure functions: scanning JSON, validating and normalising events,
// cutting campaigns out of URLs, the wire bytes, and when to try again. It has
// no I/O, clock, randomness or goroutines of its own; those are passed in.
//
// What may enter: errors, strings, strconv, slices, unicode/utf8 and little
// else of the standard library, because every import is paid for in the
// browser (docs/adr/0004). No fmt, time, encoding/json, regexp, crypto or net.
package core
