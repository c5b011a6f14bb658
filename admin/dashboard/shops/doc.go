// Package shops is the pages of connections: shops at a platform whose orders come by themselves. A shop is connected step by
// step (platform, keys or installation, test, days), and each connection has a page.
//
// What belongs here: those pages and their forms. What is done at a platform is a task for the service connect, which alone
// can read a shop's keys: a page waits for its answer.
package shops
