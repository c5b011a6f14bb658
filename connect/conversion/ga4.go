package conversion

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/tributary-io/tributary/internal/commerce"
)

// GA4's Measurement Protocol: developers.google.com/analytics/devguides/collection/protocol/ga4 (reference, reference/events,
// uid-data and sending-events?client_type=gtag#limitations).
const (
	ga4Collect = "https://www.google-analytics.com/mp/collect"
	ga4Check   = "https://www.google-analytics.com/debug/mp/collect" // says what is wrong, and stores nothing

	ga4Text  = 100 // characters of a value
	ga4Items = 200
)

type ga4Body struct {
	Client  string      `json:"client_id"`
	Micros  int64       `json:"timestamp_micros"`
	Consent *ga4Consent `json:"consent"`
	User    *ga4User    `json:"user_data,omitempty"`
	Events  []ga4Event  `json:"events"`
	// Only where it is checked: unknown names and wrong values are told then.
	Strict string `json:"validation_behavior,omitempty"`
}

// ga4Consent is what the shopper agreed to: what comes here is about shoppers who agreed to this network, of personal ads nothing is known.
type ga4Consent struct {
	UserData        string `json:"ad_user_data"`
	Personalization string `json:"ad_personalization"`
}

type ga4User struct {
	Email   []string     `json:"sha256_email_address,omitempty"`
	Phone   []string     `json:"sha256_phone_number,omitempty"`
	Address []ga4Address `json:"address,omitempty"`
}

type ga4Address struct {
	GivenName  string `json:"sha256_first_name"`
	FamilyName string `json:"sha256_last_name"`
	City       string `json:"city,omitempty"`
	Region     string `json:"region,omitempty"`
	Zip        string `json:"postal_code"`
	Country    string `json:"country"`
}

type ga4Event struct {
	Name   string  `json:"name"`
	Params ga4Sale `json:"params"`
}

type ga4Sale struct {
	OrderID  string           `json:"transaction_id"`
	Currency string           `json:"currency"`
	Value    commerce.Amount  `json:"value"`
	Shipping *commerce.Amount `json:"shipping,omitempty"`
	Tax      *commerce.Amount `json:"tax,omitempty"`
	Coupon   string           `json:"coupon,omitempty"`
	Items    []ga4Item        `json:"items"`
	Session  string           `json:"session_id,omitempty"`
	Engaged  int              `json:"engagement_time_msec"` // without it a session does not count as one with a person
}

type ga4Item struct {
	ID       string      `json:"item_id"`
	Quantity int64       `json:"quantity"`
	Price    json.Number `json:"price,omitempty"`
}

// ga4Name is a name or a city in lower case without digits and symbols (uid-data).
func ga4Name(raw string) string {
	return googleName(only(raw, func(r rune) bool { return !unicode.IsDigit(r) }))
}

// cut is a text with at most so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// ga4Session is the shopper's session in a stream, of which the measurement id is "G-" and its name; "" where it is not known.
func ga4Session(sessions, measurementID string) string {
	for session := range strings.FieldsSeq(sessions) {
		if began, ok := strings.CutPrefix(session, strings.TrimPrefix(measurementID, "G-")+"."); ok {
			return began
		}
	}
	return ""
}

func ga4Request(c Conversion, a Account) (Request, error) {
	if c.Clicks.Client == "" {
		return Request{}, ErrNobody
	}
	// "Don't include shipping or tax" (reference/events, purchase and refund). Both are contained in our value.
	value := c.Value
	for _, part := range []*commerce.Amount{c.Shipping, c.Tax} {
		if part != nil {
			value.Minor = max(0, value.Minor-part.Minor)
		}
	}
	sale := ga4Sale{OrderID: c.OrderID, Currency: c.Value.Currency, Value: value, Shipping: c.Shipping, Tax: c.Tax,
		Coupon: cut(c.Coupon, ga4Text), Items: []ga4Item{}, Engaged: 1}
	if c.Type == Purchase { // a refund is none of the session's
		sale.Session = ga4Session(c.Clicks.Sessions, a.ID)
	}
	for _, item := range c.Items[:min(len(c.Items), ga4Items)] {
		sale.Items = append(sale.Items, ga4Item{cut(item.ID, ga4Text), item.Quantity, item.Price})
	}
	body := ga4Body{Client: c.Clicks.Client, Micros: c.At.UnixMicro(), Consent: &ga4Consent{"GRANTED", "DENIED"},
		Events: []ga4Event{{string(c.Type), sale}}}
	p := c.Person
	given, family := names(p.Name)
	user := ga4User{Email: list(hashed(googleEmail(p.Email))), Phone: list(hashed(plusPhone(p.Phone)))}
	if given, family = hashed(ga4Name(given)), hashed(ga4Name(family)); given != "" && family != "" && p.Country != "" && p.Zip != "" {
		user.Address = []ga4Address{{given, family, ga4Name(p.City), googleCode(p.State), strings.TrimSpace(p.Zip), googleCode(p.Country)}}
	}
	if len(user.Email)+len(user.Phone)+len(user.Address) > 0 {
		body.User = &user
	}
	base := ga4Collect
	if a.Test != "" {
		base, body.Strict = ga4Check, "ENFORCE_RECOMMENDATIONS"
	}
	return encode(base+"?"+url.Values{"measurement_id": {a.ID}, "api_secret": {a.Secret}}.Encode(), body)
}

// ga4Answer reads an answer. A real event is always taken, whatever is wrong with it: only one that is checked has an answer with words.
func ga4Answer(status int, body []byte) Outcome {
	var answer struct {
		Messages []struct {
			Field       string `json:"fieldPath"`
			Description string `json:"description"`
			Code        string `json:"validationCode"`
		} `json:"validationMessages"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Messages) == 0 || status/100 != 2 {
		return byStatus(status, http.StatusText(status))
	}
	m := answer.Messages[0]
	return Outcome{Verdict: Refused, Words: strings.TrimSpace(m.Code + " " + m.Field + ": " + m.Description)}
}
