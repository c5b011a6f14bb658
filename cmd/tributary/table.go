package main

import (
	"strings"
	"time"
	"unicode"
)

// What a cell of a command's table holds.

// listed is a list in one cell.
func listed(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return printable(strings.Join(words, ","))
}

// printable replaces what would move a terminal's cursor or colour it: names
// and campaigns come from other people.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// moment is a time in UTC; "never" where there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
