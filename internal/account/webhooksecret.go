package account

import (
	"encoding/base64"
	"io"

	"github.com/tributary-io/tributary/internal/commerce"
)

// WebhookSecretPrefix begins the text of a webhook endpoint's secret, as Standard Webhooks 1.0.0 writes it. Base64 of 24 to 64 bytes
// follows.
const WebhookSecretPrefix = "whsec_"

// webhookSecretBytes is how long a new secret is.
const webhookSecretBytes = 32

// NewWebhookSecret makes a secret of a webhook endpoint, and seals it to the connect service of an offer. The text is for the merchant,
// who sees it once: nobody else keeps it.
func NewWebhookSecret(random io.Reader, offer commerce.ConnectOffer, companyID, endpointID string,
) (text string, sealed commerce.SealedSecret, err error) {
	raw := make([]byte, webhookSecretBytes)
	if _, err = io.ReadFull(random, raw); err != nil {
		return "", sealed, err
	}
	text = WebhookSecretPrefix + base64.StdEncoding.EncodeToString(raw)
	sealed, err = sealTo(offer, SealedFor{CompanyID: companyID, ConnectionID: endpointID, Purpose: SealWebhook}, text)
	return text, sealed, err
}

// SealNetworkSecret seals what an account at a network is entered by to the connect service of an offer: nobody else can read it again.
func SealNetworkSecret(offer commerce.ConnectOffer, companyID, networkID, secret string) (commerce.SealedSecret, error) {
	return sealTo(offer, SealedFor{CompanyID: companyID, ConnectionID: networkID, Purpose: SealNetwork}, secret)
}

func sealTo(offer commerce.ConnectOffer, f SealedFor, text string) (commerce.SealedSecret, error) {
	sealed, err := Seal(offer.PublicKey, offer.KeyID, f, []byte(text))
	return commerce.SealedSecret{KeyID: offer.KeyID, Sealed: sealed}, err
}
