// Package events is the pages of what comes from a shop: events as they come, with what
// became of each, and the page that connects a shop.
//
// What belongs here: the logs of events, as people read them. What one event is and does
// is decided by package inspect.
package events
