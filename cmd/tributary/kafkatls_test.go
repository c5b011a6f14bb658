package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/kafka"
)

// A broker whose certificate is not signed by who we trust is not talked to; nor is one with another name.
func TestKafkaByTLSChecksTheCertificate(t *testing.T) {
	broker := httptest.NewTLSServer(http.NotFoundHandler()) // it is asked for its certificate alone
	defer broker.Close()
	addr := strings.TrimPrefix(broker.URL, "https://")
	_, port, _ := strings.Cut(addr, ":")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: broker.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(addr, ca string) error {
		t.Helper()
		flags := kafkaFlags{brokers: []string{addr}, tls: true, ca: ca}
		config, err := flags.config("test")
		if err != nil {
			t.Fatal(err)
		}
		client, err := kafka.NewClient(config)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Cluster(t.Context())
		return err
	}
	const authority, name = "signed by unknown authority", "certificate is valid for"
	says := func(err error, what string) bool { return err != nil && strings.Contains(err.Error(), what) }
	if err := ask(addr, ""); !says(err, authority) {
		t.Errorf("of an authority that nobody knows: %v", err)
	}
	if err := ask("localhost:"+port, ca); !says(err, name) {
		t.Errorf("of another name: %v", err)
	}
	if err := ask(addr, ca); says(err, authority) || says(err, name) {
		t.Errorf("of the authority and name that are trusted: %v", err)
	}
}
