package main

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

// The block of commands for production in docs/operations.md is run as it is printed, with other addresses and folders.
func TestTheBlockForProductionRunsAsPrinted(t *testing.T) {
	page := docsPage(t, "operations.md")
	var block string
	for _, m := range docsFence.FindAllStringSubmatch(page, -1) {
		if strings.Contains(m[1], "TRIBUTARY_TOKEN_SECRET_FILE") {
			block = m[1]
		}
	}
	if lines := strings.Count(block, "\n"); lines < 5 || lines > 12 {
		t.Fatalf("%d lines:\n%s", lines, block)
	}
	owner, dir := devtest.EmptyPostgres(t), t.TempDir()
	services := devtest.RoleOfServices(t, owner)
	replace := strings.NewReplacer("kafka-1:9092,kafka-2:9092,kafka-3:9092", emptyBroker(t),
		"postgres://trb_services@db.internal/tributary", services, "postgres://trb_owner@db.internal/tributary", owner,
		"/etc/tributary", dir, "/var/lib/tributary", dir)
	block = regexp.MustCompile(`addr \S*:77\d\d`).ReplaceAllString(replace.Replace(block), "addr 127.0.0.1:0")
	// One broker alone runs here.
	t.Setenv("TRIBUTARY_PARTITIONS", "2")
	t.Setenv("TRIBUTARY_REPLICATION", "1")
	t.Setenv("TRIBUTARY_MIN_INSYNC_REPLICAS", "1")
	var running []*running
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		switch {
		case words[0] == "export":
			name, value, _ := strings.Cut(words[1], "=")
			t.Setenv(name, value)
		case words[0] == "tributary" && (words[1] == "migrate" || words[2] == "key"):
			if out, status := command(t, words[1:]...); status != 0 {
				t.Fatalf("%s%d:\n%s", line, status, out)
			}
		case words[0] == "tributary":
			running = append(running, start(t, words[1:]...))
		default:
			if out, err := exec.Command("sh", "-ec", line).CombinedOutput(); err != nil {
				t.Fatalf("%s%v:\n%s", line, err, out)
			}
		}
	}
	if len(running) != 4 {
		t.Fatalf("%d services", len(running))
	}
	for _, service := range running {
		service.is(http.StatusOK, func() *http.Request {
			request, err := http.NewRequest(http.MethodGet, service.origin()+"/readyz", nil)
			if err != nil {
				t.Fatal(err)
			}
			return request
		})
	}
}
