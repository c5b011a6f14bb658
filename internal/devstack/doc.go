// Package devstack runs what Tributary needs beside itself on one machine: a
// real PostgreSQL server and an embedded Kafka broker. `tributary dev` and the
// tests stand on it; production does not.
//
// What may enter: child processes, downloads of their binaries, the embedded
// broker. No rule of the business, no schema.
package devstack
