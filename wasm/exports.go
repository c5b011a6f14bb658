//go:build wasip1

package main

import (
	"unsafe"

	"github.com/tributary-io/tributary/sdk/core"
)

// maxInput bounds the input buffer: the edge takes no body beyond 1 MiB.
const maxInput = 1 << 20

// The buffers are reused from call to call; the module is called by one
// thread only, the worker.
var input, output []byte

// trbInput is the address of n writable bytes, 0 when n is beyond 1 MiB.
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

// trbCanonical reads the first n bytes of the input and answers with the
// length of its output. now is in Unix milliseconds; a float because
// JavaScript's numbers are.
//
//go:wasmexport trb_canonical
func trbCanonical(n uint32, now float64) uint32 {
	n = min(n, uint32(len(input)))
	// The company is the host's to know and to send: any stands for it here.
	output = core.AppendCanonical(output[:0], string(input[:n]), "-", core.Options{Now: int64(now)})
	return uint32(len(output))
}

// trbOutput is the address of the last answer.
//
//go:wasmexport trb_output
func trbOutput() uint32 { return address(output) }

func address(b []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}
