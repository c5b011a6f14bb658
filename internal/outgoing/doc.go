// Package outgoing delivers the messages of destinations, of whatever kind (docs/adr/0039-what-leaves-goes-by-one-outbox.md). engine.go
// leases destinations and gives each to one goroutine, turn.go is what that goroutine does, retry.go says when a message is sent again.
//
// What may enter: what all kinds of destinations share. How one kind is sent is a Transport: connect/webhook and admin/mail.
package outgoing
