package outgoing

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// The schedule that Standard Webhooks suggests: three days and more, then never again.
func TestAMessageIsTriedForThreeDays(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	at, n := now, 1
	for {
		next, goesOn := again(at, n, 0)
		if !goesOn {
			break
		}
		if least := schedule[n-1]; next.Sub(at) < least || next.Sub(at) > least+least/5 {
			t.Errorf("attempt %d after %v", n+1, next.Sub(at))
		}
		at, n = next, n+1
	}
	if n != 10 || at.Sub(now) < 72*time.Hour || at.Sub(now) > 96*time.Hour {
		t.Errorf("%d attempts in %v", n, at.Sub(now))
	}
	if next, _ := again(now, 1, time.Hour); next.Sub(now) != time.Hour {
		t.Errorf("Retry-After is not honoured: %v", next.Sub(now))
	}
	if next, _ := again(now, 4, time.Minute); next.Sub(now) < 2*time.Hour {
		t.Error("Retry-After makes a wait shorter")
	}
}

// Messages that were sent together and failed are tried together again, whatever each one's own wait is.
func TestWhatWasSentTogetherIsTriedTogether(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	r := &Result{Try: commerce.Try{Failure: commerce.TryStatus}}
	var group []commerce.Sent
	for n := range 5 {
		group = append(group, become(now, commerce.Message{Number: int64(n), Attempts: n % 3}, r))
	}
	group = append(group, become(now, commerce.Message{Number: 5, Attempts: len(schedule)}, r))
	group = stayTogether(group)
	for _, one := range group[:5] {
		if one.State != commerce.MessageWaiting || !one.DueAt.Equal(group[0].DueAt) || one.DueAt.Sub(now) < schedule[2] {
			t.Errorf("%d is tried %v later", one.Number, one.DueAt.Sub(now))
		}
	}
	if last := group[5]; last.State != commerce.MessageParked || !last.DueAt.IsZero() {
		t.Errorf("the one that was tried to the end: %+v", last)
	}
}
