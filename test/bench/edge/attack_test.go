package main

import (
	"strings"
	"testing"
)

func TestAttacksHaveNamesOfTheirOwnAndKeepToTheBounds(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attacks() {
		if seen[a.name] {
			t.Errorf("two attacks are called %q", a.name)
		}
		seen[a.name] = true
		if a.bytes <= 0 || a.bytes > 1<<20+1<<10 || a.status < 200 || !strings.Contains(a.request, "\r\n\r\n") {
			t.Errorf("%s: %d bytes, status %d", a.name, a.bytes, a.status)
		}
	}
	t.Logf("%d attacks", len(seen))
}
