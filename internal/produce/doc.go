// Package produce brings the records of many requests to Kafka in few produce
// calls: one queue and one goroutine for each partition, and an answer for each
// request once its records are durable.
//
// batcher.go takes requests and cuts them into chunks (parcel.go). Each chunk
// waits in its partition's queue (queue.go) until the partition's lane (lane.go)
// sends it. While Kafka is away, chunks go to the spool on disk (away.go), and are
// sent from there later (drain.go).
//
// What may enter: batching, queueing, retries. No HTTP, no events, no orders.
package produce
