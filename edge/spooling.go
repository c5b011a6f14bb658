package edge

import (
	"context"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
)

// withSpool adds the spool to the batcher's settings, and its metrics to ours.
func (s *Server) withSpool(config produce.Config) produce.Config {
	if s.deps.Spool != nil {
		config.Spool, config.Partitions = s.deps.Spool, maps.Clone(s.directory.partitions)
		registerSpool(s.deps.Registry, s.deps.Spool)
	}
	return config
}

// askPause is the wait before Kafka is asked again for a count of partitions.
const askPause = time.Second

// learnPartitions asks Kafka for the counts of partitions until it says them: the
// snapshot keeps them, so that an edge that starts without Kafka can spool.
func (s *Server) learnPartitions(ctx context.Context) {
	counts := map[string]int{}
	for _, topic := range []string{wire.TopicEvents, wire.TopicRejected} {
		for ctx.Err() == nil {
			asked, cancel := context.WithTimeout(ctx, s.config.ProduceTimeout)
			n, err := s.batcher.ConfirmPartitions(asked, topic)
			cancel()
			if err == nil {
				counts[topic] = n
				break
			}
			background.Sleep(ctx, askPause)
		}
	}
	if ctx.Err() != nil {
		return
	}
	s.directory.setPartitions(counts)
}

// setPartitions keeps the counts for the snapshot.
func (d *directory) setPartitions(counts map[string]int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(counts) > 0 && !maps.Equal(counts, d.partitions) {
		d.partitions, d.changed = counts, true
	}
}

// spoolState is what /readyz says of the spool.
type spoolState struct {
	Room        bool  `json:"room"` // it takes events, as far as it knows
	Bytes       int64 `json:"bytes"`
	MaxBytes    int64 `json:"max_bytes"`
	OldestAgeMs int64 `json:"oldest_age_ms"` // of what is not on Kafka yet; 0: nothing waits
}

// spoolState is nil without a spool.
func (s *Server) spoolState() *spoolState {
	if s.deps.Spool == nil {
		return nil
	}
	state := s.deps.Spool.State()
	return &spoolState{Room: state.Room, Bytes: state.Bytes, MaxBytes: state.MaxBytes, OldestAgeMs: state.Oldest.Milliseconds()}
}

func registerSpool(registry prometheus.Registerer, from *spool.Spool) {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "tributary", Subsystem: "edge_spool", Name: name, Help: help}
	}
	gauge := func(name, help string, value func(spool.State) float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts(name, help)), func() float64 { return value(from.State()) }))
	}
	counter := func(name, help string, value func(spool.State) int64) {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts(opts(name, help)), func() float64 {
			return float64(value(from.State()))
		}))
	}
	gauge("bytes", "Bytes in the spool's files.", func(state spool.State) float64 { return float64(state.Bytes) })
	gauge("max_bytes", "Bound of this edge's own records in the spool.", func(state spool.State) float64 { return float64(state.MaxBytes) })
	gauge("oldest_age_seconds", "How long the spool's oldest record has been waiting for Kafka; 0 while none waits.",
		func(state spool.State) float64 { return state.Oldest.Seconds() })
	gauge("refused_records", "Records that Kafka refuses for good, quarantined until the edge starts again.", func(state spool.State) float64 {
		return float64(state.Refused)
	})
	counter("spooled_records_total", "Records written to the spool.", func(state spool.State) int64 { return state.Spooled })
	counter("drained_records_total", "Records of the spool that Kafka has acknowledged.", func(state spool.State) int64 { return state.Sent })
	counter("failures_total", "Writes that the spool did not take: it is full, or its disk is full or fails.", func(state spool.State) int64 {
		return state.Failures
	})
	counter("cut_bytes_total", "Bytes found behind the last whole record of a file, at the start.", func(state spool.State) int64 {
		return state.CutBytes
	})
}
