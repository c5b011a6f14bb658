package importer

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAReportHasOneLineAndASummary(t *testing.T) {
	var out bytes.Buffer
	r := NewReporter(&out)
	r.shown = time.Now().Add(-time.Minute)
	r.started = time.Now().Add(-10 * time.Second)
	r.Report(Progress{Lines: 100, Bytes: 50, TotalBytes: 100})
	r.Report(Progress{Lines: 101, Bytes: 51, TotalBytes: 100})
	r.Finish("e.jsonl", Summary{Progress: Progress{Lines: 200, Accepted: 199, Rejected: 1}, RejectedFile: "e.jsonl.rejected.jsonl",
		TellsDuplicates: true}, nil)
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "50 %, about 10s left") ||
		!strings.Contains(got, "imported e.jsonl: 200 lines, 199 accepted (0 of them known already), 1 rejected") {
		t.Errorf("reported:\n%s", got)
	}
}

func TestKnownAlreadyIsSaidOfEventsOnly(t *testing.T) {
	f := func(s Summary, want string) {
		t.Helper()
		if got := s.line("x", nil); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(Summary{Progress: Progress{Lines: 3, Accepted: 3, Duplicates: 2}, TellsDuplicates: true},
		"imported x: 3 lines, 3 accepted (2 of them known already), 0 rejected")
	f(Summary{Progress: Progress{Lines: 3, Accepted: 3}}, "imported x: 3 lines, 3 accepted, 0 rejected")
}

func TestWarningsAreCountedByTheirKind(t *testing.T) {
	province := Reason{Field: "provinceCode", Code: "invalid_format", Message: "m"}
	server := newAdmin(t, nil, func(line string) orderAnswer {
		switch {
		case strings.Contains(line, "1"):
			return orderAnswer{Warnings: []Reason{province}}
		case strings.Contains(line, "2"):
			return orderAnswer{Warnings: []Reason{province, {Field: "items[0].color", Code: "unknown_field", Message: "m"}}}
		}
		return orderAnswer{}
	})
	s, err := Orders(t.Context(),
		Config{File: "-", StateDir: t.TempDir(), Stdin: strings.NewReader("[1]\n[2]\n[3]\n")}, server.URL+"/admin/v1", "key")
	if err != nil || s.Accepted != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	var out bytes.Buffer
	NewReporter(&out).Finish("f", s, nil)
	_, got, _ := strings.Cut(out.String(), "\n")
	if want := "  warned of in 2 accepted lines: invalid_format provinceCode\n  warned of in 1 accepted lines: unknown_field " +
		"items[].color\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWarningsOfEventsAreCounted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"results":[{"status":"ok"},{"status":"ok","warnings":[{"field":"visitor_id","code":"unknown_field",`+
			`"message":"m"}]}]}`)
	}))
	defer server.Close()
	s, err := Events(t.Context(),
		Config{File: "-", StateDir: t.TempDir(), Stdin: strings.NewReader(`{"timestamp":1}` + "\n" + `{"timestamp":2}` + "\n")},
		server.URL, "co", "key")
	if err != nil || s.Accepted != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := s.warned(); len(got) != 1 || got[0] != "  warned of in at least 1 accepted lines: unknown_field visitor_id" {
		t.Errorf("%q", got)
	}
}
