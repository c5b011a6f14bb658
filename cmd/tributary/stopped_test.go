package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// underWay sends a request but for its body, and returns once the service waits
// for that. finish sends the body and returns the answer's status.
func underWay(t *testing.T, r *http.Request, body string) (finish func() int) {
	t.Helper()
	at, err := url.Parse(r.URL.String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: "+
		"100-continue\r\n\r\n",
		r.Method, at.Path, at.Host, r.Header.Get("Authorization"), len(body))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return func() int {
		t.Helper()
		fmt.Fprint(conn, body)
		response, err := http.ReadResponse(answers, r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
}

func TestAStopSaysWhatItFinished(t *testing.T) {
	s := startServices(t, "--spool", t.TempDir())
	f := func(service *running, name, path, body string, want ...string) {
		t.Helper()
		finish := underWay(t, s.request(http.MethodPost, service.origin()+path, ""), body)
		service.cancel()
		service.says(name + " stops: ")
		if status := finish(); status != http.StatusOK {
			t.Errorf("%s answered %d while it stopped", name, status)
		}
		service.stop()
		service.says(`msg="` + name + ` stopped"`)
		for _, pair := range want {
			service.says(" " + pair)
		}
	}
	s.admin.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.admin.origin()+"/admin/v1/order", anOrder) })
	f(s.edge, "edge", "/v1/events", s.event(), "finished_requests=1 ", "finished_events=1 ", "finished_spooled_records=0 ", "unsent_bytes=0")
	f(s.admin, "admin", "/admin/v1/order", anOrder, "finished_requests=1 ", "finished_outbox_records=0 ")
	applied := regexp.MustCompile(`tributary_processor_records_total\{topic="events.v1"\} [1-9]`)
	await.Until(t, await.Long, func() bool {
		return applied.MatchString(s.processor.metrics())
	}, func() string { return "no event is applied\n" + s.processor.metrics() })
	s.processor.stop()
	s.processor.says(`msg="processor stopped"`)
	s.processor.says("partitions_handed_over=8")
	all := regexp.MustCompile(`all_records=(\d+)`).FindStringSubmatch(s.processor.out.String())
	if n, err := strconv.Atoi(all[1]); err != nil || n < 1 {
		t.Errorf("%v records: %s", all, s.processor.out.String())
	}
}

// A service that ends by itself has not been stopped, and says its error alone.
func TestAFailureIsNoStop(t *testing.T) {
	t.Setenv("TRIBUTARY_HASHING_SECRET", "short")
	out, status := command(t, "edge", "--addr", "127.0.0.1:0")
	if status != statusUsage || regexp.MustCompile("stop").MatchString(out) {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}

// A processor has partitions, and no load balancer before it.
func TestTheHelpSaysWhatAShutdownDelayIsFor(t *testing.T) {
	t.Parallel()
	f := func(service, has, hasNot string) {
		t.Helper()
		usage := commandOf(service).Flag("shutdown-delay").Usage
		if !strings.Contains(usage, has) || strings.Contains(usage, hasNot) || !strings.Contains(usage, "such as 10s or 2m") {
			t.Errorf("%s: %s", service, usage)
		}
	}
	f("edge", "as long as load balancers need to notice; 0: not at all; such as 10s or 2m (default 5s)", "partitions")
	f("admin", "as long as load balancers need to notice; 0: not at all; such as 10s or 2m (default 5s)", "partitions")
	f("processor", "0, the default: it hands them over at once", "as ever")
}
