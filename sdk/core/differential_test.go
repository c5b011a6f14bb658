package core

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// token is a JSON token as text, with its kind before it: `"a`, `#1e5`, `:key`, `{`.
type token = string

// scanned lists the tokens that our scanner finds in the next value.
func scanned(s *Scanner, found []token) []token {
	switch s.Kind() {
	case Object:
		found = append(found, "{")
		s.Enter()
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			found = scanned(s, append(found, ":"+key))
		}
		return append(found, "}")
	case Array:
		found = append(found, "[")
		s.Enter()
		for s.Element() {
			found = scanned(s, found)
		}
		return append(found, "]")
	case String:
		return append(found, `"`+s.Text())
	case Number:
		return append(found, "#"+s.Raw())
	}
	return append(found, s.Raw())
}

// decoded lists the tokens that encoding/json finds, with U+0000 replaced as we
// replace it. Members that stand twice are there twice.
func decoded(t *testing.T, text string) (found []token) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var open []json.Delim
	var keys []bool // of each: the next token of it is a key, if it is an object
	for {
		next, err := decoder.Token()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		isKey := len(open) > 0 && open[len(open)-1] == '{' && keys[len(keys)-1]
		if len(keys) > 0 {
			keys[len(keys)-1] = !keys[len(keys)-1]
		}
		switch v := next.(type) {
		case json.Delim:
			found = append(found, v.String())
			switch v {
			case '{', '[':
				open, keys = append(open, v), append(keys, true)
			default:
				open, keys = open[:len(open)-1], keys[:len(keys)-1]
			}
		case string:
			mark := `"`
			if isKey {
				mark = ":"
			}
			found = append(found, mark+mended(v))
		case json.Number:
			found = append(found, "#"+v.String())
		case bool:
			found = append(found, map[bool]string{true: "true", false: "false"}[v])
		case nil:
			found = append(found, "null")
		}
	}
}

func mended(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// FuzzValues holds that what the scanner takes has the values that encoding/json
// finds in it, in the same order, members that stand twice included.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"a":{"a":[]},"\u0061":"\u0000"}`, `[1e5,-0,0.10,1E+2,12345678901234567890]`, `"\ud83d\ude00\ud83d\u0041\\\/\b"`,
		`{"":{"":""},"é":"` + "\u2028" + `"}`, ` [ { } , [ ] , null , true , false ] `, `{"a\u0000":1,"a\ufffd":2}`, `[["]"],{"}":"{"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Scan(text, 0)
		got := scanned(&s, nil)
		if !s.Done() || !utf8.ValidString(text) { // FuzzScanner holds what is taken; of invalid UTF-8 we make fewer U+FFFD
			return
		}
		want := decoded(t, text)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q, encoding/json finds %q", text, got, want)
		}
		whole := Scan(text, 0)
		raw := whole.Raw()
		if again := decoded(t, raw); !slices.Equal(again, want) {
			t.Errorf("%q became %q: %q, want %q", text, raw, again, want)
		}
	})
}

// FuzzEventAgainstEncodingJSON holds that an event object which is taken has the
// values that encoding/json reads in its last member of each name.
func FuzzEventAgainstEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"event":"A","visitorId":"a","visitorId":"b","payload":{"x":1,"x":[1, 2]}}`,
		`{"event":"A","visitor\u0049d":" v ","sessionId":"\ud800","stream":"s","seq":7,"payload":{"a\u0000":"\u0000"}}`,
		`{"event":"A","payload":{"a":1},"payload":{"b":1e5},"seq":1,"seq":null}`,
		`{"VisitorID":"no","event":"A","visitorId":null,"payload":null}`,
		`{"event":"A","context":{"page":{"url":"https://x.example/?utm_source=\u0061"},"page":{"title":"t"}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, v := ParseBatch(text, "c", Options{Now: 1})
		if v != nil || len(b.Items) != 1 || b.Items[0].Err != nil || b.Items[0].Raw || !strings.HasPrefix(b.Items[0].Text, "{") ||
			!utf8.ValidString(text) {
			return
		}
		item := b.Items[0]
		if !json.Valid([]byte(item.Text)) {
			t.Fatalf("%q is taken, and no JSON", item.Text)
		}
		decoder := json.NewDecoder(strings.NewReader(item.Text))
		if _, err := decoder.Token(); err != nil {
			t.Fatal(err)
		}
		last := map[string]string{}
		for decoder.More() {
			key, err := decoder.Token()
			var value json.RawMessage
			if err == nil {
				err = decoder.Decode(&value)
			}
			if err != nil {
				t.Fatal(err)
			}
			if name := key.(string); name != "payload" || string(value) != "null" { // of payloads, null counts as absent
				last[name] = string(value)
			}
		}
		text1 := func(member string) (value string) {
			if err := json.Unmarshal([]byte(last[member]), &value); last[member] != "" && err != nil {
				t.Fatalf("%s of %q: %v", member, item.Text, err)
			}
			return new(parser).withoutJunk(mended(value))
		}
		e := item.Event
		for member, got := range map[string]string{"visitorId": e.VisitorID, "sessionId": e.SessionID, "stream": e.Stream} {
			if want := text1(member); got != want {
				t.Errorf("%s of %q is %q, encoding/json reads %q", member, item.Text, got, want)
			}
		}
		switch e.Name {
		case ProductView, AddToCart, InitiateCheckout, CheckoutCompleted: // their items are rewritten
			return
		}
		if want := last["payload"]; (e.Payload == "") != (want == "") || want != "" && !slices.Equal(decoded(t, e.Payload), decoded(t, want)) {
			t.Errorf("the payload of %q is %q, encoding/json reads %q", item.Text, e.Payload, want)
		}
	})
}

// FuzzParseCampaign holds that no URL panics, that what is read is within its
// bounds, and that it is what the query says, read pair by pair.
func FuzzParseCampaign(f *testing.F) {
	for _, seed := range []string{
		"https://x.example/?utm_source=a&utm_source=b&gclid=%41&trb_click=c.1#f", "x?utm_term=%zz+%C3%A9&&=&utm_content", "#/p?utm_medium=x",
		"?utm_campaign=%00%ff",
		"https://x.example/?fbclid=" + strings.Repeat("%20", 300),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		c, ids := ParseCampaign(url)
		for _, value := range []string{c.Source, c.Medium, c.Name, c.Content, c.Term} {
			checkParam(t, url, value)
		}
		known := ClickIDs()
		for i, id := range ids {
			checkParam(t, url, id.Value)
			if !slices.Contains(known[:], id.Name) || id.Value == "" || i > 0 && ids[i-1].Name >= id.Name {
				t.Errorf("%q: click ids %q", url, ids)
			}
			if !strings.Contains(url, id.Name+"=") {
				t.Errorf("%q does not name %s", url, id.Name)
			}
		}
	})
}

func checkParam(t *testing.T, url, value string) {
	t.Helper()
	if len(value) > maxCampaign || strings.TrimSpace(value) != value && len(value) < maxCampaign-3 || strings.ContainsRune(value, 0) ||
		utf8.ValidString(url) && !utf8.ValidString(value) {
		t.Errorf("%q has the value %q", url, value)
	}
}
