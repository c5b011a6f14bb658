package core

import (
	"reflect"
	"strings"
	"testing"
)

// A body of one event is read at once; that must be what reading it member by
// member gives.
func FuzzOneEvent(f *testing.F) {
	for _, body := range []string{
		`{"event":"PAGE_VIEW","companyId":"a"}`, `{"event":"PAGE_VIEW","companyId":""}`, `{"event":"PAGE_VIEW","companyId":null}`,
		`{"companyId":"","companyId":"a","event":"PAGE_VIEW"}`, `{"companyId":"a","companyId":null,"event":"PAGE_VIEW"}`,
		`{"companyId":"b","event":"X"}`,
		`{"company\u0049d":"a","event":"PAGE_VIEW"}`, `{"event":"PAGE_VIEW","sentAt":"x"}`, `{"event":"PAGE_VIEW","events":null}`,
		`{"\u0065vents":[{"event":"X"}]}`,
		`{"event":"CHECKOUT_COMPLETED","payload":{"items":[{"item_id":"1","item_quantity":0}]}}`, `{"event":"page_view","seq":1.5}`,
		`{"event":"X"} x`, `{}`, `{"event":7}`, `{"event":"X",}`,
		`{"event":"CHECKOUT_COMPLETED","payload":{"checkout":{"lineItems":[{"id":"a\"]b","quantity":2,"variant":{"id":"}"}}]},"n":[1, ` +
			`2 ,"x\\"]}}`,
	} {
		f.Add(body, "")
		f.Add(body, "a")
	}
	f.Fuzz(func(t *testing.T, body, company string) {
		if len(body) == 0 || body[0] != '{' || len(company) > maxCompanyID {
			return
		}
		o := Options{Now: 1}
		fast, slow := Batch{CompanyID: company}, Batch{CompanyID: company}
		if !fast.oneEvent(body, &o) {
			return
		}
		if v := slow.members(body, &o); v != nil {
			t.Fatalf("%s is refused: %v", body, v)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Errorf("%s:\n%+v\n%+v", body, fast, slow)
		}
	})
}

// An item of a batch is parsed at once; that must be what cutting it out first
// gives.
func FuzzNextItem(f *testing.F) {
	for _, text := range []string{
		`{"event":"PAGE_VIEW"},{"event":"X"}]`, `{"event":"PAGE_VIEW","companyId":"a"}]`, `{"event":7,"x":"}"},1]`,
		`{"event":"X"`, `{"event":"X",}]`,
		`{"event":"X","a":[}]`, `{"event":"X"}}]`, `{"event":"X"}x]`, `{}`, `{ } ,`, `{"payload":{"a":1e999},"event":"X"}]`,
		`{"seq":-1,"eventId":"x"}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || strings.TrimLeft(text, " \t\r\n") != text {
			return
		}
		o := Options{Now: 1}
		var fast, slow Batch
		s := Scan(text, 0)
		v := fast.next(&s, &o)
		n := s.at
		if v != nil && v.Code == CodeInvalidJSON && n == 0 {
			if extent(text) != 0 {
				t.Fatalf("%s: %v", text, v)
			}
			return
		}
		if want := extent(text); n != want {
			t.Fatalf("%s: %d bytes, want %d", text, n, want)
		}
		slowV := slow.add(text[:n], &o)
		if !reflect.DeepEqual(fast, slow) || !reflect.DeepEqual(v, slowV) {
			t.Errorf("%s:\n%+v %v\n%+v %v", text, fast, v, slow, slowV)
		}
	})
}

// Eight bytes at once find what a look at each byte finds.
func FuzzPlainTo(f *testing.F) {
	f.Add("a plain text of more than eight bytes, then \" and \\ and \x1f and \x7f and \x80", 3)
	f.Fuzz(func(t *testing.T, text string, from int) {
		if from < 0 || from > len(text) {
			return
		}
		want := from
		for want < len(text) && text[want] >= 0x20 && text[want] != '"' && text[want] != '\\' && text[want] < 0x80 {
			want++
		}
		if got := plainTo(text, from); got != want {
			t.Errorf("%q from %d: %d, want %d", text, from, got, want)
		}
	})
}

// FuzzKnownText: a payload that was checked is skipped by its brackets alone.
func FuzzKnownText(f *testing.F) {
	f.Add(`{"a":[1,"]",{"b\\":"\"}"}],"c":null,"d":-1e5,"e":"","f":{}}`)
	f.Add(`12`)
	f.Add(`null`)
	f.Add(`"a"`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		s := Scan(text, 0)
		raw := s.Raw()
		if !s.Done() {
			return
		}
		walk := func(s Scanner) (found []string) {
			if s.Kind() == Array {
				s.Enter()
				for s.Element() {
					found = append(found, s.Raw())
				}
			} else if s.Kind() == Object {
				s.Enter()
				for key, ok := s.Key(); ok; key, ok = s.Key() {
					found = append(found, key, s.Raw())
				}
			} else {
				found = append(found, s.Raw())
			}
			if !s.Done() {
				t.Errorf("%s: %v", raw, s.Fault())
			}
			return found
		}
		if known, checked := walk(scanKnown(raw, 0)), walk(Scan(raw, 0)); !reflect.DeepEqual(known, checked) {
			t.Errorf("%s: %q, want %q", raw, known, checked)
		}
	})
}
