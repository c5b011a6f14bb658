// Package preview says what a change of rules would move before it is saved: which
// orders, how much, from whom to whom. It decides the orders that the change concerns
// twice with internal/attribution, by the rules as they are and by the rules as they
// would be, over the same facts.
//
// It reads through a Store and writes nothing.
package preview
