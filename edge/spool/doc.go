// Package spool keeps the edge's records on disk while Kafka does not take
// them: internal/produce.Spool on segment logs (docs/edge.md, "Spool").
//
// Each edge has a log of its own, in a numbered directory below one that edges
// of a machine may share. Logs that dead edges left there are drained as well.
//
// What may enter: files, by internal/seglog. No HTTP and no Kafka.
package spool
