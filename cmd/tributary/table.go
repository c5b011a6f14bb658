package main

import (
	"strings"
	"time"
	"unicode"
)

// listed returns a list as the text of one cell.
func listed(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return printable(strings.Join(words, ","))
}

// printable replaces characters that control a terminal: names and campaigns
// come from other people.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// momentOrNone is moment in a list: null in JSON for the zero time.
func momentOrNone(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return moment(t)
}

// moment returns a time in UTC; "never" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
