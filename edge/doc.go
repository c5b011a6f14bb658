// Package edge is the collector: it takes shoppers' events over HTTP, serves
// short links and the browser SDK's files, and acknowledges an event only once
// it is in Kafka with acks=all.
//
// The corridor of an event: collect.go (the request) → sdk/core (parse and
// check) → record.go (hash, scrub, enrich) → internal/produce (one
// produce for the requests of many connections) → Kafka → answer.go.
//
// What may enter: HTTP, the directory view, batching. It knows companies and
// links from directory.v1 alone; no Postgres, no admin, no processor. Raw
// identities die in record.go and rejected.go: nothing after them sees one.
package edge
