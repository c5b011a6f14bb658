// Package live pushes a day's sales to open dashboards over websockets.
//
// A record of results.v1 is a hint that orders changed. The hub then reads those
// orders from Postgres and sends them to the sockets of that company and day.
// Hints may be lost. Each page has a cursor, which says up to which change it is
// complete; by that cursor the hub finds what a page has missed.
//
// What belongs here: sockets, hints, and which socket gets which message. No SQL
// and no wording: the Feed makes the messages.
package live
