package admin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"go.yaml.in/yaml/v3"

	"github.com/tributary-io/tributary/admin"

	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func init() {
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.FileBodyDecoder)
}

// contract is the document, made strict: an answer may have no field that is
// not in it. (Clients are told to ignore such fields; we are not.)
var contract = sync.OnceValues(func() (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	written, err := os.ReadFile("openapi/openapi.yaml")
	if err != nil {
		return nil, err
	}
	loose, err := loader.LoadFromData(written)
	if err != nil {
		return nil, err
	}
	if err := loose.Validate(context.Background()); err != nil {
		return nil, err
	}
	text, err := loose.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, item := range tree["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			shut(tree, operation.(map[string]any)["responses"], seen)
		}
	}
	components := tree["components"].(map[string]any)
	shut(tree, components["responses"], seen)
	// What the document says in words, for the sake of generators.
	for name, rule := range map[string]any{"Succeeded": []any{true}, "Failed": []any{false}} {
		components["schemas"].(map[string]any)[name].(map[string]any)["enum"] = rule
	}
	for _, name := range []string{"Timestamp", "AnsweredAt"} {
		components["schemas"].(map[string]any)[name].(map[string]any)["pattern"] =
			"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
	}
	if text, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

// shut forbids unnamed fields in every object below value.
func shut(tree map[string]any, value any, seen map[string]bool) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			shut(tree, element, seen)
		}
	case map[string]any:
		if reference, ok := value["$ref"].(string); ok {
			if seen[reference] {
				return
			}
			seen[reference] = true
			var target any = tree
			for _, name := range strings.Split(strings.TrimPrefix(reference, "#/"), "/") {
				target = target.(map[string]any)[name]
			}
			shut(tree, target, seen)
			return
		}
		if _, open := value["additionalProperties"]; value["properties"] != nil && value["type"] != nil && !open {
			value["additionalProperties"] = false
		}
		for name, element := range value {
			if name != "example" && name != "examples" {
				shut(tree, element, seen)
			}
		}
	}
}

// conform fails the test where an answer is not as the document says it, or
// where a request succeeded that the document forbids.
func (s *service) conform(request *http.Request, sent string, response *http.Response, got []byte) {
	s.t.Helper()
	reporttest.WantNoProof(s.t, request.Method+" "+request.URL.Path, got)
	if err := breach(request, sent, response, got); err != nil {
		s.t.Errorf("%s %s: %d is not as openapi.yaml says: %v\n%s", request.Method, request.URL.Path, response.StatusCode, err, got)
	}
}

// transport are the headers that HTTP has anyway, and no client needs told.
var transport = []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "Vary", "X-Content-Type-Options"}

