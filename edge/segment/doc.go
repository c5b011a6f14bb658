// Package segment reads requests of Segment's tracking protocol, and writes them as
// bodies of POST /v1/events, so that all that holds for those holds for them. Pure.
//
// What may enter: JSON and the words of both protocols. It knows no HTTP, no company's
// settings and no hash of a shopper.
package segment
