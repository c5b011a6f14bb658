// Package commerce holds the domain's words and their plain rules: money,
// codes and names as they are matched, scopes, error kinds.
//
// What may enter: types, constants and pure functions every service agrees on.
// No I/O, no HTTP, no SQL; it imports none of our packages.
package commerce
