package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/certificate"
)

// certificateFlags name the certificate of a service that serves HTTPS itself.
type certificateFlags struct{ cert, key string }

func (f *certificateFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.cert, "tls-cert", "",
		"file with the certificate to serve HTTPS with, its intermediates after it (PEM); read again when it changes (default none: plain HTTP)")
	flags.StringVar(&f.key, "tls-key", "", "file with that certificate's key (PEM)")
}

// read reads the certificate, if one is given, for the service.
func (f *certificateFlags) read(s *service) (err error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil
	case f.cert == "" || f.key == "":
		return misuse(errors.New("--tls-cert and --tls-key go together"))
	}
	if s.certificate, err = certificate.Open(f.cert, f.key); err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return nil
}

// watchCertificate takes new certificates until the returned function is called.
// Without TLS of its own the service has the metrics alone.
func (s *service) watchCertificate(ctx context.Context, name string, registry prometheus.Registerer) (stop func() error, err error) {
	metrics, err := certificate.NewMetrics(name, registry)
	if err != nil || s.certificate == nil {
		return func() error { return nil }, err
	}
	return background.Start(ctx, s.log, "certificate", func(ctx context.Context) error {
		s.certificate.Watch(ctx, s.log, metrics)
		return nil
	}).Stop, nil
}

// strict adds certificate.Strict to every answer.
func strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", certificate.Strict)
		next.ServeHTTP(w, r)
	})
}
