// Package admin is the REST API of stores (shared specification version 1.1.0,
// live and sandbox) and the publisher of the outbox. One file per resource;
// every route is on one screen in routes.go.
//
// The corridor of a request: Handler (request id, panics, access log) →
// route (404, 405) → operation (key, scope, rate) → the resource's function,
// which reads its body with the readers of fields.go and gives an answer or a
// problem → envelope. Orders and products go to Kafka before the 200; rules go
// to Postgres together with their outbox records, and relay.go publishes those.
//
// What may enter: HTTP and the rules of requests. It declares the store and
// producer that it needs (deps.go) and never imports internal/postgres or
// internal/kafka; no SQL, no attribution, and no float on the way of money.
package admin
