// Package attribution decides whom a sale is credited to, and why: sessions
// and touches from events, the join's limits, channel credit by every model,
// the payout and its explanation. Credits are a pure function of facts.
//
// What may enter: rules and arithmetic in integers, big numbers and exact
// decimals. No I/O, no clock, no randomness, no pgx, no goroutine, no float.
package attribution
