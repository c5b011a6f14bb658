package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tributary-io/tributary/internal/tracing"
)

// traceFlags say which traces are recorded. Where they go, OpenTelemetry's own variables say, which its exporter reads:
// OTEL_EXPORTER_OTLP_*, OTEL_BSP_*, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
type traceFlags struct{ ratio float64 }

func (f *traceFlags) register(flags *pflag.FlagSet) {
	flags.Float64Var(&f.ratio, "trace-ratio", 0,
		"share of traces that are recorded, 0 (none) to 1, and sent by OTLP over HTTP, as OpenTelemetry's variables OTEL_EXPORTER_OTLP_* say")
}

// traceSettings are what traceFlags say for one service. The zero value records nothing.
type traceSettings struct {
	ratio   float64
	service string // its name, where OTEL_SERVICE_NAME says no other
}

// settings reads the flags. OTEL_SDK_DISABLED and OTEL_TRACES_EXPORTER=none turn tracing off, as the standard says.
func (f *traceFlags) settings(service string) (traceSettings, error) {
	if !(f.ratio >= 0 && f.ratio <= 1) { // NaN is neither
		return traceSettings{}, fmt.Errorf("--trace-ratio %v is not within 0 and 1", f.ratio)
	}
	s := traceSettings{ratio: f.ratio, service: service}
	if f.ratio == 0 {
		return s, nil
	}
	switch exporter := strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER")); exporter {
	case "", "otlp":
	case "none":
		s.ratio = 0
	default:
		return s, fmt.Errorf("$OTEL_TRACES_EXPORTER %q is neither otlp nor none: traces are sent by OTLP alone", exporter)
	}
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
		s.ratio = 0
	}
	return s, nil
}

// Bounds of tracing, beside OpenTelemetry's own: its queue has 2048 spans, and drops those that have no room, so that a slow collector
// holds up nothing.
const (
	traceShutdown = 3 * time.Second // for what is queued at the end
	traceErrors   = time.Minute     // between two lines of the log
	maxTraceError = 200             // characters of one: it may have the collector's answer
)

// startTracing returns the tracer of a service, nil where nothing is recorded, and what ends it: that sends what is queued.
func (s *service) startTracing(ctx context.Context) (tracer *tracing.Tracer, stop func(), err error) {
	if s.tracing.ratio == 0 {
		return nil, func() {}, nil
	}
	logNothing(otel.SetLogger)
	if err := checkExporter(); err != nil {
		return nil, nil, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	// Neither the host's name nor the command's line is in it.
	from, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", s.tracing.service),
		attribute.String("service.version", cmp.Or(releaseVersion, "(devel)"))), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("traces: $OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(&traceLog{log: s.log})
	// Which traces are recorded, the tracer itself decides. So OpenTelemetry's sampler takes all that it is given.
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(from),
		sdktrace.WithSampler(sdktrace.AlwaysSample()))
	s.log.Info("traces are recorded", "ratio", s.tracing.ratio)
	if os.Getenv("OTEL_TRACES_SAMPLER") != "" {
		s.log.Warn("OTEL_TRACES_SAMPLER is not read: --trace-ratio says which traces are recorded")
	}
	return tracing.New(provider.Tracer("github.com/tributary-io/tributary"), s.tracing.ratio), func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceShutdown)
		defer cancel()
		if err := provider.Shutdown(limited); err != nil {
			s.log.Warn("the last traces were not sent", "error", err)
		}
	}, nil
}

// traceLog logs why traces could not be sent, at most once in traceErrors.
type traceLog struct {
	log *slog.Logger

	mu   sync.Mutex
	next time.Time
}

// Handle implements otel.ErrorHandler.
func (l *traceLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); !now.Before(l.next) {
		l.next = now.Add(traceErrors)
		text := []rune(err.Error())
		l.log.Warn("traces could not be sent", "error", string(text[:min(len(text), maxTraceError)]))
	}
}

// logNothing gives OpenTelemetry a logger that drops all. Its own one writes to stderr, with the values of variables that it cannot read,
// and past our log. The zero value of its type is such a logger.
func logNothing[L any](set func(L)) {
	var zero L
	set(zero)
}
