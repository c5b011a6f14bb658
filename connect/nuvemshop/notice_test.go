package nuvemshop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/connect/platform"
)

const secret = "an app's client secret"

func sum(secret, body string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

func delivery(signed, body string) platform.Delivery {
	return platform.Delivery{Header: http.Header{http.CanonicalHeaderKey(signature): {signed}}, Body: []byte(body), AppSecrets: []string{"",
		secret}, Shop: store}
}

func TestWhatNuvemshopSigns(t *testing.T) {
	// A vector made with openssl: printf %s '{"store_id":4420001,"event":"order/paid","id":1948209}' | openssl dgst -sha256 -hmac "$secret"
	const body, vector = `{"store_id":4420001,"event":"order/paid","id":1948209}`,
		"9e6b79f935c1fdc8b15845abaab86e9f8346828bd43b6049901933f1e936d200"
	for name, c := range map[string]struct {
		signed string
		ok     bool
	}{
		"hexadecimal, as documented": {vector, true},
		"base64":                     {base64.StdEncoding.EncodeToString(sum(secret, body)), false},
		"another secret":             {hex.EncodeToString(sum("another", body)), false},
		"an empty secret":            {hex.EncodeToString(sum("", body)), false},
		"another body":               {hex.EncodeToString(sum(secret, body+" ")), false},
		"cut":                        {vector[:62], false},
		"none":                       {"", false},
	} {
		notices, err := nuvemshop{}.Notices(delivery(c.signed, body))
		if c.ok && (err != nil || !reflect.DeepEqual(notices, []platform.Notice{{Kind: platform.NoticeOrder, OrderID: "1948209"}})) {
			t.Errorf("%s: %v, %v", name, notices, err)
		}
		if !c.ok && !errors.Is(err, platform.ErrForged) {
			t.Errorf("%s: %v, %v", name, notices, err)
		}
	}
	own := delivery(hex.EncodeToString(sum("the merchant's own app", body)), body)
	own.Secret = nuvemshop{}.NoticeSecret(platform.Credentials{fieldSecret: "the merchant's own app"})
	if notices, err := (nuvemshop{}).Notices(own); err != nil || len(notices) != 1 {
		t.Errorf("the merchant's own app: %v, %v", notices, err)
	}
}

func TestWhatNoticesSay(t *testing.T) {
	person := platform.Person{CustomerID: "1", Email: "carla@example.com", Phone: "+5511900000001", OrderIDs: []string{"213", "3415"}}
	for body, want := range map[string][]platform.Notice{
		`{"store_id":4420001,"event":"order/created","id":9007199254740993}`: {{Kind: platform.NoticeOrder, OrderID: "9007199254740993"}},
		`{"store_id":4420001,"event":"order/edited","id":"17"}`:              {{Kind: platform.NoticeOrder, OrderID: "17"}},
		`{"store_id":4420001,"event":"order/created"}`:                       nil,
		`{"store_id":4420001,"event":"product/created","id":1}`:              nil,
		`{"store_id":4420001,"event":"domain/updated"}`:                      nil,
		`{"store_id":4420001,"event":"app/uninstalled","id":5}`:              {{Kind: platform.NoticeUninstalled}},
		`{"store_id":4420001,"event":"app/suspended"}`:                       {{Kind: platform.NoticeSuspended}},
		`{"store_id":4420001,"event":"app/resumed"}`:                         {{Kind: platform.NoticeResumed}},
		`{"store_id":4420001}`:                                               {{Kind: platform.NoticeRedactShop}},
		`{"store_id":"4420001"}`:                                             {{Kind: platform.NoticeRedactShop}},
		`{"store_id":4420001,"id":3}`:                                        nil,
		`{"store_id":4420001,"customer":{"id":1,"email":"carla@example.com","phone":"+5511900000001","identification":"0"},` +
			`"orders_to_redact":[213,3415]}`: {{Kind: platform.NoticeRedact,
			Person: person}},
		`{"store_id":4420001,"customer":{"id":1,"email":"carla@example.com","phone":"+5511900000001"},"orders_requested":[213,3415],` +
			`"checkouts_requested":[1],"drafts_orders_requested":[2],"data_request":{"id":456}}`: {{Kind: platform.NoticeDataRequest,
			Person: person}},
		`not JSON`: nil,
	} {
		notices, err := nuvemshop{}.Notices(delivery(hex.EncodeToString(sum(secret, body)), body))
		if err != nil || !reflect.DeepEqual(notices, want) {
			t.Errorf("%s: %+v, %v", body, notices, err)
		}
	}
}

// One secret signs for all shops that installed the app: the notice of another shop is none of this connection.
func TestANoticeOfAnotherShopIsRefused(t *testing.T) {
	for _, body := range []string{`{"store_id":4420002,"event":"app/uninstalled"}`, `{"store_id":4420002}`, `{"event":"order/paid","id":1}`,
		`{"store_id":null,"event":"order/paid","id":1}`} {
		if notices, err := (nuvemshop{}).Notices(delivery(hex.EncodeToString(sum(secret, body)), body)); !errors.Is(err, platform.ErrForged) {
			t.Errorf("%s: %v, %v", body, notices, err)
		}
	}
	unknown := delivery(hex.EncodeToString(sum(secret, `{"event":"order/paid","id":1}`)), `{"event":"order/paid","id":1}`)
	unknown.Shop = ""
	if notices, err := (nuvemshop{}).Notices(unknown); !errors.Is(err, platform.ErrForged) {
		t.Errorf("a shop that is not known yet: %v, %v", notices, err)
	}
}

func TestAPrivacyNoticeNamesABoundedNumberOfOrders(t *testing.T) {
	body := `{"store_id":4420001,"customer":{"id":1},"orders_to_redact":[` + strings.Repeat("7,", 5000) + `7]}`
	notices, err := nuvemshop{}.Notices(delivery(hex.EncodeToString(sum(secret, body)), body))
	if err != nil || len(notices) != 1 || len(notices[0].Person.OrderIDs) != maxOrders {
		t.Errorf("%d notices, %v", len(notices), err)
	}
}

func TestTheShopOfANoticeOfTheApp(t *testing.T) {
	for name, c := range map[string]struct {
		body, secret, want string
		forged             bool
	}{
		"a customer's":      {`{"store_id":4420001,"customer":{"id":1},"orders_to_redact":[]}`, secret, "4420001", false},
		"as text":           {`{"store_id":"4420001"}`, secret, "4420001", false},
		"no shop":           {`{"customer":{"id":1}}`, secret, "", false},
		"no JSON":           {`store_id`, secret, "", false},
		"another secret":    {`{"store_id":4420001}`, "another", "", true},
		"merchant's secret": {`{"store_id":4420001}`, "the merchant's own app", "", true},
		"an empty secret":   {`{"store_id":4420001}`, "", "", true},
	} {
		d := delivery(hex.EncodeToString(sum(c.secret, c.body)), c.body)
		d.Shop, d.Secret = "", "the merchant's own app"
		if shop, err := (nuvemshop{}).NoticedShop(d); shop != c.want || errors.Is(err, platform.ErrForged) != c.forged {
			t.Errorf("%s: %q, %v", name, shop, err)
		}
	}
}
