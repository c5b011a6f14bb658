package facts

import (
	"strings"
	"testing"
)

// docs/notes/attribution.md, "How facts are stored": texts that a shopper or a shop chooses are
// indexed as a digest of 22 characters.
func TestRuleKeysAreAsLongWhateverTheirText(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range []string{"", "a", "ANA10", strings.Repeat("가", 674), strings.Repeat("x", 1<<20), "\x00\xff"} {
		k := RuleKey(KeyUTM, text)
		if k.Kind != KeyUTM || len(k.Value) != 22 ||
			strings.Trim(k.Value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%.20q: %+v", text, k)
		}
		if seen[k.Value] {
			t.Errorf("%.20q has another text's key", text)
		}
		seen[k.Value] = true
		if again := RuleKey(KeyUTM, text); again != k {
			t.Errorf("%.20q: %+v, then %+v", text, k, again)
		}
	}
	// The first 16 bytes of SHA-256("ANA10") as base64url: stored keys depend on it.
	if got, want := RuleKey(KeyCode, "ANA10").Value, "-_SOnEkken-cxvEkBjR5Ww"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIDsThatNoIndexHoldsBecomeDigests(t *testing.T) {
	f := func(name, id string, kept bool) {
		t.Helper()
		got := boundedID(id)
		if (got == id) != kept {
			t.Errorf("%s: %.40q, kept: %t", name, got, got == id)
		}
		if len(got) > maxID || !kept && (len(got) != len("d1:")+22 || !strings.HasPrefix(got, "d1:")) {
			t.Errorf("%s: %q is %d bytes long", name, got, len(got))
		}
	}
	f("empty", "", true)
	f("as long as can be", strings.Repeat("x", maxID), true)
	f("a byte longer", strings.Repeat("x", maxID+1), false)
	f("bytes count, not characters", strings.Repeat("é", maxID/2+1), false)
	f("a mebibyte", strings.Repeat("x", 1<<20), false)
	if boundedID(strings.Repeat("x", maxID+1)) == boundedID(strings.Repeat("x", maxID+2)) {
		t.Error("two long ids have one digest")
	}
}

// A visitor's id and the order's userId become the same key (docs/attribution.md, "Keys that join").
func TestJoinKindsAreTheKeysOfAnOrderStrongestFirst(t *testing.T) {
	var kinds []string
	for _, kind := range JoinKinds {
		kinds = append(kinds, string(kind))
	}
	if got := strings.Join(kinds, " "); got != "cart cookie visitor customer email phone cart_no user network verified" {
		t.Error(got)
	}
}

// What is stored has these numbers.
func TestNamesAreStoredByTheirDigest(t *testing.T) {
	t.Parallel()
	if got := NameDigest("c_1", RuleKey(KeyUTM, "ana prado")); got != 2951704483506612437 {
		t.Errorf("the digest is %d", got)
	}
	if got := KeyDigest("c_1", RuleKey(KeyUTM, "ana prado")); got != 2951704483506612436 {
		t.Errorf("the digest of a key is %d", got)
	}
	seen := map[int64]bool{}
	for _, company := range []string{"c_1", "c_2"} {
		for _, kind := range NameKinds {
			seen[NameDigest(company, RuleKey(kind, "ana prado"))] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d digests, want one for each company and kind", len(seen))
	}
}
