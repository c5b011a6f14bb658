// Package lang has the languages of the pages: their texts, and how each writes
// numbers, amounts of money, dates and plurals.
//
// What belongs here: en.txt and pt-BR.txt, one catalogue a language, and what
// reads them, and others of their form. No HTML but what stands in a text, and nothing about a page.
package lang
