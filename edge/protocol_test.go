package edge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// raw sends bytes and reads the answer, the request's end included or not.
func (s *stand) raw(bytes string) (status int, code, text string) {
	s.t.Helper()
	conn := s.dial()
	if _, err := io.WriteString(conn, bytes); err != nil {
		s.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("%.60q: %v", bytes, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer answerBody
	if err := json.Unmarshal(body, &answer); err != nil {
		s.t.Fatalf("%.60q: %d %s", bytes, response.StatusCode, body)
	}
	return response.StatusCode, answer.Error.Code, string(body)
}

// refusalRow is a line of the table of docs/events.md, "Of a request that was
// refused as a whole": the HTTP status and its codes.
var refusalRow = regexp.MustCompile("(?m)^\\| (\\d{3}) \\| (`[^|]*) \\|")

// Every answer that docs/events.md tells of is given, and no other.
func TestEveryRefusalOfTheEventsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Of a request that was refused as a whole\n")
	var told []string
	for _, row := range refusalRow.FindAllStringSubmatch(section, -1) {
		for code := range strings.SplitSeq(row[2], ", ") {
			told = append(told, row[1]+" "+strings.Trim(code, "`"))
		}
	}

	s := newStand(t, func(c *Config, _ *Deps) { c.ReadTimeout = 500 * time.Millisecond })
	s.publishCompany(wire.Company{CompanyID: "co_slow", Limits: wire.Limits{EventsPerSecond: 0.001, Burst: 1}})
	s.publishCompany(wire.Company{CompanyID: "co_wrong", KeyCheck: "k1:other"})
	archived := time.Unix(1_790_000_000, 0)
	s.publishCompany(wire.Company{CompanyID: "co_archived", ArchivedAt: &archived})
	s.publishKey("orders", wire.APIKey{Scopes: []string{"write_orders"}})
	s.eventually("all companies and keys are known", func() bool {
		return s.edge.directory.state().Companies == 4 && s.edge.directory.apiKey(wire.APIKeyHash("orders")) != nil
	})
	var given []string
	note := func(status int, code string) { given = append(given, fmt.Sprintf("%d %s", status, code)) }
	f := func(status int, code, body string, headers ...string) {
		t.Helper()
		answer := s.post(status, body, headers...)
		if answer.Error.Code != code || answer.Error.Message == "" || answer.Results != nil {
			t.Errorf("%d %+v, want %s", status, answer, code)
		}
		note(status, answer.Error.Code)
	}
	ok := batchOf(pageView(newID()))
	f(400, "invalid_json", `{"companyId":`)
	f(400, "invalid_json", ``)
	f(400, "invalid_field", `{"companyId":"co_test","events":{}}`)
	f(400, "invalid_timestamp", `{"companyId":"co_test","sentAt":"yesterday","events":[`+pageView(newID())+`]}`)
	f(400, "company_id_required", pageView(newID()))
	f(400, "mixed_companies", batchOf(`{"companyId":"co_slow",`+pageView(newID())[1:]))
	f(400, "no_events", batchOf())
	f(400, "too_many_events", batchOf(slices.Repeat([]string{`{"event":"PAGE_VIEW"}`}, 501)...))
	f(400, "invalid_encoding", "not gzip", "Content-Encoding: gzip")
	f(401, "unknown_company", `{"companyId":"co_nobody","event":"PAGE_VIEW"}`)
	f(401, "unauthorized", ok, by("unknown"))
	f(403, "insufficient_scope", ok, by("orders"))
	f(403, "company_archived", `{"companyId":"co_archived","event":"PAGE_VIEW"}`)
	f(403, "key_in_browser", ok, by("orders"), "Origin: "+testOrigin)
	f(403, "origin_not_allowed", ok, "Origin: https://evil.example")
	f(413, "payload_too_large", strings.Repeat(" ", 1<<20)+ok)
	f(413, "payload_too_large", packed(t, "gzip", strings.Repeat(" ", 2<<20)+`{}`), "Content-Encoding: gzip")
	f(415, "unsupported_encoding", ok, "Content-Encoding: lzma")
	f(415, "unsupported_encoding", ok, "Content-Encoding: gzip, gzip")
	f(415, "unsupported_media_type", ok, "Content-Type: application/xml")
	f(415, "unsupported_media_type", "event=PAGE_VIEW", "Content-Type: application/x-www-form-urlencoded")
	full := `{"companyId":"co_slow","events":[` + strings.Join(slices.Repeat([]string{`{"event":"PAGE_VIEW"}`}, 500), ",") + `]}`
	s.post(200, full)
	f(429, "rate_limit_exceeded", full)
	f(503, "wrong_hashing_secret", `{"companyId":"co_wrong","event":"PAGE_VIEW"}`)

	g := func(status int, code, request string) {
		t.Helper()
		gotStatus, got, text := s.raw(request)
		if gotStatus != status || got != code || !strings.Contains(text, `"request_id":"`) {
			t.Errorf("%.60q: %d %s", request, gotStatus, text)
		}
		note(gotStatus, got)
	}
	g(400, "invalid_request", "NO HTTP AT ALL\r\n\r\n")
	g(400, "invalid_payload", "GET /v1/pixel.gif?companyId=co_test&payload=%7D HTTP/1.1\r\nHost: x\r\n\r\n")
	g(404, "not_found", "GET /v1/event HTTP/1.1\r\nHost: x\r\n\r\n")
	g(405, "method_not_allowed", "PUT /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	g(408, "request_timeout", "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	g(431, "headers_too_large", "GET /healthz HTTP/1.1\r\nHost: x\r\nCookie: "+strings.Repeat("c", 17<<10)+"\r\n\r\n")

	// 500 is a defect's answer, 503 an outage's: both have tests of their own.
	given = append(given, "500 internal_error", "503 unavailable", "503 directory_not_fresh")
	slices.Sort(given)
	slices.Sort(told)
	if given = slices.Compact(given); !slices.Equal(given, told) {
		t.Errorf("given\n%s\n\ndocs/events.md\n%s", strings.Join(given, "\n"), strings.Join(told, "\n"))
	}
	response, _ := s.do("POST", "/v1/events", ok, by("unknown"))
	if got := response.Header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("401 with WWW-Authenticate %q", got)
	}
}

// Each limit of docs/edge.md holds where it says, to the byte.
func TestLimitsHoldToTheByte(t *testing.T) {
	s := newStand(t, nil)
	f := func(what, body, want string) {
		t.Helper()
		if r := s.post(200, body).Results; strings.TrimSpace(r[0].Status+" "+r[0].Code) != want {
			t.Errorf("%s: %+v, want %s", what, r[0], want)
		}
	}
	event := func(size int) string { // of this many bytes
		text := `{"event":"NOTE","payload":{"a":""}}`
		return strings.Replace(text, `""`, `"`+strings.Repeat("x", size-len(text))+`"`, 1)
	}
	f("an event of 32 KiB", batchOf(event(32<<10)), "ok")
	f("one more byte", batchOf(event(32<<10+1)), "rejected event_too_large")
	nested := func(depth int) string { // of the event's own levels: itself and payload are two
		return `{"event":"NOTE","payload":{"a":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + `}}`
	}
	f("32 levels", batchOf(nested(32)), "ok")
	f("33 levels", batchOf(nested(33)), "rejected too_deep")
	small := batchOf(pageView(newID()))
	f("a body of 1 MiB", strings.Repeat(" ", 1<<20-len(small))+small, "ok")
	s.post(413, strings.Repeat(" ", 1<<20+1-len(small))+small)
	many := make([]string, 500)
	for i := range many {
		many[i] = pageView(newID())
	}
	if r := s.post(200, batchOf(many...)).Results; len(r) != 500 {
		t.Errorf("%d results of 500 events", len(r))
	}
	for _, coding := range []string{"ZSTD", "Gzip", "x-gzip", "identity", ""} {
		body := pageView(newID())
		if name := strings.TrimPrefix(strings.ToLower(coding), "x-"); name != "" && name != "identity" {
			body = packed(t, name, body)
		}
		if response, text := s.do("POST", "/v1/events?companyId="+testCompany, body, "Content-Encoding: "+coding); response.StatusCode != 200 {
			t.Errorf("%q: %d %s", coding, response.StatusCode, text)
		}
	}
}

// Two lengths of one body: who stands before the edge may have taken the other, so what
// follows may be somebody else's request (RFC 9112, 6.1).
func TestABodyWithTwoLengthsEndsTheConnection(t *testing.T) {
	s := newStand(t, nil)
	body := batchOf(pageView(newID()))
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	length, chunks := fmt.Sprintf("content-length: %d\r\n", len(body)), "Transfer-Encoding: chunked\r\n"
	f := func(headers string, status int, ends bool) {
		t.Helper()
		conn := s.dial()
		request := "POST /v1/events HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + chunked
		if _, err := io.WriteString(conn, request+"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status || response.Close != ends || ends != strings.Contains(string(text), "invalid_request") {
			t.Errorf("%q: %d, closes %v, %s, %v", headers, response.StatusCode, response.Close, text, err)
		}
		next, err := http.ReadResponse(in, nil)
		if err == nil {
			err = next.Body.Close()
		}
		if ends != (next == nil) {
			t.Errorf("%q: the request behind it is answered: %v, %v", headers, next != nil, err)
		}
	}
	f(chunks, 200, false)
	f(length+chunks, 400, true)
	f(chunks+length, 400, true)
	if n := len(s.events()); n != 1 {
		t.Errorf("%d events are stored", n)
	}
}
