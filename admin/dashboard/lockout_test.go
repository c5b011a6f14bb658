package dashboard_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Somebody guesses the owner's password, five times at once and then once a
// minute, for ever. It must not keep the owner out.
func TestGuessesDoNotLockTheOwnerOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := time.Now()
	s.setClock(start)
	s.setAddress("198.51.100.7")
	owner := s.loggedIn() // their own browser, from where they also work later

	s.setAddress("203.0.113.9")
	for range 6 {
		s.logIn(s.client(), testEmail, "guess")
	}
	if answer := s.logIn(s.client(), testEmail, testPassword); answer.StatusCode != http.StatusTooManyRequests ||
		answer.Header.Get("Retry-After") == "" {
		t.Errorf("after five guesses, the guesser: %s", answer.Status)
	}
	if answer := s.logIn(owner, testEmail, testPassword); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the owner's browser in the network of the guesses: %s", answer.Status)
	}
	s.setAddress("198.51.100.99")
	if answer := s.logIn(s.client(), testEmail, testPassword); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the owner on a new computer elsewhere: %s", answer.Status)
	}
	for minute := range 3 {
		s.setClock(start.Add(time.Duration(minute+1) * time.Minute))
		s.setAddress("203.0.113.9")
		s.logIn(s.client(), testEmail, "guess")
		s.setAddress("198.51.100.8")
		if answer := s.logIn(owner, testEmail, testPassword); answer.StatusCode != http.StatusSeeOther {
			t.Errorf("the owner in minute %d: %s", minute+1, answer.Status)
		}
	}
}

func TestTheOwnerIsToldOfFailedAttempts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC))
	page := func(client *http.Client) string {
		t.Helper()
		answer, err := client.Get(s.url + "/dashboard/influencers")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v", answer.Status, err)
		}
		return string(text)
	}
	if text := page(s.loggedIn()); strings.Contains(text, "failed attempt") {
		t.Error("a first log-in tells of attempts that were not there")
	}
	for range 3 {
		s.logIn(s.client(), testEmail, "guess")
	}
	s.logIn(s.client(), "nobody@loja.example", "guess")
	client := s.loggedIn()
	const want = "3 failed attempts to log in with your e-mail since your last log-in, the latest on 21 Nov 2026, 12:04."
	for range 2 {
		if text := page(client); !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if text := page(s.loggedIn()); strings.Contains(text, "failed attempt") {
		t.Error("attempts are told of again after the next log-in")
	}
	logged := s.logged()
	if !strings.Contains(logged, "a log-in failed") || !strings.Contains(logged, "192.0.2.0/24") {
		t.Errorf("the log does not tell of the attempts: %s", logged)
	}
	for _, personal := range []string{testEmail, "nobody@loja", "guess", "192.0.2.1"} {
		if strings.Contains(logged, personal) {
			t.Errorf("the log has %q: %s", personal, logged)
		}
	}
}

// Finding S3-10: what is told of failed attempts is closed by a button that needs no script. Attempts that fail later are told again.
func TestWhatIsToldOfFailedAttemptsIsClosed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := "?company=" + s.live
	s.logIn(s.client(), testEmail, "guess")
	client := s.loggedIn()
	if text := s.readRaw(client, "/dashboard/costs"+at); !contains(text, "1 failed attempt", `action="/dashboard/account/failures?company=`) {
		t.Error("what is told has no button to close it")
	}
	status, _, to := s.send(client, "/dashboard/account/failures"+at, url.Values{"next": {"/dashboard/costs" + at}})
	if status != http.StatusSeeOther || to != "/dashboard/costs"+at {
		t.Errorf("closed: %d to %s", status, to)
	}
	if _, _, to := s.send(client, "/dashboard/account/failures"+at, url.Values{"next": {"https://elsewhere.example/"}}); to != "/dashboard/" {
		t.Errorf("leads to %s", to)
	}
	if text := s.readRaw(client, "/dashboard/costs"+at); contains(text, "failed attempt") || contains(text, "account/failures") {
		t.Error("what was closed is told again")
	}
	s.logIn(s.client(), testEmail, "guess")
	s.logIn(client, testEmail, testPassword)
	if text := s.readAs(client, "/dashboard/costs"+at); !contains(text, "1 failed attempt") {
		t.Error("an attempt of later is not told")
	}
}

// Finding S3-10: what somebody mistyped a moment before, in the browser in which they log in then, is no news to them. What another
// browser tried is, and what this one tried by another e-mail hides nothing.
func TestOnesOwnMistakesAreNoNews(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Influencer(s.live, "Ana Prado")
	client := s.client()
	s.logIn(client, testEmail, "guess")
	s.logIn(client, testEmail, testPassword)
	if text := s.readAs(client, "/dashboard/costs"); contains(text, "failed attempt") {
		t.Error("one's own mistake is told")
	}
	client = s.client()
	s.logIn(client, "nobody@loja.example", "guess")
	s.logIn(s.client(), testEmail, "guess")
	s.logIn(client, testEmail, testPassword)
	if text := s.readAs(client, "/dashboard/costs"); !contains(text, "1 failed attempt") {
		t.Error("another's attempt is not told")
	}
	s.logIn(s.client(), testEmail, "guess")
	s.logIn(client, testEmail, "guess")
	s.logIn(client, testEmail, testPassword)
	if text := s.readAs(client, "/dashboard/costs"); !contains(text, "1 failed attempt") {
		t.Error("another's attempt is not told beside one's own")
	}
}
