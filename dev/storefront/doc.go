// Package storefront is the demo shop of `tributary dev`. It uses Tributary as a
// merchant's shop does: its pages load the SDK from the edge, and it posts its
// orders to the admin API with a key.
//
// What may enter: pages and a catalogue. Of our packages it imports sdk-js only,
// for the snippet.
package storefront
