package dashboard_test

import "strings"

// contains tells whether a text holds all of the parts.
func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
