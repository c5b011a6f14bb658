package dashboard_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/boombuler/barcode/qr"

	"github.com/tributary-io/tributary/internal/account"
)

var (
	hiddenSecret = regexp.MustCompile(`name="sealed" value="([^"]+)"`)
	addressOfKey = regexp.MustCompile(`secret=([A-Z2-7]{32})`)
	recoveryCode = regexp.MustCompile(`<code>([A-Z2-7]{4}(?: [A-Z2-7]{4}){5} [A-Z2-7]{2})</code>`)
	hiddenStep   = regexp.MustCompile(`name="step" value="([^"]+)"`)
)

// appCode is what an authenticator app shows, written apart from the product.
func (s *site) appCode(secret string) string {
	s.t.Helper()
	key, err := base32.StdEncoding.DecodeString(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(s.clock().Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&(1<<31-1)%1_000_000)
}

// later moves the clock on, so that the app shows another code.
func (s *site) later(by time.Duration) { s.setClock(s.clock().Add(by)) }

// withFactor turns the second factor of a client's person on.
func (s *site) withFactor(client *http.Client) (secret string, recovery []string) {
	s.t.Helper()
	at := "?company=" + s.live
	_, page, _ := s.send(client, "/dashboard/account/factor/new"+at, nil)
	sealed, found := hiddenSecret.FindStringSubmatch(page), addressOfKey.FindStringSubmatch(page)
	if sealed == nil || found == nil {
		s.t.Fatalf("no key: %s", page)
	}
	try := func(code, password string) (int, string) {
		status, text, _ := s.send(client, "/dashboard/account/factor"+at,
			url.Values{"sealed": {sealed[1]}, "code": {code}, "password": {password}})
		return status, text
	}
	good := s.appCode(found[1])
	if status, text := try("000000", testPassword); status != http.StatusUnprocessableEntity || !contains(text, "This code is not right") {
		s.t.Errorf("another code: %d", status)
	}
	if status, text := try(good, "not the password"); status != http.StatusUnprocessableEntity ||
		!contains(text, "this is not your password") {
		s.t.Errorf("another password: %d", status)
	}
	status, text := try(good[:3]+" "+good[3:], testPassword)
	if status != http.StatusOK {
		s.t.Fatalf("%d %s", status, text)
	}
	for _, code := range recoveryCode.FindAllStringSubmatch(text, -1) {
		recovery = append(recovery, code[1])
	}
	if len(recovery) != 10 {
		s.t.Fatalf("%d recovery codes: %s", len(recovery), text)
	}
	return found[1], recovery
}

// step shows the password, and returns what names the second step.
func (s *site) step(client *http.Client, email, password string) string {
	s.t.Helper()
	status, text, _ := s.send(client, "/dashboard/login", url.Values{"email": {email}, "password": {password}, "next": {"/dashboard/costs"}})
	found := hiddenStep.FindStringSubmatch(text)
	if status != http.StatusOK || found == nil {
		s.t.Fatalf("%d: %s", status, text)
	}
	if answer, err := client.Get(s.url + "/dashboard/"); err != nil || answer.StatusCode != http.StatusSeeOther {
		s.t.Errorf("the password alone logs in: %v, %v", answer, err)
	}
	return found[1]
}

func (s *site) code(client *http.Client, step, code string) (status int, to string) {
	s.t.Helper()
	status, _, to = s.send(client, "/dashboard/login/code", url.Values{"step": {step}, "code": {code}, "next": {"/dashboard/costs"}})
	return status, to
}

func TestASecondFactorIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	other, owner := s.loggedIn(), s.loggedIn()
	secret, recovery := s.withFactor(owner)
	if answer, err := other.Get(s.url + "/dashboard/"); err != nil || answer.StatusCode != http.StatusSeeOther {
		t.Errorf("a session without a code lasts: %v, %v", answer, err)
	}
	client := s.client()
	step := s.step(client, testEmail, testPassword)
	f := func(what, step, code string, want int) {
		t.Helper()
		if status, to := s.code(client, step, code); status != want || want == http.StatusSeeOther && to != "/dashboard/costs" {
			t.Errorf("%s: %d to %q, want %d", what, status, to, want)
		}
	}
	f("the code that turned it on", step, s.appCode(secret), http.StatusUnauthorized)
	f("a guess", step, "123456", http.StatusUnauthorized)
	f("nothing", step, "", http.StatusUnauthorized)
	s.later(30 * time.Second)
	another := s.client()
	f("the next code", step, s.appCode(secret), http.StatusSeeOther)
	if text := s.readAs(client, "/dashboard/costs"); !contains(text, "2 failed attempts to log in") {
		t.Error("what failed where the factor was turned on is not told alone: one's own mistyped codes are no news")
	}
	if status, _ := s.code(another, s.step(another, testEmail, testPassword), "123456"); status != http.StatusUnauthorized {
		t.Errorf("another's guess: %d", status)
	}
	f("the same again", step, s.appCode(secret), http.StatusUnauthorized)
	f("a recovery code", step, strings.ToLower(recovery[3]), http.StatusSeeOther)
	if text := s.readAs(client, "/dashboard/costs"); !contains(text, "1 failed attempt to log in") {
		t.Error("another's failed code is not told")
	}
	f("the same again", step, recovery[3], http.StatusUnauthorized)
	if text := s.readAs(client, "/dashboard/account"); !contains(text, "9 recovery codes are left") {
		t.Errorf("the account: %s", text)
	}
	for what, bad := range map[string]string{"forged": step[:len(step)-4] + "AAAA", "another person": strings.Replace(step, "-7", "-8", 1),
		"nothing": "", "long": strings.Repeat("a.", 500)} {
		if status, to := s.code(client, bad, recovery[4]); status != http.StatusSeeOther || to != "/dashboard/login" {
			t.Errorf("a step that is %s: %d to %q", what, status, to)
		}
	}
	s.later(5 * time.Minute)
	if status, to := s.code(client, step, recovery[4]); status != http.StatusSeeOther || to != "/dashboard/login" {
		t.Errorf("a step that is over: %d to %q", status, to)
	}
	for n := range 6 { // whoever found the password, from many networks
		s.setAddress(testAddress(n + 1))
		guesser := s.client()
		want := http.StatusUnauthorized
		if n == 5 {
			want = http.StatusTooManyRequests
		}
		if status, _ := s.code(guesser, s.step(guesser, testEmail, testPassword), "123456"); status != want {
			t.Errorf("guess %d: %d, want %d", n, status, want)
		}
	}
	s.endAll(t, client)
	if status, _ := s.code(client, s.step(client, testEmail, testPassword), recovery[5]); status != http.StatusSeeOther {
		t.Errorf("guesses from elsewhere keep the person out: %d", status)
	}
}

