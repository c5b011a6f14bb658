package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

func TestEveryEventIsAnothersAndIsTaken(t *testing.T) {
	if n := len(eventText(ownPhone)); n != 824 {
		t.Errorf("an event has %d bytes", n)
	}
	seen := map[string]bool{}
	for _, l := range loads {
		body, marks := l.template()
		for i, event := range marks {
			for _, m := range event {
				number(body, m, int64(12345600+i))
			}
		}
		if !json.Valid(body) || bytes.Contains(body, []byte("j0000000@")) {
			t.Fatalf("%s: %s", l.name, body)
		}
		batch, refused := core.ParseBatch(string(body), company, core.Options{})
		if refused != nil || len(batch.Items) != l.events {
			t.Fatalf("%s: %v", l.name, refused)
		}
		clear(seen)
		for _, item := range batch.Items {
			if item.Err != nil {
				t.Errorf("%s: %v", l.name, item.Err)
			}
			e := item.Event
			for _, text := range []string{e.ID, e.Identity.Email, e.Identity.Phone} {
				if seen[text] {
					t.Errorf("%s: %s twice", l.name, text)
				}
				seen[text] = true
			}
		}
	}
}
