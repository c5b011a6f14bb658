// Package wire holds the shapes of the records on Kafka's topics (docs/notes/wire.md),
// shared by whoever writes and whoever reads them.
//
// What may enter: plain data and its JSON encoding. No I/O, no rules, no
// clock; never a raw e-mail, phone or customer id outside wire.Order.Personal.
package wire
