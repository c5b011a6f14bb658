package admin

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lenient"
)

// maxBody bounds a request body in bytes, as sent and after inflation.
const maxBody = 1 << 20

// readObject reads a request's body, which must be one JSON object, with
// numbers kept as their text, ready to be checked.
func readObject(w http.ResponseWriter, r *http.Request) (object, error) {
	body, err := readBody(w, r)
	if err != nil {
		return object{}, err
	}
	return ofBody(r, body)
}

// readMaybe is readObject where a body may be left out: it has no fields then.
func readMaybe(w http.ResponseWriter, r *http.Request) (object, error) {
	body, err := readBody(w, r)
	if err != nil {
		return object{}, err
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	return ofBody(r, body)
}

func ofBody(r *http.Request, body []byte) (object, error) {
	o, err := parseObject(body)
	if err == nil {
		o.notes.strict = lenient.Handling(r.Header["Prefer"]...) == lenient.Strict
		requestOf(r).notes = o.notes
	}
	return o, err
}

// parseObject reads a body that must be one JSON object.
func parseObject(body []byte) (object, error) {
	if !utf8.Valid(body) {
		return object{}, invalidJSON("the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return object{}, invalidJSON("the body is empty; one JSON object is expected")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return object{}, invalidJSON("the body ends in the middle of a JSON value")
		case errors.As(err, &syntax):
			p := invalidJSON("the body is not JSON: " + syntax.Error())
			return object{}, p
		}
		return object{}, invalidJSON("the body is not JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return object{}, invalidJSON("the body has data after its JSON value")
	}
	values, ok := value.(map[string]any)
	if !ok {
		bad := &commerce.Violations{}
		bad.Add("$", commerce.CodeInvalidType, "must be an object, not %s", typeName(value))
		return object{}, brokenRules(bad)
	}
	return newBody(values), nil
}

func invalidJSON(message string) *problem {
	return &problem{status: http.StatusBadRequest, code: codeInvalidJSON, message: message}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if p := checkMedia(r.Header, mediaOf(r)); p != nil {
		return nil, p
	}
	var source io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	if strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		inflated, err := gzip.NewReader(source)
		if err != nil {
			return nil, bodyProblem(err)
		}
		// One byte more than the bound: a body that is longer is found out.
		source = io.LimitReader(inflated, maxBody+1)
	}
	body, err := io.ReadAll(source)
	if err != nil {
		return nil, bodyProblem(err)
	}
	if len(body) > maxBody {
		return nil, tooLarge()
	}
	return body, nil
}

func bodyProblem(err error) *problem {
	var tooMany *http.MaxBytesError
	if errors.As(err, &tooMany) {
		return tooLarge()
	}
	return invalidJSON("the body could not be read to its end")
}

func tooLarge() *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, code: codePayloadTooLarge,
		message: "the body is larger than 1 MiB (counted after inflation)"}
}

// mediaOf are the media types of an operation's body, the usual one first.
func mediaOf(r *http.Request) []string {
	if r.Method == http.MethodPost && strings.HasSuffix(requestOf(r).route, ordersPath) {
		return []string{"application/x-ndjson", "application/ndjson", "application/jsonl"}
	}
	return []string{"application/json"}
}

// checkMedia accepts one of the media types in UTF-8, plain or gzipped, and so a body without a Content-Type.
func checkMedia(header http.Header, media []string) *problem {
	refuse := func(message string) *problem {
		return &problem{status: http.StatusUnsupportedMediaType, code: codeUnsupportedMedia, message: message,
			header: http.Header{"Accept": media[:1], "Accept-Encoding": {"gzip"}}}
	}
	switch strings.ToLower(header.Get("Content-Encoding")) {
	case "", "identity", "gzip":
	default:
		return refuse("Content-Encoding must be gzip or absent")
	}
	contentType := header.Get("Content-Type")
	if contentType == "" {
		return nil
	}
	sent, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || !slices.Contains(media, sent) && (media[0] != "application/json" || !strings.HasSuffix(sent, "+json")) {
		return refuse("Content-Type must be " + media[0])
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return refuse("JSON is UTF-8: leave charset out of Content-Type")
	}
	return nil
}
