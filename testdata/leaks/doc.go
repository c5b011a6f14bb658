// Package leaks makes the sales of a store in which some coupons have leaked and some
// sales were hijacked, among much that only looks like it. What it makes depends on
// the seed alone. For tests and benchmarks of internal/signs.
package leaks
