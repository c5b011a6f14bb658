package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
)

// errSecret refuses a text that is no secret.
var errSecret = errors.New("webhook: a secret is whsec_ and base64 of 24 to 64 bytes")

// Sign returns the header webhook-signature of a message: one signature for each secret, the first one's first.
func Sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	if len(secrets) == 0 {
		return "", errSecret
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		text, found := strings.CutPrefix(secret, account.WebhookSecretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if !found || err != nil || len(key) < 24 || len(key) > 64 {
			return "", errSecret
		}
		sum := hmac.New(sha256.New, key)
		sum.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		sum.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}
