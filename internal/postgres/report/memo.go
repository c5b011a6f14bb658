package report

import (
	"context"
	"runtime"
	"sync"

	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

// maxRemembered is of how many channels weights are remembered, all periods together: about
// 150 bytes each.
const maxRemembered = reports.MaxMarkovOfPeriods

// remembered are the weights of periods that were computed before. Weights are a pure
// function of their tally, and the key is a digest of it: so no change makes them wrong, and
// a period that is over is solved once. Safe for concurrent use; nobody may change what it
// returns.
type remembered struct {
	computing chan struct{} // has room for so many as there are cores, of all reports together

	mu       sync.Mutex
	weights  map[models.TallyDigest]models.Weights
	order    []models.TallyDigest // the oldest first
	channels int                  // of all
}

func newRemembered() *remembered {
	return &remembered{computing: make(chan struct{}, runtime.GOMAXPROCS(0)), weights: map[models.TallyDigest]models.Weights{}}
}

// weightsOf returns the weights of a tally's channels. What is computed is remembered, also where
// nobody waits for it any more: a report that is asked for again goes on from there.
func (m *remembered) weightsOf(ctx context.Context, t *models.Tally, channels []int32) (models.Weights, error) {
	key := t.Digest(channels)
	if known, is := m.known(key); is {
		return known, nil
	}
	select {
	case m.computing <- struct{}{}:
		defer func() { <-m.computing }()
	case <-ctx.Done():
		return models.Weights{}, ctx.Err()
	}
	if known, is := m.known(key); is { // another report has computed it meanwhile
		return known, nil
	}
	if err := ctx.Err(); err != nil {
		return models.Weights{}, err
	}
	w := t.Weights(channels)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, is := m.weights[key]; is {
		return w, nil
	}
	m.weights[key], m.order, m.channels = w, append(m.order, key), m.channels+len(channels)
	for m.channels > maxRemembered && len(m.order) > 1 {
		oldest := m.order[0]
		m.channels -= len(m.weights[oldest].Conversions)
		delete(m.weights, oldest)
		m.order = m.order[1:]
	}
	return w, nil
}

func (m *remembered) known(key models.TallyDigest) (models.Weights, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, is := m.weights[key]
	return w, is
}
