// Package importer sends a merchant's history, one JSON payload a line, as live
// traffic is sent: events to the edge, orders to the admin API. It can be
// killed at any time; the next run continues where it was.
//
// What may enter: reading files and HTTP requests. No Kafka, no Postgres, and
// no rule of what makes a payload valid: the services decide that.
package importer