func breach(request *http.Request, sent string, response *http.Response, got []byte) error {
	doc, err := contract()
	if err != nil {
		return err
	}
	if request.Method == http.MethodOptions && response.StatusCode == http.StatusNoContent ||
		!strings.HasSuffix(basePath(request.URL.Path), "/admin/v1") {
		return nil // OPTIONS has no body and Allow only; health and metrics are no part of the API
	}
	route := find(doc, request)
	documented := route.Operation.Responses.Status(response.StatusCode)
	if documented == nil {
		return fmt.Errorf("the status is not documented for %s", route.Operation.OperationID)
	}
	for name := range response.Header {
		if documented.Value.Headers[name] == nil && !slices.ContainsFunc(keys(documented.Value.Headers), func(known string) bool {
			return http.CanonicalHeaderKey(known) == name
		}) && !slices.Contains(transport, name) {
			return fmt.Errorf("the header %s is not documented", name)
		}
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request.Clone(context.Background()), Route: route, PathParams: map[string]string{},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if _, after, found := strings.Cut(request.URL.Path, "/order/"); found {
		input.PathParams["orderId"] = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(after, "/attribution"), "/evidence"),
			"/assignment")
	}
	if _, after, found := strings.Cut(request.URL.Path, "/statements/"); found {
		input.PathParams["id"] = strings.TrimSuffix(after, "/payment")
	}
	for _, of := range []string{"/webhooks/", "/conversions/", "/erasures/"} {
		if _, after, found := strings.Cut(request.URL.Path, of); found {
			id, rest, _ := strings.Cut(after, "/")
			input.PathParams["id"] = id
			input.PathParams["sequence"], _ = strings.CutSuffix(strings.TrimPrefix(rest, "messages/"), "/resend")
		}
	}
	// What is said to be written otherwise, or is warned of, need not be as the document says.
	other := request.Header.Get("Prefer") == "handling=lenient" || bytes.Contains(got, []byte(`"warnings":[`))
	if response.StatusCode < 300 && request.Method != http.MethodHead && !other {
		if request.Header.Get("Content-Encoding") == "gzip" {
			inflated, err := gzip.NewReader(strings.NewReader(sent))
			if err != nil {
				return err
			}
			plain, err := io.ReadAll(inflated)
			if err != nil {
				return err
			}
			sent = string(plain)
		}
		input.Request.Body = io.NopCloser(strings.NewReader(withoutNulls(sent)))
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			return fmt.Errorf("the request succeeded: %w", err)
		}
	}
	if request.Method == http.MethodHead || response.StatusCode == http.StatusNotModified {
		return nil
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/csv") {
		if response.StatusCode != http.StatusOK || !strings.Contains(route.Operation.Description, "`format=csv`") {
			return fmt.Errorf("the document does not say that %s has a table", route.Operation.OperationID)
		}
		return nil
	}
	shape := answerShape(route.Operation.OperationID, response, got)
	if _, seen := goodAnswers.Load(shape); seen {
		return nil
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(got)), Options: input.Options,
	})
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = toldCode(*documented.Value.Description, got)
	}
	if err == nil {
		goodAnswers.Store(shape, true)
	}
	return err
}

// toldCode is an error where the description of an error's answer does not name the code that it has.
func toldCode(description string, answer []byte) error {
	var failure struct{ Error struct{ Code string } }
	if err := json.Unmarshal(answer, &failure); err != nil {
		return err
	}
	if !strings.Contains(description, "`"+failure.Error.Code+"`") {
		return fmt.Errorf("the description does not name the code %s: %s", failure.Error.Code, description)
	}
	return nil
}

// withoutNulls is a request without its fields that are null: the document says in words that any optional one may be so.
func withoutNulls(sent string) string {
	decoder := json.NewDecoder(strings.NewReader(sent))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return sent // lines of JSON, or none
	}
	var look func(value any)
	look = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				look(element)
			}
		case map[string]any:
			for name, field := range value {
				if field == nil {
					delete(value, name)
					continue
				}
				look(field)
			}
		}
	}
	look(value)
	text, err := json.Marshal(value)
	if err != nil {
		return sent
	}
	return string(text)
}

// goodAnswers are the shapes of the answers that were as the document says. openapi3filter compiles the schemas anew for each
// answer, which costs much: an answer of a known shape is not looked at again.
var goodAnswers sync.Map

// What is another one in each answer. No schema of ours tells request ids apart, or instants, or counts in headers.
var (
	inEachBody = regexp.MustCompile(`"(request_id)":"req_[0-9a-f-]{36}"|` +
		`"(timestamp)":"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"`)
	inEachHeader = regexp.MustCompile(`req_[0-9a-f-]{36}|\b[1-9][0-9]*\b`)
)

// answerShape is the same for answers of an operation that differ only in what is another one in each.
func answerShape(operation string, response *http.Response, body []byte) [sha256.Size]byte {
	header := response.Header.Clone()
	header.Del("Date")
	return sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s", operation, response.StatusCode,
		inEachHeader.ReplaceAllString(fmt.Sprintf("%q", header), "#"), inEachBody.ReplaceAll(body, []byte("$1$2"))))
}

