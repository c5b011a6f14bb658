package spool_test

import (
	"context"
	"testing"
	"time"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
)

// instant takes every record at once.
type instant struct{}

func (instant) Partitions(context.Context, string) (int, error) { return 1, nil }

func (instant) ProducePartition(context.Context, string, int, []wire.Record) error { return nil }

// BenchmarkRequest prices one request of 64 at a time, with a spool that is not
// in use and, as the baseline, without one.
func BenchmarkRequest(b *testing.B) {
	run := func(b *testing.B, config produce.Config) {
		batcher := produce.NewBatcher(instant{}, config)
		defer batcher.Close(b.Context())
		b.SetParallelism(32)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			record := wire.Record{Key: []byte("co"), Value: make([]byte, 800)}
			for pb.Next() {
				p := batcher.NewParcel()
				p.Records = append(p.Records, record)
				err := batcher.Enqueue(wire.TopicEvents, "co", p, time.Now().Add(time.Minute))
				if err == nil {
					_, err = p.Wait()
				}
				p.Release()
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.Run("no spool", func(b *testing.B) { run(b, produce.Config{}) })
	b.Run("spool not in use", func(b *testing.B) {
		opened, err := spool.Open(spool.Config{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer opened.Close()
		run(b, produce.Config{Spool: opened})
	})
}
