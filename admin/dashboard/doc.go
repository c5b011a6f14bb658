// Package dashboard is the pages that a merchant's people log in to: today's
// orders and who is credited, and each order's explanation. Pages are rendered
// here from templates; style and script are embedded, and nothing is loaded
// from another host.
//
// What may enter: HTTP, HTML, sessions, and the wording of pages. Data comes
// through Store; no SQL, no Kafka, and no rule of attribution: the pages show
// what the processor decided.
package dashboard
