package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// stopMetrics names the metrics from which the line of a stop is made, each with
// its name in the log.
type stopMetrics struct {
	counted map[string]string // logged as what the stop added and as the sum since the start
	held    map[string]string // gauges: what there was as the stop began
	left    map[string]string // gauges: what is left at the end
}

// watchStop returns a context that ends with ctx, and a function that the service
// calls once it has ended. That function logs in one line what the service
// finished between the two.
func watchStop(ctx context.Context, log *slog.Logger, service string, registry *prometheus.Registry,
	of stopMetrics) (context.Context, func(err error)) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var before map[string]float64 // written before inner ends
	var began time.Time
	unhook := context.AfterFunc(ctx, func() {
		before, began = sums(registry), time.Now()
		log.Info(service + " stops: it takes nothing new, and finishes what it has")
		cancel()
	})
	return inner, func(err error) {
		if unhook() { // it ended by itself
			cancel()
			return
		}
		<-inner.Done()
		after := sums(registry)
		line := []any{"took_ms", time.Since(began).Milliseconds()}
		add := func(names map[string]string, value func(metric, name string) []any) {
			for _, metric := range slices.Sorted(maps.Keys(names)) {
				line = append(line, value(metric, names[metric])...)
			}
		}
		add(of.counted, func(metric, name string) []any {
			return []any{"finished_" + name, int64(after[metric] - before[metric]), "all_" + name, int64(after[metric])}
		})
		add(of.held, func(metric, name string) []any { return []any{name, int64(before[metric])} })
		add(of.left, func(metric, name string) []any { return []any{name, int64(after[metric])} })
		if err != nil {
			line = append(line, "error", err)
		}
		log.Info(service+" stopped", line...)
	}
}

// sums returns the metrics' values by name, those of all labels together. What
// cannot be gathered is left out: a stop must not fail for it.
func sums(registry *prometheus.Registry) map[string]float64 {
	values := map[string]float64{}
	families, _ := registry.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			values[family.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}
