package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// reported runs a command with --json. On standard output is one object, of the type that the help shows, and nothing else.
func reported[T any](t *testing.T, wantStatus int, args ...string) (value T) {
	t.Helper()
	var out, said bytes.Buffer
	status := run(t.Context(), append(args, "--json"), &out, &said)
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil || status != wantStatus || decoder.More() {
		t.Errorf("tributary %s --json: exit status %d, want %d; %v\n%s%s", strings.Join(args, " "), status, wantStatus, err, out.String(),
			said.String())
	}
	return value
}

// The help shows the object, with the names that programs find in it.
func TestTheHelpShowsTheJSON(t *testing.T) {
	f := func(example any, path ...string) {
		t.Helper()
		out, status := command(t, append(path, "--help")...)
		_, shape, found := strings.Cut(out, "With --json, such as:\n\n")
		shape, _, ended := strings.Cut(shape, "\n\nUsage:")
		decoder := json.NewDecoder(strings.NewReader(shape))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(example); err != nil || !found || !ended || status != 0 {
			t.Errorf("tributary %v --help: exit status %d; %v\n%s", path, status, err, shape)
		}
	}
	f(&diagnosis{}, "doctor")
	f(&verification{}, "verify")
	f(&replayReport{}, "replay")
	f(&retentionReport{}, "retain")
	f(&erasureReport{}, "erase")
	f(&exportReport{}, "export", "orders")
	f(&forgottenReport{}, "export", "forget")
	f(&importReport{}, "import", "events")
	f(&importReport{}, "import", "orders")
	f(&schemaStatus{}, "migrate")
	f(&resetReport{}, "offsets", "reset")
	f(&pruneReport{}, "directory", "prune")
}
