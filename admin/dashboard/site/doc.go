// Package site is what the pages of all subjects share: the request of somebody who is
// logged in, the navigation, forms, charts, files and the words and templates of pages,
// in each language.
//
// What belongs here: what two subjects need. Nothing of one subject, no session, no
// database, and no import of a subject.
package site
