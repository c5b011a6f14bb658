package spool

import "time"

// State is what /readyz and /metrics say of the spool.
type State struct {
	Bytes    int64         // of all logs, with what is sent and not removed yet
	MaxBytes int64         // of this edge's own
	Oldest   time.Duration // how long the oldest record has been waiting; 0: none waits
	Spooled  int64         // records, since the start
	Sent     int64         // records that left it, since the start
	Failures int64         // requests that it did not take, since the start
	Refused  int           // records that Kafka refused for good, quarantined until the next start
	CutBytes int64         // behind the last whole record of a file, at the start
	Room     bool          // it takes records now, as far as it knows
}

// Bounds of what counts as room.
const (
	roomShare    = 0.95             // of MaxBytes
	failurePause = 10 * time.Second // since a Keep that failed, unless one succeeded
)

// State reads the oldest record of each partition.
func (s *Spool) State() State {
	state := State{
		MaxBytes: s.config.MaxBytes, Spooled: s.spooled.Load(), Sent: s.sent.Load(), Failures: s.failures.Load(), CutBytes: s.cut,
	}
	state.Refused, state.Bytes = s.refused()
	now := s.config.Now()
	for _, l := range s.logs {
		state.Bytes += l.Bytes()
		for _, lane := range l.Lanes() {
			entries, err := l.Next(lane, 1, 0)
			if err != nil || len(entries) == 0 {
				continue // sent just now
			}
			if at, _, err := decode(entries[0].Payload); err == nil {
				state.Oldest = max(state.Oldest, now.Sub(at))
			}
		}
	}
	state.Room = s.Room()
	return state
}

// Room tells whether the spool takes records now, as far as it knows.
func (s *Spool) Room() bool {
	failed := s.lastFailure.Load()
	return float64(s.own.Bytes()) < roomShare*float64(s.config.MaxBytes) &&
		(failed == 0 || s.config.Now().UnixNano()-failed > int64(failurePause))
}
