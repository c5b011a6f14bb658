package vtex

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
)

// secretHeader is the header that Subscribe asks VTEX to send with each notice: VTEX signs none.
const secretHeader = "X-Tributary-Hook" //nolint:gosec // the name of a header

// Notices takes what has the connection's secret in its header and names the connection's account. The ping by which VTEX tests an
// address says nothing and is answered, with the secret or without.
// Source: developers.vtex.com/docs/guides/orders-feed, "Hook".
func (*vtex) Notices(d platform.Delivery) ([]platform.Notice, error) {
	var body struct {
		Ping    string `json:"hookConfig"`
		OrderID string `json:"OrderId"`
		State   string `json:"State"`
		Origin  struct {
			Account string `json:"Account"`
		} `json:"Origin"`
	}
	unread := json.Unmarshal(d.Body, &body)
	if unread == nil && body.Ping == "ping" && body.OrderID == "" {
		return nil, nil
	}
	given, wanted := sha256.Sum256([]byte(d.Header.Get(secretHeader))), sha256.Sum256([]byte(d.Secret))
	if d.Secret == "" || subtle.ConstantTimeCompare(given[:], wanted[:]) != 1 {
		return nil, platform.ErrForged
	}
	if unread != nil {
		return nil, nil
	}
	if d.Shop == "" || !strings.EqualFold(body.Origin.Account, d.Shop) {
		return nil, platform.ErrForged
	}
	if !soundID(body.OrderID) || noStatus(body.State) {
		return nil, nil
	}
	return []platform.Notice{{Kind: platform.NoticeOrder, OrderID: body.OrderID}}, nil
}

// soundID: ids are put into addresses.
func soundID(id string) bool {
	return id != "" && len(id) <= 100 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == ""
}
