// Package kafka is the adapter to Apache Kafka: connections (TLS, SASL),
// topics, producing with acks=all, following a partition, and the consumer
// group whose offsets live in Postgres. It speaks in bytes and Kafka's words.
//
// What may enter: segmentio/kafka-go and internal/wire's topic names. No rule
// of the business, no Postgres.
package kafka
