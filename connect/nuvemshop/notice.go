package nuvemshop

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
)

// signature is the header with the HMAC-SHA256 of the body by the app's client secret, in hexadecimal digits
// (TiendaNube/api-docs, "Webhook", "Verifying a webhook").
const signature = "X-Linkedstore-HMAC-SHA256"

// maxOrders bounds the orders that a privacy notice names.
const maxOrders = 1000

// notice is the body of a webhook. The three of privacy have no event: they are told by their fields ("Webhook", "Required
// Webhooks").
type notice struct {
	StoreID     platform.Scalar                `json:"store_id"`
	Event       string                         `json:"event"`
	ID          platform.Scalar                `json:"id"`
	Customer    platform.Object[customer]      `json:"customer"`
	ToRedact    platform.List[platform.Scalar] `json:"orders_to_redact"`
	Requested   platform.List[platform.Scalar] `json:"orders_requested"`
	DataRequest json.RawMessage                `json:"data_request"`
}

// signed tells that one of the secrets signed a webhook.
func signed(d platform.Delivery, secrets ...string) bool {
	sum, err := hex.DecodeString(strings.TrimSpace(d.Header.Get(signature)))
	return err == nil && platform.Signed(d.Body, sum, secrets...)
}

// NoticedShop is the shop of a webhook that came to the app's address.
func (nuvemshop) NoticedShop(d platform.Delivery) (string, error) {
	if !signed(d, d.AppSecrets...) {
		return "", platform.ErrForged
	}
	var n notice
	if json.Unmarshal(d.Body, &n) != nil {
		return "", nil
	}
	return platform.KnownID(n.StoreID), nil
}

// Notices reads a webhook. The secret is the client secret of the app: the operator's, or the merchant's own.
func (nuvemshop) Notices(d platform.Delivery) ([]platform.Notice, error) {
	if !signed(d, append([]string{d.Secret}, d.AppSecrets...)...) {
		return nil, platform.ErrForged
	}
	var n notice
	if json.Unmarshal(d.Body, &n) != nil {
		return nil, nil // signed, and not as documented: polling finds what it was for
	}
	if n.StoreID.Text == "" || n.StoreID.Text != d.Shop { // one secret signs for all shops of an app
		return nil, platform.ErrForged
	}
	return n.read(), nil
}

func (n *notice) read() []platform.Notice {
	kind, orders := n.kind(), n.ToRedact.Values
	switch kind {
	case "":
		return nil
	case platform.NoticeOrder:
		id, err := platform.ID("id", n.ID)
		if err != nil {
			return nil
		}
		return []platform.Notice{{Kind: kind, OrderID: id}}
	case platform.NoticeDataRequest:
		orders = n.Requested.Values
	case platform.NoticeRedact:
	default:
		return []platform.Notice{{Kind: kind}}
	}
	c := n.Customer.Value
	person := platform.Person{CustomerID: platform.KnownID(c.ID), Email: platform.Text(c.Email.Text, 512),
		Phone: platform.Text(c.Phone.Text, 255)}
	for _, id := range orders {
		if known := platform.KnownID(id); known != "" && len(person.OrderIDs) < maxOrders {
			person.OrderIDs = append(person.OrderIDs, known)
		}
	}
	return []platform.Notice{{Kind: kind, Person: person}}
}

// kind is what the notice is about; empty: nothing of ours.
func (n *notice) kind() string {
	switch n.Event {
	case "app/uninstalled":
		return platform.NoticeUninstalled
	case "app/suspended":
		return platform.NoticeSuspended
	case "app/resumed":
		return platform.NoticeResumed
	case "customers/redact":
		return platform.NoticeRedact
	case "customers/data_request":
		return platform.NoticeDataRequest
	case "store/redact":
		return platform.NoticeRedactShop
	case "":
		switch {
		case len(n.DataRequest) > 0 || n.Requested.Values != nil:
			return platform.NoticeDataRequest
		case n.ToRedact.Values != nil || n.Customer.Value != (customer{}):
			return platform.NoticeRedact
		case n.ID == (platform.Scalar{}):
			return platform.NoticeRedactShop
		}
	}
	if strings.HasPrefix(n.Event, "order/") {
		return platform.NoticeOrder
	}
	return ""
}
