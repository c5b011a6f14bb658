package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

// What is in a variable that OpenTelemetry cannot read is in no error and no log: it may be a secret.
func TestAMistypedVariableOfTracesIsRefusedWithoutItsValue(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.pem")
	if err := os.WriteFile(text, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(variable, value string) {
		t.Helper()
		t.Setenv(variable, value)
		defer os.Unsetenv(variable)
		var log bytes.Buffer
		var err error
		stderr := stderrOf(t, func() {
			s := &service{log: slog.New(slog.NewTextHandler(&log, nil)), tracing: traceSettings{ratio: 1, service: "edge"}}
			_, _, err = s.startTracing(t.Context())
		})
		if err == nil || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error()+log.String()+stderr, "s3cret") {
			t.Errorf("%s=%s: error %v, log %q, stderr %q", variable, value, err, log.String(), stderr)
		}
	}
	for _, of := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		f(of+"HEADERS", "s3cret")
		f(of+"HEADERS", "authorization: Bearer s3cret")
		f(of+"HEADERS", "authorization=Bearer s3cret%2")
		f(of+"HEADERS", "x-tenant=a,api key=s3cret")
		f(of+"HEADERS", "x-tenant=a%0As3cret")
		f(of+"ENDPOINT", "https://ana:s3cret@collector:port")
		f(of+"ENDPOINT", "s3cret.example.com:4318")
		f(of+"TIMEOUT", "s3cret")
		f(of+"CERTIFICATE", text)
		f(of+"CLIENT_CERTIFICATE", text)
		f(of+"CLIENT_KEY", text)
	}
	for _, name := range []string{"SCHEDULE_DELAY", "EXPORT_TIMEOUT", "MAX_QUEUE_SIZE", "MAX_EXPORT_BATCH_SIZE"} {
		for _, wrong := range []string{"s3cret", "-1", "5s", " 5", "1e3", "99999999999999999999"} {
			f("OTEL_BSP_"+name, wrong)
		}
	}
	f("OTEL_BSP_SCHEDULE_DELAY", "0") // it would send without a pause
	f("OTEL_BSP_MAX_QUEUE_SIZE", "0") // it would drop all
	f("OTEL_BSP_MAX_QUEUE_SIZE", "1000001")
	f("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2049") // more than the queue has
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	f("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "11")
	for name, value := range map[string]string{"SCHEDULE_DELAY": "1", "EXPORT_TIMEOUT": "0", "MAX_EXPORT_BATCH_SIZE": "10"} {
		t.Setenv("OTEL_BSP_"+name, value)
	}
	if err := checkBatches(); err != nil {
		t.Error(err)
	}
	for _, good := range []string{"authorization=Bearer%20s3cret", "a=1, b=x=y", "a="} {
		if err := checkHeaders(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// tracesVariable is of a test program that has OpenTelemetry log.
const tracesVariable = "TRIBUTARY_TEST_TRACES"

// OpenTelemetry's own log is not on stderr: that is the place of our log alone, and it would have values of variables.
func TestOpenTelemetryWritesNothingToStderr(t *testing.T) {
	if os.Getenv(tracesVariable) == "" { // its logger keeps the stderr with which a program begins
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), tracesVariable+"=yes", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
		text, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(text), "PASS") || strings.Contains(string(text), "s3cret") {
			t.Errorf("%v: %s", err, text)
		}
		return
	}
	s := &service{log: slog.New(slog.DiscardHandler), tracing: traceSettings{ratio: 1, service: "edge"}}
	_, stop, err := s.startTracing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "s3cret") // what we would have refused
	if _, err := otlptracehttp.New(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A collector's long answer is cut in the log.
func TestALongErrorOfTracesIsCut(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := traceLog{log: slog.New(slog.NewTextHandler(&log, nil))}
	l.Handle(errors.New(strings.Repeat("ã", 10_000)))
	if n := strings.Count(log.String(), "ã"); n != maxTraceError {
		t.Errorf("the line has %d characters of the error, want %d", n, maxTraceError)
	}
}

// stderrOf returns what is written to stderr while f runs. It is for tests that are not parallel.
func stderrOf(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	f()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
