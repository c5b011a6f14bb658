package identity

import "testing"

func TestARecentKeyIsTheKey(t *testing.T) {
	k := newHasher(t, 7).Company("co_1", "BR")
	r := k.Recent()
	defer r.Release()
	for _, raw := range []string{"", "42", "42", "a@example.com", "", "null", "+4915112345678", "42",
		"0190a1f0-7c00-7000-8000-00000000000A", "abcdef012345"} {
		f := func(kind string, got []byte, want string) {
			if string(got) != want {
				t.Errorf("%s of %q: %q, want %q", kind, raw, got, want)
			}
		}
		f("email", r.Email(raw), k.Email(raw))
		f("phone", r.Phone(raw), k.Phone(raw))
		f("customer", r.Customer(raw), k.Customer(raw))
		f("cart", r.Cart(raw), k.Cart(raw))
		f("visitor", r.VisitorID(raw), k.VisitorID(raw))
		f("session", r.SessionID(raw), k.SessionID(raw))
		f("stream", r.Stream(raw), k.Stream(raw))
	}
}

// What one request's Recent kept says nothing to the next one.
func TestAReleasedRecentHasForgotten(t *testing.T) {
	k := newHasher(t, 7).Company("co_1", "BR")
	for range 100 { // the pool may give another one
		r := k.Recent()
		if got := string(r.Email("")) + string(r.Stream("")); got != "" {
			t.Fatalf("nothing has the key %q", got)
		}
		if string(r.Email("a@example.com")) != k.Email("a@example.com") || len(r.Stream("abcdef012345")) == 0 {
			t.Fatal("another key")
		}
		r.Release()
		for _, last := range r.last {
			if last.raw != "" || len(last.key) > 0 {
				t.Fatalf("it still holds %q", last.raw)
			}
		}
	}
}
