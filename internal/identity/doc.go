// Package identity turns what names a shopper (e-mail, phone, customer id,
// cart token) into keyed hashes, which join records without showing the value.
// The edge and the admin API use it before anything is written to Kafka, a spool,
// Postgres, a dead letter or a log. It also signs what browsers keep.
//
// What may enter: normalising, hashing, signing. No I/O, no clock, no
// knowledge of events or orders.
package identity
