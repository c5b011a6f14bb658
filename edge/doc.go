// Package edge is the collector: it takes shoppers' events over HTTP, serves
// short links and the browser SDK's files, and acknowledges an event only once
// it is in Kafka with acks=all.
//
// The files in the order in which an event passes them: routes.go,
// collect.go (the request), sdk/core (parse and check), delivery.go and
// duplicates.go (records and results), record.go (hash, scrub, add what the edge
// knows) or rejected.go (dead letters), internal/produce (one produce for the
// requests of many connections), answer.go.
//
// What may enter: HTTP, the directory view, batching. It knows companies and
// links from directory.v1 alone; no Postgres, no admin, no processor. No code
// after record.go and rejected.go sees a raw identity.
package edge
