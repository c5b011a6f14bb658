// Package network sends conversions to advertising networks (docs/adr/0048-conversions-leave-by-consent.md). sender.go runs the engine
// (internal/outgoing) for accounts at networks, sale.go decides what a network is told of an order, consent.go whether the shopper agreed,
// send.go makes one request, google.go gets Google's access tokens.
//
// What may enter: what needs the database, the clock or the network. What a network is sent, and what its answers mean, is
// connect/conversion's.
package network
