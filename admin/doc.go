// Package admin is the REST API of stores (docs/api.md, live and sandbox) and the publisher of the outbox. One file per resource;
// every route is on one screen in routes.go.
//
// A request passes through observe.go (request id, panics, access log),
// routes.go and request.go (404, 405, key, scope, rate), idempotency.go, and the
// resource's function. That reads the body with the functions of fields.go, lets
// internal/commerce check it, and returns an answer or an error, which
// problem.go and envelope.go write. Orders and products are on Kafka before the
// 200. Rules are stored in Postgres together with their outbox records, and
// relay.go publishes those. mux.go puts the dashboard's pages beside the API.
//
// What belongs here: HTTP and the shapes of requests and answers. The package
// declares the database and the producer that it needs (deps.go) and never
// imports internal/postgres or internal/kafka. No SQL, no rule of attribution,
// and no floating-point numbers for money.
package admin
