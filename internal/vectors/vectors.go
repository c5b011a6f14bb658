// Package vectors reads the golden events of testdata/events, for the tests that
// hold the event's schema against the parser and against the edge.
//
// What may enter: reading testdata in tests.
package vectors

import (
	"encoding/json"
	"fmt"
)

// Object is a raw envelope, written as the event object that says the same.
func Object(envelope string) (string, error) {
	var parts []any
	if err := json.Unmarshal([]byte(envelope), &parts); err != nil {
		return "", fmt.Errorf("vectors: %w: %s", err, envelope)
	}
	if len(parts) != 7 {
		return "", fmt.Errorf("vectors: %d parts: %s", len(parts), envelope)
	}
	beside, ok := parts[6].(map[string]any)
	if !ok {
		return "", fmt.Errorf("vectors: the last part is no object: %s", envelope)
	}
	event, page := map[string]any{"eventId": parts[1], "timestamp": parts[2], "event": parts[3]}, map[string]any{}
	context := map[string]any{"page": page}
	for i, name := range map[int]string{4: "payload", 5: "identity"} {
		if text, ok := parts[i].(string); ok {
			event[name] = json.RawMessage(text)
		}
	}
	for name, value := range beside {
		switch name {
		case "url", "referrer", "title":
			page[name] = value
		case "visitorId", "sessionId", "stream", "seq", "consent", "frame":
			event[name] = value
		default:
			context[name] = value
		}
	}
	event["context"] = context
	text, err := json.Marshal(event)
	return string(text), err
}
