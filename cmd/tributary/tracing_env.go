package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checkExporter checks the variables that OpenTelemetry's exporter reads. The exporter itself goes on without a value that it cannot read,
// and logs it, which may be a secret. So a service does not start with one, and no error here has a value.
func checkExporter() error {
	for _, of := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		for name, check := range map[string]func(value string) error{
			"HEADERS": checkHeaders, "ENDPOINT": checkEndpoint, "TIMEOUT": checkMilliseconds, "CERTIFICATE": checkCertificates,
		} {
			if value := strings.TrimSpace(os.Getenv(of + name)); value != "" {
				if err := check(value); err != nil {
					return fmt.Errorf("traces: $%s: %w", of+name, err)
				}
			}
		}
		certificate := strings.TrimSpace(os.Getenv(of + "CLIENT_CERTIFICATE"))
		key := strings.TrimSpace(os.Getenv(of + "CLIENT_KEY"))
		if certificate == "" && key == "" {
			continue
		}
		if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
			return fmt.Errorf("traces: $%sCLIENT_CERTIFICATE and $%[1]sCLIENT_KEY are not two files of PEM that belong together", of)
		}
	}
	return checkBatches()
}

// Bounds of OpenTelemetry's queue of spans: its own length, where no variable says it, and what one may say.
const (
	queuedSpans     = 2048
	mostQueuedSpans = 1_000_000
	mostWaited      = 24 * 60 * 60 * 1000 // milliseconds
)

// checkBatches checks the variables of OpenTelemetry's queue of spans. It goes on without a value that it cannot read, sends without a
// pause where the delay is 0, and cannot begin with a queue of less than nothing.
func checkBatches() error {
	queue, err := batchVariable("MAX_QUEUE_SIZE", 1, mostQueuedSpans, queuedSpans)
	if err == nil {
		_, err = batchVariable("MAX_EXPORT_BATCH_SIZE", 1, queue, 1) // no more than the queue has
	}
	if err == nil {
		_, err = batchVariable("SCHEDULE_DELAY", 1, mostWaited, 1)
	}
	if err == nil {
		_, err = batchVariable("EXPORT_TIMEOUT", 0, mostWaited, 1)
	}
	return err
}

// batchVariable reads a variable OTEL_BSP_…; otherwise, where there is none.
func batchVariable(name string, least, most, otherwise int) (int, error) {
	text := os.Getenv("OTEL_BSP_" + name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("traces: $OTEL_BSP_%s: it is no whole number from %d to %d", name, least, most)
	}
	return n, nil
}

// checkHeaders checks pairs name=value with commas between them, where a value may have %XX.
func checkHeaders(value string) error {
	for i, pair := range strings.Split(value, ",") {
		name, text, found := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(text)
		if err != nil || !found || !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) || strings.ContainsAny(decoded, "\r\n\x00") {
			return fmt.Errorf("its header %d is not NAME=VALUE, with %%XX for other characters and commas between headers", i+1)
		}
	}
	return nil
}

func checkEndpoint(value string) error {
	if at, err := url.Parse(value); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return errors.New("it is no address that begins with http:// or https://")
	}
	return nil
}

func checkMilliseconds(value string) error {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return errors.New("it is no whole number of milliseconds")
	}
	return nil
}

func checkCertificates(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(text) {
		return errors.New("it is no file of certificates in PEM")
	}
	return nil
}
