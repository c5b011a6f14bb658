// Package e2e holds the end-to-end tests: the built binary is used over HTTP and
// in a real browser, and killed in the middle of traffic.
//
// What may enter: tests only. They run bin/tributary as a user does and look at
// its HTTP answers, its pages and the rows in PostgreSQL. They do not import the
// services.
package e2e
