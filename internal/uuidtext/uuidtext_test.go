package uuidtext

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

const anID = "018f3f5e-7b2a-7c3d-8e4f-0123456789ab"

func TestWhatAUUIDIs(t *testing.T) {
	t.Parallel()
	f := func(text string, is, parses bool) {
		t.Helper()
		id, ok := Parse(text)
		if Is(text) != is || ok != parses {
			t.Errorf("%q: is %t, parses %t; want %t, %t", text, Is(text), ok, is, parses)
		}
		if ok && string(Append(nil, id[:])) != text {
			t.Errorf("%q became %s", text, Append(nil, id[:]))
		}
	}
	f(anID, true, true)
	f(strings.ToUpper(anID), true, false)
	f("", false, false)
	f(anID[1:], false, false)
	f(anID+"0", false, false)
	f("{"+anID+"}", false, false)
	f(strings.ReplaceAll(anID, "-", ""), false, false)
	for i := range anID {
		for _, c := range []string{"g", "-", "/", ":", "G", "`", "@", "\x10", "\x19", "0"} {
			text := anID[:i] + c + anID[i+1:]
			want := uuid.Validate(text) == nil
			f(text, want, want)
		}
	}
}

func TestTheTimeOfVersion7(t *testing.T) {
	t.Parallel()
	id, ok := Parse(anID)
	if at := time.UnixMilli(Time(id[:])).UTC(); !ok || at.Format(time.RFC3339Nano) != "2024-05-03T16:51:47.626Z" {
		t.Errorf("%v", at)
	}
}
