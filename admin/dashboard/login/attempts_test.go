package login

import (
	"fmt"
	"testing"
	"time"
)

func TestLogInAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a := newAttempts()
	f := func(what, email, network, device string, after time.Duration, want bool) {
		t.Helper()
		if got := a.allow(email, network, device, now.Add(after)); got.OK != want || !got.OK && got.Wait <= 0 {
			t.Errorf("%s: %+v, want allowed %t", what, got, want)
		}
	}
	for range attemptBurst {
		f("in the burst", "ana", "1.1.1.0", "", 0, true)
	}
	f("beyond it", "ana", "1.1.1.0", "", 0, false)
	f("from elsewhere", "ana", "2.2.2.0", "", 0, true)
	f("someone else", "bia", "1.1.1.0", "", 0, true)
	for range attemptBurst {
		f("from a device that ana has used, in the network of the guesses", "ana", "1.1.1.0", "phone", 0, true)
	}
	f("a known device has its own limit", "ana", "1.1.1.0", "phone", 0, false)
	f("another device", "ana", "1.1.1.0", "laptop", 0, true)
	f("a minute later", "ana", "1.1.1.0", "", attemptEvery, true)
	f("and no more", "ana", "1.1.1.0", "", attemptEvery, false)
	a.succeeded("ana", "1.1.1.0", "")
	f("after a log-in", "ana", "1.1.1.0", "", attemptEvery, true)
	for i := range networkBurst {
		f("many e-mails from one network", fmt.Sprint("person", i), "9.9.9.0", "", 0, true)
	}
	f("too many e-mails from one network", "z", "9.9.9.0", "", 0, false)
	f("a known device in that network", "z", "9.9.9.0", "phone of z", 0, true)
}

func TestOnlyTheFirstRefusalOfARowIsNews(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a := newAttempts()
	for range attemptBurst {
		a.allow("ana", "1.1.1.0", "", now)
	}
	f := func(after time.Duration, ok, first bool) {
		t.Helper()
		if got := a.allow("ana", "1.1.1.0", "", now.Add(after)); got.OK != ok || got.First != first {
			t.Errorf("after %s: %+v, want allowed %t, first %t", after, got, ok, first)
		}
	}
	f(0, false, true)
	f(0, false, false)
	f(attemptEvery, true, false)
	f(attemptEvery, false, true)
}
