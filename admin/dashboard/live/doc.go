// Package live pushes a day's sales to open dashboards over websockets.
//
// A record of results.v1 is a hint that orders changed; the truth is read from
// Postgres again and sent to the sockets of that company and day. Hints may be
// lost: a page comes with the cursor it was rendered at, and whoever was away,
// slow, or early is caught up by it.
//
// What may enter: sockets, hints, and who is told what. No SQL and no wording:
// what a message says is made by the Feed.
package live
