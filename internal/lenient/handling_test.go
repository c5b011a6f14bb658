package lenient

import "testing"

func TestHandlingIsReadAsRFC7240SaysIt(t *testing.T) {
	t.Parallel()
	f := func(want string, lines ...string) {
		t.Helper()
		if got := Handling(lines...); got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
	f("")
	f("", "")
	f("", "respond-async")
	f("", "handling")
	f("", "handling=careful")
	f("strict", "handling=strict")
	f("strict", `Handling = "strict"; why=x`)
	f("strict", "respond-async, wait=10, handling=strict")
	f("strict", "respond-async", "handling=strict")
	f("lenient", "handling=lenient, handling=strict") // the first counts
}