// basePath is a path up to and with the API's base, or what it is instead.
func basePath(path string) string {
	if before, _, found := strings.Cut(path, "/admin/v1"); found && (before == "" || before == "/sandbox") {
		return before + "/admin/v1"
	}
	return path
}

func keys(headers openapi3.Headers) []string {
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	return names
}

// find is the operation of a request; where there is none, one that answers
// what the document says of unknown routes and methods.
func find(doc *openapi3.T, request *http.Request) *routers.Route {
	method, path := request.Method, strings.TrimPrefix(request.URL.Path, basePath(request.URL.Path))
	if method == http.MethodHead {
		method = http.MethodGet
	}
	item := doc.Paths.Value(path)
	if rest, ok := strings.CutPrefix(path, "/order/"); ok {
		path = "/order/{orderId}"
		for _, of := range []string{"/attribution", "/evidence", "/assignment"} {
			if strings.HasSuffix(rest, of) {
				path += of
			}
		}
		item = doc.Paths.Value(path)
	}
	if rest, ok := strings.CutPrefix(path, "/statements/"); ok {
		path = "/statements/{id}"
		for _, of := range []string{"/payment", "/withholdings", "/link"} {
			if strings.HasSuffix(rest, of) {
				path += of
			}
		}
		item = doc.Paths.Value(path)
	}
	for _, base := range []string{"/webhooks/", "/conversions/", "/erasures/"} {
		if rest, ok := strings.CutPrefix(path, base); ok {
			_, of, _ := strings.Cut(rest, "/")
			if strings.HasPrefix(of, "messages/") {
				of = "messages/{sequence}/resend"
			}
			path = strings.TrimSuffix(base+"{id}/"+of, "/")
			item = doc.Paths.Value(path)
			break
		}
	}
	route := &routers.Route{Spec: doc, Server: &openapi3.Server{URL: "/"}, Path: path, PathItem: item, Method: method}
	if item != nil {
		route.Operation = item.GetOperation(method)
	}
	if route.Operation == nil {
		status, name := http.StatusNotFound, "UnknownRoute"
		if item != nil {
			status, name = http.StatusMethodNotAllowed, "MethodNotAllowed"
		}
		route.Operation = &openapi3.Operation{OperationID: name,
			Responses: openapi3.NewResponses(openapi3.WithStatus(status, doc.Components.Responses[name]))}
	}
	return route
}

