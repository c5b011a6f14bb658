// Package webhook sends the events of companies to the endpoints that they set up, as Standard Webhooks says
// (docs/adr/0039-what-leaves-goes-by-one-outbox.md). sender.go runs the engine (internal/outgoing) for endpoints, send.go makes one
// request, sign.go signs it.
//
// What may enter: what sends by HTTP. Which events there are is the processor's; other kinds of destinations get packages of their own.
package webhook
