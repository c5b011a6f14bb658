// Package produce brings the records of many requests to Kafka in few produce
// calls: one queue and one goroutine for each partition, and an answer for each
// request once its records are durable.
//
// batcher.go takes requests and cuts them into chunks (chunk.go). Each chunk
// waits in its partition's queue (queue.go) until the partition's lane (lane.go)
// sends it. A queue may keep its chunks in memory or, later, on disk: nothing
// here but queue.go knows which.
//
// What may enter: batching, queueing, retries. No HTTP, no events, no orders.
package produce
