package login

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestADeviceIsKnownForTheEMailThatLoggedInOnIt(t *testing.T) {
	t.Parallel()
	keysOf := func(current, previous byte) signingKeys {
		t.Helper()
		var before []byte
		if previous != 0 {
			before = bytes.Repeat([]byte{previous}, minSecret)
		}
		keys, err := newSigningKeys(bytes.Repeat([]byte{current}, minSecret), before)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	keys := keysOf(1, 0)
	cookie := keys.signDevice([16]byte{7}, "ana@loja.example", now.Add(time.Hour))
	if strings.Contains(cookie, "ana") {
		t.Errorf("the cookie names the person: %s", cookie)
	}
	f := func(what string, keys signingKeys, cookie, email string, at time.Time, known bool) {
		t.Helper()
		if id := keys.knownDevice(cookie, email, at); (id != "") != known {
			t.Errorf("%s: device %q, want known %t", what, id, known)
		}
	}
	f("its own", keys, cookie, "ana@loja.example", now, true)
	f("another's e-mail", keys, cookie, "bia@loja.example", now, false)
	f("expired", keys, cookie, "ana@loja.example", now.Add(time.Hour), false)
	f("after one change of the secret", keysOf(2, 1), cookie, "ana@loja.example", now, true)
	f("after two", keysOf(3, 2), cookie, "ana@loja.example", now, false)
	f("nothing", keys, "", "ana@loja.example", now, false)
	for i := range cookie {
		other := byte('b')
		if cookie[i] == 'b' {
			other = 'c'
		}
		f("changed", keys, cookie[:i]+string(other)+cookie[i+1:], "ana@loja.example", now, false)
	}
	for _, part := range []string{cookie + ".", cookie + ".x", strings.Repeat(".", 9), cookie[:20]} {
		f("malformed", keys, part, "ana@loja.example", now, false)
	}
}
