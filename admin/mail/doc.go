// Package mail sends mails to the people of stores and to their partners, as one more kind of destination of what leaves
// (docs/adr/0042-mail-is-one-more-destination.md). sender.go runs the engine (internal/outgoing), letter.go writes a mail from what is
// stored when it is sent, message.go makes it plain text and HTML, smtp.go hands it to the operator's server.
//
// What may enter: what a mail says and how it is sent. Which events there are is told by who writes them; who gets which, on the
// dashboard's page (admin/dashboard/mails).
package mail
