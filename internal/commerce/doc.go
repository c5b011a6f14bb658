// Package commerce holds what merchants speak of (influencers, coupons, costs,
// orders, money, settings), the rules that each must keep, and error kinds.
//
// A Check function returns every rule that a value breaks. The API, forms and
// the command line use the same ones.
//
// What belongs here: types, constants and pure functions that every service
// agrees on. No I/O, no HTTP, no SQL; of our packages it imports wire,
// fold, publichost and uuidtext.
package commerce
