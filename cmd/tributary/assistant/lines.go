package assistant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// mostOfALine bounds a message that an assistant sends, in bytes.
const mostOfALine = 1 << 20

// Codes of JSON-RPC 2.0, section 5.1.
const (
	codeParse   = -32700
	codeRequest = -32600
)

// writer writes whole messages. It is safe for concurrent use.
type writer struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes one message, with its end of line.
func (w *writer) Write(message []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(message)
}

// Close does nothing: whoever gave the writer closes it.
func (*writer) Close() error { return nil }

// lines reads an assistant's messages. The SDK ends a session at a line that is no message; here such a line is
// answered with an error, as JSON-RPC 2.0 asks, and the next one is read. Batches are not taken: the current
// specification has none.
type lines struct {
	from    io.Closer
	in      *bufio.Reader
	answers io.Writer
	rest    []byte // of a message that is being read
}

func newLines(in io.ReadCloser, answers io.Writer) *lines {
	return &lines{from: in, in: bufio.NewReaderSize(in, 64<<10), answers: answers}
}

// Close closes what is read.
func (l *lines) Close() error { return l.from.Close() }

// Read gives the bytes of good messages alone.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.line()
		if err != nil {
			return 0, err
		}
		switch code, id := fault(line); {
		case long:
			err = l.refuse(codeRequest, "invalid request: the message is too long", nil)
		case len(line) == 0: // between messages
		case code == codeParse:
			err = l.refuse(code, "parse error: the line is not JSON", nil)
		case code != 0:
			err = l.refuse(code, "invalid request: the line is not one JSON-RPC 2.0 message", id)
		default:
			l.rest = append(line, '\n')
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads a line without its end. long: it had more than mostOfALine bytes, and is skipped. A last line
// without an end is a line.
func (l *lines) line() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > mostOfALine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && (long || len(line) > 0):
			return bytes.TrimSpace(line), long, nil
		default:
			return nil, false, err
		}
	}
}

func (l *lines) refuse(code int, message string, id json.RawMessage) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
	if err == nil {
		_, err = l.answers.Write(append(text, '\n'))
	}
	return err
}

// fault returns what is wrong with a message as JSON-RPC 2.0 and MCP have it (an id is a text or a whole number,
// never null, and params are an object), 0 where nothing is. id is the message's, where it has one that can be answered.
func fault(line []byte) (code int, id json.RawMessage) {
	if !json.Valid(line) {
		return codeParse, nil
	}
	var m map[string]json.RawMessage
	var version, method string
	if json.Unmarshal(line, &m) != nil {
		return codeRequest, nil
	}
	given, has := m["id"]
	if has && isID(given) {
		id = given
	}
	_, asks := m["method"]
	_, succeeded := m["result"]
	failure, failed := m["error"]
	params, parameters := m["params"]
	switch {
	case json.Unmarshal(m["jsonrpc"], &version) != nil || version != "2.0",
		has && id == nil,
		asks && (succeeded || failed || m["method"][0] != '"' || json.Unmarshal(m["method"], &method) != nil),
		!asks && (id == nil || succeeded == failed),
		parameters && params[0] != '{',
		failed && !isError(failure):
		return codeRequest, id
	}
	return 0, id
}

func isID(text json.RawMessage) bool {
	var id any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&id) != nil {
		return false
	}
	switch id := id.(type) {
	case string:
		return true
	case json.Number:
		_, err := id.Int64()
		return err == nil
	}
	return false
}

func isError(text json.RawMessage) bool {
	var e struct {
		Code    *int64
		Message *string
	}
	return json.Unmarshal(text, &e) == nil && e.Code != nil && e.Message != nil
}
