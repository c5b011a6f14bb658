// Package shop is what all fake platforms have in common: the state of one shop (products, coupons,
// orders and their lives), its HTTP server, rate limit, faults by seed, and the sender of signed
// notices. What a platform's API looks like is in the folder of the platform, which gives a Platform.
//
// What may enter: what is true of a shop whatever its platform. Written from the platforms'
// documentation, never from the code that reads them: who changes something here reads no package
// of the product.
package shop
