package yampi

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
)

// NoticeSecret is the secret that Yampi's panel shows for the webhook.
func (yampi) NoticeSecret(c platform.Credentials) string { return c["webhook_secret"] }

// Notices checks the HMAC-SHA256 of the raw body in base64, and that it names this shop.
// Source: docs.yampi.com.br/api-reference/webhooks, "Segurança".
func (yampi) Notices(d platform.Delivery) ([]platform.Notice, error) {
	signature, err := base64.StdEncoding.DecodeString(d.Header.Get("X-Yampi-Hmac-Sha256"))
	if err != nil || !platform.Signed(d.Body, signature, d.Secret) {
		return nil, platform.ErrForged
	}
	var body struct {
		Event    string `json:"event"`
		Merchant struct {
			Alias string `json:"alias"`
		} `json:"merchant"`
		Resource struct {
			ID json.Number `json:"id"`
		} `json:"resource"`
	}
	if json.Unmarshal(d.Body, &body) != nil {
		return nil, nil
	}
	if d.Shop == "" || body.Merchant.Alias != "" && !strings.EqualFold(body.Merchant.Alias, d.Shop) {
		return nil, platform.ErrForged
	}
	switch body.Event {
	case "order.created", "order.paid", "order.updated", "order.status.updated":
		if id := string(body.Resource.ID); soundID(id) {
			return []platform.Notice{{Kind: platform.NoticeOrder, OrderID: id}}, nil
		}
	}
	return nil, nil
}
