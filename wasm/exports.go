//go:build wasip1

package main

import (
	"unsafe"

	"github.com/tributary-io/tributary/sdk/core"
)

// maxInput bounds the input buffer: the edge takes bodies of at most 1 MiB.
const maxInput = 1 << 20

// The buffers are used again by each call. The module is called by one
// thread only, the worker.
var input, output []byte

// trbInput returns the address of n writable bytes, or 0 if n is more than 1 MiB.
//
//go:wasmexport trb_input
func trbInput(n uint32) uint32 {
	if n > maxInput {
		return 0
	}
	if uint32(cap(input)) < n {
		input = make([]byte, n)
	}
	input = input[:max(n, 1)]
	return address(input)
}

// trbCanonical reads the first n bytes of the input and returns the length of its
// output. now is in Unix milliseconds, a float since JavaScript's numbers are.
//
//go:wasmexport trb_canonical
func trbCanonical(n uint32, now float64) uint32 {
	n = min(n, uint32(len(input)))
	// The host knows the company and sends it. Any text will do here.
	output = core.AppendCanonical(output[:0], string(input[:n]), "-", core.Options{Now: int64(now)})
	return uint32(len(output))
}

// trbOutput returns the address of the last output.
//
//go:wasmexport trb_output
func trbOutput() uint32 { return address(output) }

func address(b []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}
