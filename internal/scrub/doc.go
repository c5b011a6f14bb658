// Package scrub finds what names a shopper in texts (e-mails, phones, numbers of
// documents and cards, ids of customers and carts) and removes it. It also tells by its
// shape what proves whose an event is, and removes that. The edge and the admin API use it
// before anything is written to Kafka, a spool, Postgres, a dead letter or a log.
//
// What may enter: finding, removing. No I/O, no clock.
package scrub
