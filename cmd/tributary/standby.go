package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres/report"
)

// readStandby opens the standby of --postgres-read and follows it until stop is called; where none is given, reports are read from db.
func (s *adminSetup) readStandby(ctx context.Context, db stores, registry *prometheus.Registry) (reads admin.Reports, stop func() error,
	err error) {
	age, fromStandby, fromPrimary := func() float64 { return 0 }, func() float64 { return 0 }, func() float64 { return 0 }
	reads, stop = db, func() error { return nil }
	if s.read != "" {
		standby, err := report.OpenStandby(ctx, s.read, db.Reader, s.log)
		if err != nil {
			return nil, nil, err
		}
		following := background.Start(ctx, s.log, "standby", standby.Run)
		reads, stop = standby, func() error {
			defer standby.Close()
			return following.Stop()
		}
		age = func() float64 { return standby.Age().Seconds() }
		fromStandby = func() float64 { n, _ := standby.Counts(); return float64(n) }
		fromPrimary = func() float64 { _, n := standby.Counts(); return float64(n) }
	}
	const name, help = "tributary_admin_reports_total", "Reports that were read, with --postgres-read, by which server."
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tributary_admin_standby_age_seconds",
			Help: "How old the standby of --postgres-read is, or how long it has not been used; 0 where none is given."}, age),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"from": "standby"}}, fromStandby),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"from": "primary"}}, fromPrimary))
	return reads, stop, nil
}
