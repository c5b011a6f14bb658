package kafka

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A password that changed is the one of the next connection, by each mechanism. While it cannot be read, the one before is used, and the
// log says so once.
func TestANewPasswordIsTheNextConnections(t *testing.T) {
	password, failure := "before", error(nil)
	var log bytes.Buffer
	by := SASL{Mechanism: "PLAIN", Username: "tributary", Password: "at the start", Log: slog.New(slog.NewTextHandler(&log, nil)),
		Renew: func() (string, error) { return password, failure }}
	client, err := NewClient(Config{Brokers: []string{"kafka.invalid:9092"}, SASL: by})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	mechanism := client.mechanism
	if mechanism.Name() != "PLAIN" {
		t.Fatal(mechanism)
	}
	f := func(want string) {
		t.Helper()
		if _, first, err := mechanism.Start(t.Context()); err != nil || string(first) != "\x00tributary\x00"+want {
			t.Errorf("it begins with %q, %v; want the password %s", first, err, want)
		}
	}
	failure = errors.New("no file")
	f("at the start")
	failure = nil
	f("before")
	password = "after"
	f("after")
	password, failure = "", errors.New("no file")
	f("after")
	f("after")
	if n := strings.Count(log.String(), "no file"); n != 2 || strings.Contains(log.String(), "after") {
		t.Errorf("the log has %q, want a line each time that it began to fail", log.String())
	}
	password, failure = "last", nil
	f("last")
	for _, name := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		by.Mechanism = name
		client, err := NewClient(Config{Brokers: []string{"kafka.invalid:9092"}, SASL: by})
		if err != nil || client.mechanism.Name() != name {
			t.Fatal(client, err)
		}
		defer client.Close()
		if _, first, err := client.mechanism.Start(t.Context()); err != nil || len(first) == 0 {
			t.Errorf("%s begins with %q, %v", name, first, err)
		}
	}
}