func TestASecondFactorIsTurnedOffByACodeAndThePassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	owner, at := s.loggedIn(), "?company="+s.live
	secret, recovery := s.withFactor(owner)
	off := func(code, password string) (int, string) {
		t.Helper()
		status, _, to := s.send(owner, "/dashboard/account/factor"+at, url.Values{"code": {code}, "password": {password}})
		return status, to
	}
	s.later(time.Minute)
	if status, _ := off("123456", testPassword); status != http.StatusUnprocessableEntity {
		t.Errorf("another code: %d", status)
	}
	if status, _ := off(s.appCode(secret), "not the password"); status != http.StatusUnprocessableEntity {
		t.Errorf("another password: %d", status)
	}
	s.later(2 * time.Minute)
	if status, to := off(recovery[0], testPassword); status != http.StatusSeeOther || !strings.Contains(to, "done=factor_off") {
		t.Errorf("%d %s", status, to)
	}
	if answer := s.logIn(s.client(), testEmail, testPassword); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("log-in afterwards: %s", answer.Status)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Second factor turned on",
		"Second factor turned off", "Recovery code used") {
		t.Errorf("the audit log: %s", text)
	}
}

// No link lets in whoever holds it without the second factor: an owner's link sets the password, and asks for the code.
func TestALinkKeepsTheSecondFactor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	owner, at := s.loggedIn(), "?company="+s.live
	bia := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	secret, _ := s.withFactor(bia)
	person, err := s.DB.PersonByEmail(t.Context(), "bia@loja.example")
	if err != nil {
		t.Fatal(err)
	}
	_, text := s.makes(owner, "/dashboard/people/reset"+at, url.Values{"person": {person.ID}, "email": {person.Email}})
	visitor := s.client()
	status, text, _ := s.send(visitor, "/dashboard/join",
		url.Values{"token": {oneTimeLink.FindStringSubmatch(text)[1]}, "password": {"another long password"}})
	step := hiddenStep.FindStringSubmatch(text)
	if status != http.StatusOK || step == nil {
		t.Fatalf("%d: %s", status, text)
	}
	for _, client := range []*http.Client{visitor, bia} { // hers ended with the password
		if answer, err := client.Get(s.url + "/dashboard/"); err != nil || answer.StatusCode != http.StatusSeeOther {
			t.Errorf("logged in: %v, %v", answer, err)
		}
	}
	s.later(30 * time.Second)
	if status, to := s.code(visitor, step[1], s.appCode(secret)); status != http.StatusSeeOther || to != "/dashboard/costs" {
		t.Errorf("%d to %q", status, to)
	}
	// An invitation of another store, with her password: the same.
	other := s.NewStore("Outra")
	carla := s.join(account.RoleOwner, "carla@outra.example", other.StoreID)
	_, text = s.makes(carla, "/dashboard/people/invite?company="+other.Live.CompanyID,
		url.Values{"email": {person.Email}, "role": {account.RoleAnalyst}})
	stranger := s.client()
	if status, text, _ := s.send(stranger, "/dashboard/join", url.Values{"token": {oneTimeLink.FindStringSubmatch(text)[1]},
		"password": {"another long password"}}); status != http.StatusOK || hiddenStep.FindStringSubmatch(text) == nil {
		t.Errorf("an invitation lets in without a code: %d", status)
	}
	// A password that is changed ends the step before it.
	if err := s.DB.SetPassword(t.Context(), person.ID, person.PasswordHash); err != nil {
		t.Fatal(err)
	}
	s.later(30 * time.Second)
	if status, to := s.code(s.client(), step[1], s.appCode(secret)); to != "/dashboard/login" {
		t.Errorf("a step of the password before: %d to %q", status, to)
	}
}

