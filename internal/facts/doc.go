// Package facts has the types that the processor, the rules of attribution and the
// store hand to each other: facts as they came, what follows from one fact alone
// (its keys, its visitor, the fold of an order's versions), the rules in force, and
// the outcome of an order with its explanation.
//
// It holds data and pure functions only: no I/O, no clock. So the processor need
// not know Postgres, and Postgres need not know the rules of attribution.
package facts
