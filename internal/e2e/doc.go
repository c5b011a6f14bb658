// Package e2e holds the tests that know all sides at once: the built binary
// driven over HTTP, in a real browser, and killed in the middle of traffic.
//
// What may enter: tests only. They run bin/tributary as a user would and look
// at its HTTP answers, its pages and the rows in Postgres; they import the
// services' packages for nothing.
package e2e
