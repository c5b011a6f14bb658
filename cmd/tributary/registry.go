package main

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// newRegistry returns a registry for a service's metrics. Where only operators
// reach them it has those of the Go runtime, the process and the build too: to a
// stranger these would say what load does, and which version runs.
func newRegistry(internal bool) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	if !internal {
		return registry
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tributary_build_info", Help: "1; its labels say what was built.",
		ConstLabels: prometheus.Labels{"version": version(debug.ReadBuildInfo())},
	})
	build.Set(1)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return registry
}
