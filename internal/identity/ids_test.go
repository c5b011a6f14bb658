package identity

import "testing"

const anID = "018f3f5e-7b2a-7c3d-8e4f-0123456789ab"

func TestVisitorIDs(t *testing.T) {
	k := newHasher(t, 7).Company("co_1", "BR")
	same := func(raw, want string) {
		t.Helper()
		if got := k.VisitorID(raw); got != want {
			t.Errorf("VisitorID(%q) = %q, want %q", raw, got, want)
		}
	}
	same(anID, anID)
	same(" 018F3F5E-7B2A-4C3D-8E4F-0123456789AB ", "018f3f5e-7b2a-4c3d-8e4f-0123456789ab")
	for _, junk := range []string{"", " ", "0", "null", "undefined", "guest", "00000000-0000-0000-0000-000000000000"} {
		same(junk, "")
	}
	same("ana@example.com", pinnedVisitor)

	seen := map[string]string{}
	for _, raw := range []string{
		"ana@example.com", "bia@example.com", "5511987654321", "+5511987654321", "v-1", "V-1", "550050854", k.VisitorID("v-1"),
		"018f3f5e-7b2a-7c3d-8e4f-0123456789a", "018f3f5e-7b2a-7c3d-8e4f-0123456789ag", "018f3f5e07b2a-7c3d-8e4f-0123456789ab", "0123456789ab",
	} {
		got := k.VisitorID(raw)
		if len(got) != len("k1:")+43 || got[:3] != "k1:" {
			t.Errorf("VisitorID(%q) = %q, want a keyed digest", raw, got)
		}
		if other, found := seen[got]; found {
			t.Errorf("%q and %q share the id %s", raw, other, got)
		}
		seen[got] = raw
	}
	if k.VisitorID("v-1") != k.VisitorID(" v-1\n") {
		t.Error("blanks around an id make another of it")
	}
	if k.VisitorID("v-1") == newHasher(t, 7).Company("co_2", "BR").VisitorID("v-1") {
		t.Error("two companies share an id")
	}
}

func TestIDsOfOtherKinds(t *testing.T) {
	k := newHasher(t, 7).Company("co_1", "BR")
	f := func(name, got string, stays bool, raw string) {
		t.Helper()
		if (got == raw) != stays {
			t.Errorf("%s of %q is %q", name, raw, got)
		}
	}
	f("session", k.SessionID(anID), true, anID)
	f("session", k.SessionID("s-1"), false, "s-1")
	f("event", k.EventID(anID), true, anID)
	f("event", k.EventID("5511987654321"), false, "5511987654321")
	f("stream", k.Stream(anID), true, anID)
	f("stream", k.Stream("0123456789ab"), true, "0123456789ab")
	f("stream", k.Stream("551187654321"), false, "551187654321") // a phone
	f("stream", k.Stream("999999999999"), false, "999999999999")
	f("stream", k.Stream("0123456789abc"), false, "0123456789abc")
	f("stream", k.Stream("0123456789xy"), false, "0123456789xy")
	values := map[string]bool{k.VisitorID("x"): true, k.SessionID("x"): true, k.EventID("x"): true, k.Stream("x"): true, k.Customer("x"): true,
		k.Digest([]byte("x")): true, k.IdempotencyKey("x"): true}
	if len(values) != 7 {
		t.Errorf("kinds share digests: %v", values)
	}
	if k.IdempotencyKey("x") == k.IdempotencyKey("x ") || k.IdempotencyKey(anID) == anID || k.IdempotencyKey("0") == "" {
		t.Error("an idempotency key is normalised, want it letter by letter")
	}
	if k.Digest([]byte("x")) == k.Digest([]byte("x ")) || k.Digest([]byte("0")) == "" {
		t.Error("a digest is of what was normalised, want of the original")
	}
}
