// Package login is who may see the pages: logging in and out, sessions and their tokens,
// passwords, known devices, one-time links, a person's account and a store's people.
//
// What belongs here: who somebody is and what they may see. It wraps every page of those who
// are logged in, and knows none.
package login
