package lenient

import (
	"strings"
	"testing"
)

func TestTheNearestNameIsFound(t *testing.T) {
	names := []string{"customer_id", "email", "url", "seq"}
	f := func(name, want string) {
		t.Helper()
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	f("customerId", "customer_id")
	f("CUSTOMER-ID", "customer_id")
	f("custmerid", "customer_id")
	f("cstmrid", "") // three letters off
	f("mail", "email")
	f("emails.", "email")
	f("URL", "url")
	f("uri", "") // one of three letters says nothing
	f("", "")
	f(strings.Repeat("_", 60)+"url", "url")
	f(strings.Repeat("_", 62)+"url", "") // longer than is compared
}
