package main

import (
	"net/http"
	"testing"
)

func TestOnlyTrustedProxiesNameTheClient(t *testing.T) {
	f := func(remote, want string, forwarded ...string) {
		t.Helper()
		flag := proxyFlag{[]string{"10.0.0.0/8", " fd00::1/16"}}
		trusted, err := flag.prefixes()
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": forwarded}}
		if got := forwardedFor(trusted)(r); got != want {
			t.Errorf("%s, forwarded for %q: %s, want %s", remote, forwarded, got, want)
		}
	}
	f("203.0.113.9:1", "203.0.113.9", "198.51.100.1") // anybody may send the header
	f("10.1.1.1:1", "198.51.100.1", "192.0.2.1, 198.51.100.1")
	f("10.1.1.1:1", "198.51.100.1", "192.0.2.1", "198.51.100.1, 10.2.2.2")
	f("10.1.1.1:1", "10.1.1.1")
	f("10.1.1.1:1", "10.1.1.1", "nonsense")
	f("[::ffff:10.1.1.1]:1", "198.51.100.1", "198.51.100.1")
	f("[fd00::2]:1", "2001:db8:1:2::", "2001:db8:1:2:3:4:5:6")
	if forwardedFor(nil) != nil {
		t.Error("without trusted proxies the default must stay")
	}
	if _, err := (&proxyFlag{[]string{"10.0.0.1"}}).prefixes(); err == nil {
		t.Error("an address without its length was taken for a network")
	}
}
