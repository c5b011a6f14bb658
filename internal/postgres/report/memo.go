package report

import (
	"sync"

	"github.com/tributary-io/tributary/internal/models"
)

// maxRemembered is of how many channels weights are remembered, all periods together: about
// 150 bytes each.
const maxRemembered = 40_000

// remembered are the weights of periods that were computed before. Weights are a pure
// function of their tally, and the key is a digest of it: so no change makes them wrong, and
// a period that is over is solved once. Safe for concurrent use; nobody may change what it
// returns.
type remembered struct {
	mu       sync.Mutex
	weights  map[models.TallyDigest]models.Weights
	order    []models.TallyDigest // the oldest first
	channels int                  // of all
}

// weightsOf returns the weights of a tally's channels.
func (m *remembered) weightsOf(t *models.Tally, channels []int32) models.Weights {
	key := t.Digest(channels)
	m.mu.Lock()
	known, is := m.weights[key]
	m.mu.Unlock()
	if is {
		return known
	}
	w := t.Weights(channels)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, is := m.weights[key]; is {
		return w
	}
	if m.weights == nil {
		m.weights = map[models.TallyDigest]models.Weights{}
	}
	m.weights[key], m.order, m.channels = w, append(m.order, key), m.channels+len(channels)
	for m.channels > maxRemembered && len(m.order) > 1 {
		oldest := m.order[0]
		m.channels -= len(m.weights[oldest].Conversions)
		delete(m.weights, oldest)
		m.order = m.order[1:]
	}
	return w
}
