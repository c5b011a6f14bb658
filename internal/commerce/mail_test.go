package commerce_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// A destination's digests are an hour apart, never under way already, and those of many destinations are spread over the hour.
func TestWhenADigestIsSent(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	minutes := map[int]bool{}
	for i := range 200 {
		id, seen := fmt.Sprint("mail_", i), map[time.Time]bool{}
		for s := range 3 * 3600 / 30 {
			now := begin.Add(time.Duration(s) * 30 * time.Second)
			at := commerce.DigestAt("c_1", id, now)
			if at.Before(now.Add(commerce.DigestNotice)) || at.After(now.Add(commerce.DigestNotice+commerce.DigestEvery)) {
				t.Fatalf("%s at %s: %s", id, now, at)
			}
			seen[at] = true
		}
		var last time.Time
		for at := range seen {
			if !last.IsZero() && at.Sub(last)%commerce.DigestEvery != 0 {
				t.Fatalf("%s: %v", id, seen)
			}
			last = at
			minutes[at.Minute()] = true
		}
		if len(seen) > 5 {
			t.Fatalf("%s: %d digests in three hours", id, len(seen))
		}
	}
	if len(minutes) < 50 {
		t.Errorf("all are sent in %d minutes of the hour", len(minutes))
	}
}
