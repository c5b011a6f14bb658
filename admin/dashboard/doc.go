// Package dashboard is the pages that a merchant's people log in to: today's
// orders and who is credited, and each order's explanation. Pages are rendered
// here from templates; style and script are embedded, and nothing is loaded
// from another host.
//
// What belongs here: HTTP, HTML, sessions, and the wording of pages; package
// live, below, is their websocket. Data comes from a Database. No SQL, no Kafka,
// no handler of the API, and no rule of attribution: the pages show what the
// processor decided.
package dashboard
