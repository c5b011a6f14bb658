// Package rules is the pages of what a merchant sets up: influencers with their links,
// coupons and agreements, costs, settings and API keys, and what a change would move before
// it is saved.
//
// What belongs here: forms. What a rule may be is checked by internal/commerce, and what it
// does is internal/attribution's.
package rules
