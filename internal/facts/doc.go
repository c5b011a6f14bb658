// Package facts is what the processor and its store hand to each other: facts
// as they came, what is derived from one fact alone (its keys, its visitor,
// an order's fold), the rules in force, and an order's outcome.
//
// What may enter: plain data and pure derivations, so that the processor need
// not know Postgres, nor Postgres the rules of attribution. No I/O, no clock.
package facts
