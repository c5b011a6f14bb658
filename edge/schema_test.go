package edge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tributary-io/tributary/docs"
	"github.com/tributary-io/tributary/test/fixtures/vectors"
)

// schema compiles what the edge serves.
func (s *stand) schema() *jsonschema.Schema {
	s.t.Helper()
	response, text := s.do("GET", "/v1/schema.json", "")
	if response.StatusCode != 200 || string(text) != string(docs.EventSchema) {
		s.t.Fatalf("%d %.80s", response.StatusCode, text)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		s.t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("event.json", document); err != nil {
		s.t.Fatal(err)
	}
	schema, err := compiler.Compile("event.json")
	if err != nil {
		s.t.Fatal(err)
	}
	return schema
}

func TestTheSchemaIsServedToAnyPage(t *testing.T) {
	s := newStand(t, nil)
	f := func(method, accept, coding string) {
		t.Helper()
		response, text := s.do(method, "/v1/schema.json", "", "Accept-Encoding: "+accept, "Origin: https://elsewhere.example")
		h := response.Header
		if response.StatusCode != 200 || h.Get("Content-Type") != "application/schema+json" || h.Get("Content-Encoding") != coding ||
			h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Cache-Control"), "max-age=") ||
			h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s %s: %d %v", method, accept, response.StatusCode, h)
		}
		if method == "HEAD" && len(text) > 0 || method == "GET" && (len(text) == 0 || coding != "" && len(text) > len(docs.EventSchema)/2) {
			t.Errorf("%s %s: %d bytes", method, accept, len(text))
		}
		if response, text = s.do(method, "/v1/schema.json", "", "Accept-Encoding: "+accept,
			"If-None-Match: "+h.Get("ETag")); response.StatusCode != 304 || len(text) > 0 {
			t.Errorf("%s %s again: %d", method, accept, response.StatusCode)
		}
	}
	f("GET", "identity", "")
	f("GET", "br, gzip", "br")
	f("GET", "gzip", "gzip")
	f("HEAD", "identity", "")
	if response, _ := s.do("POST", "/v1/schema.json", ""); response.StatusCode != 405 || response.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", response.StatusCode)
	}
}

// What the schema that is served says of an event is what the edge does with it.
func TestTheServedSchemaJudgesEventsAsTheEdgeDoes(t *testing.T) {
	s := newStand(t, nil)
	schema := s.schema()
	verdicts := map[string]int{}
	f := func(name, event string) {
		t.Helper()
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(event))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		result := s.post(200, batchOf(event)).Results[0]
		verdicts[result.Status]++
		if invalid := schema.Validate(value); (invalid == nil) != (result.Status == "ok") {
			t.Errorf("%s: %s\nthe schema says %v, the edge %+v", name, event, invalid, result)
		}
	}
	files, err := filepath.Glob("../testdata/events/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, _, _ := strings.Cut(string(text), "\n----------\n")
		object, err := vectors.Object(raw)
		if err != nil {
			t.Fatal(err)
		}
		f(file, object)
	}
	f("no name", `{"payload":{}}`)
	f("nulls", `{"event":"PAGE_VIEW","eventId":null,"payload":null,"identity":null,"context":null,"consent":null,"seq":null,"frame":null}`)
	f("a time that no calendar has", `{"event":"PAGE_VIEW","timestamp":"2026-02-29T00:00:00Z"}`)
	f("a quantity that is text", `{"event":"CHECKOUT_COMPLETED","payload":{"items":[{"item_id":"a","item_quantity":"1"}]}}`)
	f("a frame that is text", `{"event":"PAGE_VIEW","frame":"true"}`)
	if verdicts["ok"] < 6 || verdicts["rejected"] < 6 || len(verdicts) != 2 {
		t.Errorf("verdicts %v: too few of one kind", verdicts)
	}
}
