package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// openapiText is the API's document. It is written as YAML, which people can
// read and comment, and served as JSON.
//
//go:embed openapi/openapi.yaml
var openapiText []byte

// document is a file that anyone may read. It has an ETag.
type document struct {
	body        []byte
	contentType string
	encoding    string // of body; empty or gzip
	policy      string // Content-Security-Policy of a page; empty for what is none
	etag        string
}

func newDocument(body []byte, contentType string) *document {
	sum := sha256.Sum256(body)
	return &document{body: body, contentType: contentType, etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

// documentMaxAge is how long a document may be served from a cache, in seconds.
// It is short, since a new release has another document at the same address.
const documentMaxAge = 300

// serve answers GET and HEAD; anything else is 405.
func (s *Server) serve(d *document) http.HandlerFunc {
	const allow = "GET, HEAD, OPTIONS"
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodOptions:
			header.Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			s.writeProblem(w, r, &problem{status: http.StatusMethodNotAllowed, code: codeMethod,
				message: "this path takes " + allow, header: http.Header{"Allow": {allow}}})
			return
		}
		header.Set("Cache-Control", "public, max-age="+strconv.Itoa(documentMaxAge))
		header.Set("ETag", d.etag)
		if noneMatch(r.Header.Values("If-None-Match"), d.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		header.Set("Content-Type", d.contentType)
		if d.policy != "" {
			header.Set("Content-Security-Policy", d.policy)
			header.Set("Referrer-Policy", "no-referrer")
		}
		if d.encoding != "" {
			header.Set("Content-Encoding", d.encoding)
		}
		header.Set("Content-Length", strconv.Itoa(len(d.body)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(d.body) // an error says that the client hung up
		}
	}
}

// openapiJSON turns a YAML document into JSON and keeps the order of its fields.
func openapiJSON(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	var out bytes.Buffer
	if err := writeNode(&out, &document); err != nil {
		return nil, fmt.Errorf("the OpenAPI document as JSON: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

func writeNode(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return writeNode(out, node.Content[0])
	case yaml.AliasNode:
		return writeNode(out, node.Alias)
	case yaml.MappingNode:
		out.WriteByte('{')
		for i := 0; i < len(node.Content); i += 2 {
			if i > 0 {
				out.WriteByte(',')
			}
			name, err := json.Marshal(node.Content[i].Value)
			if err != nil {
				return err
			}
			out.Write(append(name, ':'))
			if err := writeNode(out, node.Content[i+1]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, element := range node.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeNode(out, element); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	var value any = node.Value
	switch node.Tag {
	case "!!int", "!!float":
		value = json.Number(node.Value) // with the digits that are written
	case "!!bool":
		value = node.Value == "true"
	case "!!null":
		value = nil
	}
	raw, err := json.Marshal(value)
	out.Write(raw)
	return err
}
