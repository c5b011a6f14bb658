package network

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tributary-io/tributary/connect/conversion"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// Google's access tokens of service accounts (developers.google.com/identity/protocols/oauth2/service-account, "HTTP/REST").
const (
	googleScope = "https://www.googleapis.com/auth/datamanager"
	googleGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	tokenLife   = time.Hour   // at most
	tokenMargin = time.Minute // before its end a token is not used any more
	mostTokens  = 1000
)

// token is an access token.
type token struct {
	text string
	ends time.Time
}

// tokens keeps access tokens until they end, by the digest of the key file. Safe for concurrent use.
type tokens struct {
	sender *Sender
	mu     sync.Mutex
	by     map[[32]byte]token
}

// refusal is why there is no access token.
type refusal struct{ result outgoing.Result }

func (r *refusal) Error() string { return "network: no access token: " + r.result.Try.Failure }

// of returns an access token for a service account's key file. A *refusal where there is none.
func (t *tokens) of(ctx context.Context, keyFile string) (string, error) {
	id, now := sha256.Sum256([]byte(keyFile)), t.sender.now()
	t.mu.Lock()
	known := t.by[id]
	t.mu.Unlock()
	if now.Add(tokenMargin).Before(known.ends) {
		return known.text, nil
	}
	made, err := t.ask(ctx, keyFile, now)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.by) >= mostTokens {
		clear(t.by)
	}
	t.by[id] = made
	return made.text, nil
}

// forget forgets the access token of a key file, which was refused.
func (t *tokens) forget(keyFile string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, sha256.Sum256([]byte(keyFile)))
}

func (t *tokens) ask(ctx context.Context, keyFile string, now time.Time) (token, error) {
	wrong := func(words string) error {
		return &refusal{outgoing.Result{Try: commerce.Try{Failure: commerce.TryAccount, Answer: words}}}
	}
	file, err := commerce.ParseServiceAccount(keyFile)
	if err != nil {
		return token{}, wrong("the secret is no key file of a service account")
	}
	claim := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": file.Email, "scope": googleScope, "aud": commerce.GoogleTokenURL,
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix()})
	claim.Header["kid"] = file.KeyID
	assertion, err := claim.SignedString(file.Signer)
	if err != nil {
		return token{}, wrong("the private key does not sign")
	}
	status, header, body, failure := t.sender.ask(ctx, conversion.Request{URL: commerce.GoogleTokenURL,
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		Body:   []byte(url.Values{"grant_type": {googleGrant}, "assertion": {assertion}}.Encode())})
	var answer struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
		Error   string `json:"error"`
		Words   string `json:"error_description"`
	}
	if failure == "" {
		_ = json.Unmarshal(body, &answer) // what is missing is seen below
	}
	switch {
	case failure != "":
		return token{}, &refusal{outgoing.Result{Try: commerce.Try{Failure: failure, Status: status}}}
	case status/100 == 2 && answer.Token != "":
		return token{answer.Token, now.Add(min(tokenLife, time.Duration(answer.Seconds)*time.Second))}, nil
	case status/100 == 4 && status != http.StatusTooManyRequests && answer.Error != "":
		text := []byte(answer.Error + " " + answer.Words)
		return token{}, wrong(outgoing.Printable(text[:min(len(text), keptWords)]))
	}
	return token{}, &refusal{outgoing.Result{Try: commerce.Try{Failure: commerce.TryStatus, Status: status,
		Answer: http.StatusText(status)}, Wait: platform.RetryAfter(header, now)}}
}
