package account

import (
	"strings"
	"testing"
)

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	f := func(key, want string) {
		t.Helper()
		got := ""
		for _, v := range CheckIdempotencyKey(key).List {
			got += v.Field + " " + v.Code
		}
		if got != want {
			t.Errorf("%.40q: %s; want %s", key, got, want)
		}
	}
	f("a", "")
	f(strings.Repeat("é", maxIdempotencyKey), "")
	f(strings.Repeat("é", maxIdempotencyKey+1), "Idempotency-Key too_long")
	f(" ", "Idempotency-Key empty")
	f("\xff", "Idempotency-Key invalid_characters")
}
