// Package storefront is the demo shop of `tributary dev`: it stands where a
// merchant's shop stands. It embeds the SDK from the edge and posts its orders
// to the admin API with a key, and knows nothing else of Tributary.
//
// What may enter: pages and a catalogue. It imports none of our packages.
package storefront
