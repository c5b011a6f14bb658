// Package importer sends a merchant's history, one JSON payload a line, through
// the same doors as live traffic: events to the edge, orders to the admin API.
// It can be killed at any instant and carries on where it was.
//
// What may enter: reading files and speaking HTTP. No Kafka, no Postgres, and
// no knowledge of what makes a payload valid: the services judge that.
package importer
