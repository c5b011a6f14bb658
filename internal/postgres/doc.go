// Package postgres is the adapter to PostgreSQL: the schema and its
// migrations, and one file per resource for what services read and write.
//
// What may enter: pgx and SQL. Driver errors are translated here, once, into
// internal/commerce's kinds. No HTTP, no Kafka, no rule of attribution.
package postgres
