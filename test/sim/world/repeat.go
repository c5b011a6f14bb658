package main

import "time"

// markedWithin is how soon after Kafka's acknowledgement the spool's files say
// that a record is sent: a second (docs/edge.md), the time of a slow sync, and
// room.
const markedWithin = 5 * time.Second

// ack is Kafka's acknowledgement of an event, as an edge got it.
type ack struct {
	at        time.Time
	partition int
}

// noteProduced is called when Kafka has answered an edge, or has not.
func (m *machine) noteProduced(partition int, list []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		for _, id := range list {
			m.acked[id] = ack{time.Now(), partition}
		}
		return
	}
	// What was acknowledged only in part, after it was spooled, is sent again as
	// a whole, which may be what has failed now.
	for id, a := range m.acked {
		if a.partition == partition && time.Since(a.at) < 2*markedWithin {
			delete(m.acked, id)
		}
	}
}

// noteBroken is called when a fault of the disk begins or ends.
func (m *machine) noteBroken() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = time.Now()
}

// noteKilled is called when a life ends with a crash. What was acknowledged long
// before, with nothing wrong since, must be known as sent after it. The caller
// does not hold m.mu.
func (m *machine) noteKilled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed = time.Now()
	for id, a := range m.acked {
		if m.killed.Sub(a.at) < markedWithin || a.at.Before(m.broken.Add(markedWithin)) {
			delete(m.acked, id) // its mark may be lost
		}
	}
}

// noteProduce is called before an edge sends records. One that this machine's
// edge had acknowledged before its last crash may be sent again only if its
// sender has sent it again.
func (m *machine) noteProduce(list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range list {
		a, known := m.acked[id]
		if !known || m.killed.IsZero() || a.at.After(m.killed) {
			continue
		}
		if again := m.w.lastSent(id); again.Before(m.killed) {
			m.w.violate("edge %d sends %s again after a crash, %v after Kafka had acknowledged it", m.number, id, time.Since(a.at))
		}
	}
}
