package scrub

import "testing"

func TestUTMValuesThatAreNamesStay(t *testing.T) {
	names := map[string]bool{"Ana @ana.prado": true, "11 98765-4321": true, "Beto": true}
	keep := func(value string) bool { return names[value] }
	f := func(url, want string) {
		t.Helper()
		if got := Keeping(url, keep, Text); got != want {
			t.Errorf("%s:\n got %s\nwant %s", url, got, want)
		}
	}
	for _, name := range []string{"Ana+%40ana.prado", "Ana%20@ana.prado", "Ana+@ana.prado"} {
		f("https://x.com/?utm_campaign="+name+"&email=ana@x.com#p?e=b@x.com", "https://x.com/?utm_campaign="+name+"&email=(email)#p?e=(email)")
		f("https://x.com/?e=ana@x.com&utm_content="+name, "https://x.com/?e=(email)&utm_content="+name)
		f("https://x.com/#/p?utm_source="+name, "https://x.com/#/p?utm_source="+name)
		f("https://x.com/?utm_id="+name, "https://x.com/?utm_id="+Text(name))                  // no UTM value of ours
		f("https://x.com/?utm_campaign=x"+name, "https://x.com/?utm_campaign="+Text("x"+name)) // another name
	}
	f("https://x.com/?utm_campaign=11+98765-4321&utm_term=11+98765-4322", "https://x.com/?utm_campaign=11+98765-4321&utm_term=(phone)")
	f("https://x.com/?utm_campaign=Beto&utm_content=b@x.com", "https://x.com/?utm_campaign=Beto&utm_content=(email)")
	f("https://x.com/?utm_campaign=", "https://x.com/?utm_campaign=")
	f("b@x.com", "(email)")
	f("", "")
}

// A date is no phone, with or without a name before it.
func TestADateInANameStays(t *testing.T) {
	for _, text := range []string{
		"https://x.com/?utm_content=Live+2026-03-15", "https://x.com/?utm_content=Live%202026-03-15",
		"https://x.com/?utm_campaign=Black+20251128", "Live 2026-03-15",
		"Black 20251128", "Live+2026-03-15", "Black+20251128", "Live 15/03/2026", "https://x.com/?utm_content=Live+15-03-2026",
	} {
		if got := Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
