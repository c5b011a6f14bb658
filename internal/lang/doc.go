// Package lang has the languages of the dashboard and of the demo shop: it reads their
// catalogues of texts, one file a language, writes numbers, amounts of money, dates and plurals
// as each language does, and reads numbers, amounts and dates as people type them.
//
// What belongs here: what reads a catalogue, and prints and reads in a language. The texts stand beside
// the pages that have them (admin/dashboard/site/texts); no HTML but what stands in a text, and
// nothing about a page.
package lang
