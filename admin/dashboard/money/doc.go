// Package money is the pages of orders and of what is owed for them: today, orders and one
// order's explanation, reviews, payouts, and statements with the links that show them to
// influencers.
//
// What belongs here: what is sold, credited, owed and paid. It changes no rule; the pages
// show what the processor decided.
package money
