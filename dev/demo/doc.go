// Package demo fills a store for a demonstration: products, influencers and a
// few shoppers' visits and orders, one of which is attributed. It sends all of
// it over HTTP, as a merchant and shoppers would.
//
// What may enter: what the demo store sells, who promotes it, and the requests.
// Nothing that reads or writes the database or Kafka.
package demo
