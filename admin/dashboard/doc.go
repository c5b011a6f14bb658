// Package dashboard is the pages that a merchant's people log in to: today's
// orders and who is credited, and each order's explanation. Pages are rendered
// from templates; style and script are embedded, and nothing is loaded from
// another host.
//
// This package is the entrance: it makes the pages of each subject, puts their routes
// behind the log-in, and opens the websocket of package live. A subject is a package
// below: login, rules, money, report, events, shops. What they share is package site.
//
// What belongs below here: HTTP, HTML, sessions, and the wording of pages. Data comes
// from a Database, of which each subject names the methods that it needs. No SQL, no
// Kafka, no handler of the API, and no rule of attribution: the pages show what the
// processor decided.
package dashboard
