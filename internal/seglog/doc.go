// Package seglog is a durable queue in files: records are appended to segments,
// each lane is read in order, and segments go when all of their records are done.
//
//	log, recovered, err := seglog.Open(dir, seglog.Options{MaxBytes: 1 << 30})
//	err = log.Append(ctx, seglog.Record{Lane: 3, Payload: event}) // durable when it returns
//	records, err := log.Next(3, 100, 1<<20)
//	err = log.Done(3, records[len(records)-1].Seq)
//
// Append returns once the record is on disk: the records of callers that wait
// at the same time share one fsync. After a crash a record that was appended is
// there, unless it was done. That it is done is written with the next append,
// by Flush and by Close: after a crash before that it is there once more, so
// readers must bear copies.
//
// What may enter: files, and the standard library alone, so that the Go SDK can
// share it.
package seglog
