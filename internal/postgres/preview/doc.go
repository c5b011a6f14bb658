// Package preview makes a change of rules and undoes it, and reads the facts of the orders
// that the change concerns: internal/preview.Store on Postgres. It knows no rule.
package preview
