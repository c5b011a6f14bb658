// Package retention has the SQL of the removal of old events: which orders are to be sealed
// first, and what goes. What is removed when, and why, is in internal/upkeep/retention.
package retention
