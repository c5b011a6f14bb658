package networks

import (
	"crypto"
	"crypto/rsa"
	hash "crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// GoogleOAuth is what Google's token endpoint knows: a client with a refresh token, a service account, or both.
type GoogleOAuth struct {
	ClientID, ClientSecret, RefreshToken string
	ServiceEmail                         string
	ServiceKey                           *rsa.PublicKey
	Audience                             string // of a service account's assertions; "https://oauth2.googleapis.com/token" when empty
}

const (
	googleTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // a public address
	googleScope    = "https://www.googleapis.com/auth/datamanager"
	tokenLife      = time.Hour
)

// token serves the refresh-token grant [oauth web-server#offline] and a service account's assertion [oauth service-account].
func (g *Google) token(r *http.Request, body []byte) Answer {
	form, err := url.ParseQuery(string(body))
	if err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return oauthError(400, "invalid_request", "The body must be a form.")
	}
	account := g.account.OAuth
	switch form.Get("grant_type") {
	case "refresh_token":
		switch {
		case account.ClientID == "" || form.Get("client_id") != account.ClientID || form.Get("client_secret") != account.ClientSecret:
			return oauthError(401, "invalid_client", "The OAuth client was not found.")
		case form.Get("refresh_token") != account.RefreshToken:
			return oauthError(400, "invalid_grant", "Token has been expired or revoked.")
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if refused := g.assertion(form.Get("assertion")); refused != nil {
			return *refused
		}
	default:
		return oauthError(400, "unsupported_grant_type", "Invalid grant_type: "+form.Get("grant_type"))
	}
	token := g.id("ya29.fake-")
	g.tokens[token] = g.clock().Add(tokenLife)
	return Answer{Status: 200, Body: encode(map[string]any{
		"access_token": token, "expires_in": int(tokenLife.Seconds()), "scope": googleScope, "token_type": "Bearer",
	})}
}

func oauthError(status int, code, description string) Answer {
	return Answer{Status: status, Body: encode(map[string]any{"error": code, "error_description": description})}
}

// assertion checks a signed JWT; nil when it is good. The texts are [unverified] but that of the scope, which was seen.
func (g *Google) assertion(signed string) *Answer {
	account, now := g.account.OAuth, g.clock().Unix()
	invalid := func(why string) *Answer { return new(oauthError(400, "invalid_grant", "Invalid JWT: "+why)) }
	parts := strings.Split(signed, ".")
	if len(parts) != 3 || account.ServiceKey == nil {
		return invalid("three parts of an account that is known")
	}
	decoded := make([][]byte, 3)
	for i, part := range parts {
		var err error
		if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return invalid("base64url without padding")
		}
	}
	header, err1 := decode(decoded[0])
	claims, err2 := decode(decoded[1])
	sum := hash.Sum256([]byte(parts[0] + "." + parts[1]))
	audience := account.Audience
	if audience == "" {
		audience = googleTokenURL
	}
	issued, ends := whole(claims, "iat"), whole(claims, "exp")
	switch {
	case err1 != nil || err2 != nil || text(header, "alg") != "RS256":
		return invalid("JSON, signed by RS256")
	case rsa.VerifyPKCS1v15(account.ServiceKey, crypto.SHA256, sum[:], decoded[2]) != nil || text(claims, "iss") != account.ServiceEmail:
		return new(oauthError(400, "invalid_grant", "Invalid JWT Signature."))
	case text(claims, "aud") != audience:
		return invalid("aud must be " + audience)
	case issued > now+300 || ends <= now || ends > issued+3600: // at most an hour [oauth service-account]; the clock's tolerance [unverified]
		return invalid("Token must be a short-lived token (60 minutes) and in a reasonable timeframe.")
	case !slices.Contains(strings.Fields(text(claims, "scope")), googleScope):
		return new(oauthError(400, "invalid_scope", "Invalid OAuth scope or ID token audience provided."))
	}
	return nil
}
