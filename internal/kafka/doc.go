// Package kafka is the adapter to Apache Kafka: connections (TLS, SASL),
// topics, producing with acks=all, following a partition, and the consumer
// group whose offsets live in Postgres. Its types are bytes, and its names are Kafka's.
//
// What may enter: segmentio/kafka-go and internal/wire's topic names. No rule
// of the business, no Postgres.
package kafka
