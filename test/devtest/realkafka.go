package devtest

import (
	"context"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/kafkadist"
)

// Broker is a real Apache Kafka that a test may kill and bring back.
type Broker struct {
	Addr string // host:port; the same over restarts

	t    testing.TB
	real *kafkadist.Broker
}

// RealKafka starts a real Apache Kafka 4.4 (KRaft, one node) with our topics.
// The test fails, and is never skipped, if Java or Maven is not installed.
func RealKafka(t testing.TB) *Broker {
	t.Helper()
	NeedsIntegration(t)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	b, err := kafkadist.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatalf("devtest: %v", err)
	}
	t.Cleanup(b.Kill) // its data is removed, so it need not shut down
	ensureTopics(t, b.Addr())
	return &Broker{Addr: b.Addr(), t: t, real: b}
}

// Kill ends the broker by SIGKILL.
func (b *Broker) Kill() { b.real.Kill() }

// Pause stops the broker by SIGSTOP: its connections stay open, and nothing answers.
func (b *Broker) Pause() error { return b.real.Pause() }

// Continue lets a paused broker go on.
func (b *Broker) Continue() error { return b.real.Continue() }

// Restart starts the broker again, on the same address with the same data, and
// returns once it is ready.
func (b *Broker) Restart() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.real.Restart(ctx); err != nil {
		b.t.Fatalf("devtest: %v", err)
	}
}
