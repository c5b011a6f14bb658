package scrub

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatProvesAnEventStandsInNoText(t *testing.T) {
	const token, visitor = "Z2NwLXVzLWVhc3Qx", "019A8D3C-0000-7000-8000-00000000abcd"
	p := ProofsOf(token, visitor)
	f := func(text, want string) {
		t.Helper()
		if got := p.Without(text); got != want {
			t.Errorf("Without(%q)\n got %q\nwant %q", text, got, want)
		}
		quoted, err := json.Marshal(map[string]any{"a": []any{text, 1}, "b" + text: nil})
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := json.Unmarshal([]byte(p.WithoutInJSON(string(quoted))), &values); err != nil {
			t.Fatalf("%s: %v", quoted, err)
		}
		if list, ok := values["a"].([]any); !ok || len(values) != 2 || list[0] != want {
			t.Errorf("WithoutInJSON(%s): %v", quoted, values)
		}
		if _, found := values["b"+want]; !found {
			t.Errorf("WithoutInJSON(%s): %v", quoted, values)
		}
	}
	f(token, "(id)")
	f("https://x.com/pay/"+token+"/"+token+"?t="+token, "https://x.com/pay/(id)/(id)?t=(id)")
	f("/pay/%5A2NwLXVzLWVhc3Q%78?v="+visitor, "/pay/(id)?v=(id)")
	f("%2Fpay%2F"+strings.ToLower(token)+"%2F", "%2Fpay%2F(id)%2F")
	f("%252Fpay%252F%255A2NwLXVzLWVhc3Qx", "%252Fpay%252F(id)")
	f("100% of Z2NwLXVzLWVhc3Q", "100% of Z2NwLXVzLWVhc3Q")
	f("", "")
	f("a \"quoted\" \\ "+token, "a \"quoted\" \\ (id)")
	f(`{"inner":"`+token+`"}`, `{"inner":"(id)"}`)

	p = ProofsOf("gid://shopify/Cart/Z2NwLXVzLWVhc3Qx?key=0123456789abcdef0", "c-42")
	f("/cart/c/Z2NwLXVzLWVhc3Qx and 0123456789abcdef0, c-42", "/cart/c/(id) and (id), c-42")
	p = ProofsOf("a/short/token/of/parts", "")
	f("a/short/token/of/parts a%2Fshort%2Ftoken%2Fof%2Fparts", "(id) (id)")
	p = ProofsOf("1001", "")
	f("/pay/1001", "/pay/1001") // it proves nothing
	p = ProofsOf("İİİİİİİİİİİİİİİİ", "")
	f("%20 İİİİİİİİİİİİİİİİ", "%20 (id)")

	p = ProofsOf(token, visitor)
	for cut, want := range map[string]string{"/pay/" + token[:15]: "/pay/", "/pay/" + token[:7]: "/pay/" + token[:7],
		"/pay/" + token: "/pay/(id)", "": "", "x": "x"} {
		if got := p.WithoutCut(cut); got != want {
			t.Errorf("WithoutCut(%q) %q, want %q", cut, got, want)
		}
	}
	if got := p.WithoutInJSON(`{"a":"` + token); got != "" {
		t.Errorf("no JSON: %q", got)
	}
}
