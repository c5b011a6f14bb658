package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// JSON is v as JSON in the order of its fields, without HTML escapes.
func JSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("fake shop: %v", err)) // our own types: cannot fail
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// PHPJSON is JSON as PHP's json_encode writes it: slashes are escaped, and all that is not ASCII.
func PHPJSON(v any) []byte {
	var out bytes.Buffer
	for text := JSON(v); len(text) > 0; {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '/':
			out.WriteString(`\/`)
		case r < utf8.RuneSelf:
			out.WriteByte(byte(r))
		case r > 0xffff:
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out.Bytes()
}

// Pick keeps the named members of an object, in the object's order.
func Pick(object []byte, names []string) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(object))
	var members []string
	if _, err := decoder.Token(); err != nil {
		return object
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return object
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return object
		}
		if text, ok := name.(string); ok && slices.Contains(names, text) {
			members = append(members, string(JSON(text))+":"+string(value))
		}
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// Answer writes a body with its status and type.
func Answer(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// ReadJSON reads a request's body into v.
func ReadJSON(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}
