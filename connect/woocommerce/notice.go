package woocommerce

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
)

// Headers of a delivery (WooCommerce REST API, "Webhooks", "Delivery/payload"): the base64 of the HMAC-SHA256 of the body by the
// webhook's secret, and the topic.
const (
	signature = "X-WC-Webhook-Signature"
	topic     = "X-WC-Webhook-Topic"
)

// ping is the body, without a signature, that WooCommerce sends when a webhook is saved (class-wc-webhook.php).
var ping = regexp.MustCompile(`^webhook_id=[0-9]{1,20}$`)

// Notices reads a delivery. Its topic is not signed, and only says whether the body is an order.
func (woocommerce) Notices(d platform.Delivery) ([]platform.Notice, error) {
	signed := strings.TrimSpace(d.Header.Get(signature))
	if signed == "" && ping.Match(d.Body) {
		return nil, nil
	}
	sum, err := base64.StdEncoding.Strict().DecodeString(signed)
	if err != nil || !platform.Signed(d.Body, sum, d.Secret) {
		return nil, platform.ErrForged
	}
	var o struct {
		ID platform.Scalar `json:"id"`
	}
	if !strings.HasPrefix(d.Header.Get(topic), "order.") || json.Unmarshal(d.Body, &o) != nil {
		return nil, nil
	}
	if id := platform.KnownID(o.ID); id != "" {
		return []platform.Notice{{Kind: platform.NoticeOrder, OrderID: id}}, nil
	}
	return nil, nil
}
