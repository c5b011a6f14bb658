// Package webhooks is the pages of webhook endpoints and of accounts at advertising networks: where a store's events and sales go, which of
// them, and what became of each message.
//
// What belongs here: those pages and their forms. What sends is the service connect; which events there are is commerce's.
package webhooks
