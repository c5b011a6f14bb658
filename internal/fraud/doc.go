// Package fraud looks in a store's orders for signs of leaked coupons and of sales
// that were claimed by somebody who did not bring them (docs/signs.md). A sign says
// what was seen, how often it is seen elsewhere, since when, and what it cost. It
// changes nothing: the merchant decides.
//
// Everything here is a pure function: no I/O, no clock, no randomness. All tests are
// of whole numbers, so that every machine finds the same signs.
package fraud
