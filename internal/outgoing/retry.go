package outgoing

import (
	"math/rand/v2"
	"time"
)

// schedule is how long after an attempt that failed the next one is made, as Standard Webhooks suggests: three days and a half in all.
var schedule = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour}

// jitter is by how much a wait is longer at most, as a part of it: messages that failed together are not sent together again.
const jitter = 0.2

// again says when a message is tried again after its nth attempt failed; false: never, it is parked. asked is what the receiver asked
// for: it makes a wait longer, not shorter.
func again(now time.Time, attempts int, asked time.Duration) (time.Time, bool) {
	if attempts > len(schedule) {
		return time.Time{}, false
	}
	wait := schedule[attempts-1]
	wait += time.Duration(rand.Float64() * jitter * float64(wait)) //nolint:gosec // spreads retries: nothing secret
	return now.Add(max(wait, asked)), true
}
