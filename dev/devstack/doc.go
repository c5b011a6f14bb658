// Package devstack runs the servers that Tributary needs on one machine: a real
// PostgreSQL and an embedded Kafka broker. `tributary dev` and the tests use it;
// production does not.
//
// What may enter: child processes, downloads of their binaries, the embedded
// broker. No business rules, no schema.
package devstack
