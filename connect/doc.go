// Package connect brings the orders of shops into their companies: it is the service `tributary connect`.
//
// A newcomer reads it in this order. server.go leases connections and gives each to one goroutine; visit.go is what that goroutine
// does, step by step, until nothing is due: tasks of the merchant (task.go), the start (state.go), notices of the platform
// (notice.go, privacy.go), changes (poll.go), the comparison of each night (compare.go, coupon.go), earlier orders (backfill.go).
// Every order that is read goes through deliver.go to the public admin API (api.go), and only then is the place stored up to which
// the shop was read: a process that dies reads again what it may have sent already, which changes nothing. receive.go takes
// notices from platforms: one row each, and the visit does the rest.
//
// What may enter: what is the same for all platforms. What is one platform's is in its folder.
package connect