// The key is a QR code within the page: it has no address, so no history and no log has the key.
func TestTheKeyIsAQRCodeWithinThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, page, _ := s.send(s.loggedIn(), "/dashboard/account/factor/new?company="+s.live, nil)
	_, text, _ := strings.Cut(page, "<pre><code>otpauth:")
	text, _, _ = strings.Cut(text, "</code>")
	code, err := qr.Encode("otpauth:"+html.UnescapeString(text), qr.M, qr.Auto)
	if err != nil {
		t.Fatal(err)
	}
	_, drawn, ok := strings.Cut(page, `shape-rendering="crispEdges">`)
	drawn, _, _ = strings.Cut(drawn, "</svg>")
	for y := range code.Bounds().Dy() {
		for x := range code.Bounds().Dx() {
			dark, _, _, _ := code.At(x, y).RGBA()
			if !ok || contains(drawn, fmt.Sprintf("M%d %dh1v1h-1z", x+4, y+4)) != (dark == 0) {
				t.Fatalf("the code is not the key's at %d, %d: %s", x, y, drawn)
			}
		}
	}
	for _, address := range regexp.MustCompile(`(?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if strings.Contains(address[1], "secret") || strings.Contains(address[1], "otpauth") {
			t.Errorf("an address has the key: %s", address[1])
		}
	}
}
