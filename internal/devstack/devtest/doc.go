// Package devtest gives tests real dependencies: a PostgreSQL server with an
// isolated, migrated database per call, an embedded Kafka broker with our
// topics, and a real Apache Kafka that can be killed.
//
// What may enter: what tests of several packages share to start real parts. No
// fakes, and nothing that production code imports.
package devtest
