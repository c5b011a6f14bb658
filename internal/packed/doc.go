// Package packed writes what is stored of facts in few bytes, and reads it back
// exactly: the records of events, orders, and the ids of visitors and keys.
//
// What may enter: forms of bytes. It knows nothing of attribution, and every text
// has a packed form. Bytes that were written once must be readable for ever: a new
// form gets a new first byte.
package packed
