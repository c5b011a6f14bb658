// Package devtest starts real servers and browsers for tests: a PostgreSQL with
// one migrated database a call, an embedded Kafka broker with our topics, a real
// Apache Kafka that can be killed, and Chromium.
//
// What may enter: what starts real servers for tests of several packages. No
// fakes, and nothing that production code imports.
package devtest