func TestDocumentIsServedToAnyoneUnderBothBasePaths(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(method, path string, status int, contentType string, headers ...string) *http.Response {
		t.Helper()
		request, err := http.NewRequest(method, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != status || !strings.HasPrefix(response.Header.Get("Content-Type"), contentType) {
			t.Errorf("%s %s: %d %s", method, path, response.StatusCode, response.Header.Get("Content-Type"))
		}
		if strings.HasSuffix(path, "/openapi.json") && method == http.MethodGet && status == 200 {
			doc, err := openapi3.NewLoader().LoadFromData(body)
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Validate(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return response
	}
	for _, base := range []string{"/admin/v1", "/sandbox/admin/v1"} {
		got := f("GET", base+"/openapi.json", 200, "application/json")
		if !strings.HasPrefix(got.Header.Get("Cache-Control"), "public, max-age=") {
			t.Errorf("Cache-Control %q", got.Header.Get("Cache-Control"))
		}
		f("GET", base+"/openapi.json", 304, "", "If-None-Match", got.Header.Get("ETag"))
		f("GET", base+"/openapi.json", 200, "application/json", "If-None-Match", `"other"`)
		f("HEAD", base+"/openapi.json", 200, "application/json")
		f("POST", base+"/openapi.json", 405, "application/json")
		page := f("GET", base+"/docs", 200, "text/html")
		if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(policy, "http") {
			t.Errorf("Content-Security-Policy %q", policy)
		}
		f("GET", base+"/docs/swagger-ui-bundle.js", 200, "text/javascript")
		f("GET", base+"/docs/swagger-ui.css", 200, "text/css")
		f("GET", base+"/docs/docs.js", 200, "text/javascript")
		f("GET", base+"/docs/docs.css", 200, "text/css")
		f("GET", base+"/docs/elsewhere.js", 404, "application/json")
	}
}

func TestAnswersThatTheDocumentDoesNotKnowAreFound(t *testing.T) {
	t.Parallel()
	f := func(wantsBreach bool, method, path string, status int, body string, header http.Header) {
		t.Helper()
		request, err := http.NewRequest(method, "http://admin.test"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		header.Set("Content-Type", "application/json; charset=utf-8")
		header.Set("X-Request-Id", "r")
		err = breach(request, "", &http.Response{StatusCode: status, Header: header}, []byte(body))
		if (err != nil) != wantsBreach {
			t.Errorf("%s %s %d %s: %v", method, path, status, body, err)
		}
	}
	limited := func(more ...string) http.Header {
		h := http.Header{"Ratelimit-Limit": {"40"}, "Ratelimit-Remaining": {"39"}, "Ratelimit-Reset": {"1"}, "Etag": {`W/"x"`}}
		for i := 0; i+1 < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	const tail = `,"request_id":"r","timestamp":"2026-11-21T12:00:00Z"}`
	f(false, "GET", "/admin/v1/costs", 200, `{"success":true,"data":[]`+tail, limited())
	f(true, "GET", "/admin/v1/costs", 200, `{"success":true,"data":[]`+tail, limited("X-Surprise", "1"))
	f(true, "GET", "/admin/v1/costs", 200, `{"success":true,"data":[]`+tail, http.Header{})
	f(true, "GET", "/admin/v1/costs", 202, `{"success":true,"data":[]`+tail, limited())
	f(true, "GET", "/admin/v1/costs", 200, `{"success":true,"data":[],"surprise":1`+tail, limited())
	f(true, "GET", "/admin/v1/costs", 200, `{"success":true,"data":{}`+tail, limited())
	f(true, "GET", "/admin/v1/costs", 200, `{"success":true`+tail, limited())
	f(false, "GET", "/admin/v1/nowhere", 404, `{"success":false,"error":{"code":"not_found","message":"m"}`+tail, http.Header{})
	f(true, "GET", "/admin/v1/nowhere", 404, `{"success":false,"error":{"code":"unavailable","message":"m"}`+tail, http.Header{})
	f(true, "GET", "/admin/v1/nowhere", 404, `{"success":false,"error":{"code":"not_found","message":"m","hint":"h"}`+tail, http.Header{})
	f(true, "PATCH", "/admin/v1/costs", 405, `{"success":false,"error":{"code":"method_not_allowed","message":"m"}`+tail, http.Header{})
}

// Generators make a type of each component, whatever kind it is of.
func TestComponentsOfDifferentKindsHaveDifferentNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components map[string]map[string]any
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for kind, components := range document.Components {
		for name := range components {
			if other, twice := kinds[name]; twice {
				t.Errorf("%s is in %s and in %s", name, other, kind)
			}
			kinds[name] = kind
		}
	}
	if len(kinds) < 50 {
		t.Errorf("only %d components", len(kinds))
	}
}

// A comma in a text of YAML's short form that has no quotes cuts the text: the rest is a name
// of its own, without a value.
func TestNoTextOfTheDocumentIsCut(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var look func(node *yaml.Node)
	look = func(node *yaml.Node) {
		for i, child := range node.Content {
			if node.Kind == yaml.MappingNode && i%2 == 1 && child.Tag == "!!null" && child.Value == "" {
				t.Errorf("line %d: %q has no value", child.Line, node.Content[i-1].Value)
			}
			look(child)
		}
	}
	look(&document)
}
