package main

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// internalRegistry returns a registry for a service whose /metrics only operators
// reach: with the Go runtime's metrics, the process's and the build's. To a
// stranger these would say what load does, and which version runs.
func internalRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tributary_build_info", Help: "1; its labels say what was built.",
		ConstLabels: prometheus.Labels{"version": version(debug.ReadBuildInfo())},
	})
	build.Set(1)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return registry
}
