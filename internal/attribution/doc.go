// Package attribution decides whom an order is credited to, who is paid for it, and
// why (docs/attribution.md): which orders a fact concerns, the limits above which a
// key is a hub, sessions and touches, the channel models, the payout and its
// explanation.
//
// Everything here is a pure function: no I/O, no clock, no randomness, no
// goroutine. Arithmetic is exact: integers, big integers and decimals, no float.
package attribution
