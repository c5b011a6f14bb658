package conversion

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Meta's Conversions API: developers.facebook.com/documentation/ads-commerce/conversions-api (using-the-api and parameters, 2026-02).
const metaBase = "https://graph.facebook.com/v25.0/"

type metaBody struct {
	Data  []metaEvent `json:"data"`
	Token string      `json:"access_token"` // not in the URL, which is logged more easily
	Test  string      `json:"test_event_code,omitempty"`
}

type metaEvent struct {
	Name   string   `json:"event_name"`
	Time   int64    `json:"event_time"` // seconds
	ID     string   `json:"event_id"`
	Source string   `json:"action_source"`
	URL    string   `json:"event_source_url,omitempty"`
	User   metaUser `json:"user_data"`
	Custom metaSale `json:"custom_data"`
}

type metaUser struct {
	Email      []string `json:"em,omitempty"`
	Phone      []string `json:"ph,omitempty"`
	GivenName  []string `json:"fn,omitempty"`
	FamilyName []string `json:"ln,omitempty"`
	City       []string `json:"ct,omitempty"`
	State      []string `json:"st,omitempty"`
	Zip        []string `json:"zp,omitempty"`
	Country    []string `json:"country,omitempty"`
	Birthdate  []string `json:"db,omitempty"`
	ID         []string `json:"external_id,omitempty"`
	IP         string   `json:"client_ip_address,omitempty"`
	UserAgent  string   `json:"client_user_agent,omitempty"`
	Click      string   `json:"fbc,omitempty"`
	Page       string   `json:"fbp,omitempty"`
}

// known reports whether Meta may find somebody by it: a country or a browser alone is nobody.
func (u metaUser) known() bool {
	return len(u.Email)+len(u.Phone)+len(u.ID) > 0 || u.Click != "" || u.Page != "" || u.IP != "" && u.UserAgent != ""
}

type metaSale struct {
	Currency string          `json:"currency"`
	Value    commerce.Amount `json:"value"`
	OrderID  string          `json:"order_id"`
	Type     string          `json:"content_type,omitempty"`
	Contents []metaItem      `json:"contents,omitempty"`
	Count    int64           `json:"num_items,omitempty"`
}

type metaItem struct {
	ID       string      `json:"id"`
	Quantity int64       `json:"quantity"`
	Price    json.Number `json:"item_price,omitempty"`
}

func metaRequest(c Conversion, a Account) (Request, error) {
	p := c.Person
	given, family := names(p.Name)
	user := metaUser{
		Email: list(hashed(email(p.Email))), Phone: list(hashed(metaPhone(p.Phone))), GivenName: list(hashed(metaName(given))),
		FamilyName: list(hashed(metaName(family))), City: list(hashed(metaWord(p.City))), State: list(hashed(metaCode(p.State))),
		Zip: list(hashed(metaZip(p.Zip))), Country: list(hashed(metaCode(p.Country))),
		Birthdate: list(hashed(only(p.Birthdate, isDigit))), ID: list(hashed(metaID(p.CustomerID))),
		IP: p.IP, UserAgent: p.UserAgent, Page: c.Clicks.MetaPage,
	}
	if c.Clicks.Meta != "" && !c.Clicks.MetaAt.IsZero() {
		user.Click = fmt.Sprintf("fb.1.%d.%s", c.Clicks.MetaAt.UnixMilli(), c.Clicks.Meta)
	}
	if !user.known() {
		return Request{}, ErrNobody
	}
	// An event of a website must have its page and its browser.
	source := "website"
	if c.PageURL == "" || p.UserAgent == "" {
		source = "other"
	}
	sale := metaSale{Currency: c.Value.Currency, Value: c.Value, OrderID: c.OrderID, Count: c.quantity()}
	for _, item := range c.Items {
		sale.Type = "product"
		sale.Contents = append(sale.Contents, metaItem(item))
	}
	return encode(metaBase+url.PathEscape(a.ID)+"/events", metaBody{Token: a.Secret, Test: a.Test, Data: []metaEvent{{
		Name: "Purchase", Time: c.At.Unix(), ID: c.eventID(), Source: source, URL: c.PageURL, User: user, Custom: sale}}})
}

// Codes of errors of the Graph API (developers.facebook.com/docs/graph-api/guides/error-handling): the access token, permissions, limits.
const (
	metaToken      = 190
	metaPermission = 10
	metaSession    = 102
	metaSignature  = 104
	metaParameter  = 100
	metaObject     = 33  // of a parameter: the account is not there, or the access token does not reach it
	metaDenied     = 200 // to 299
	metaDeniedEnd  = 299
)

var metaLimits = map[int]bool{1: true, 2: true, 4: true, 17: true, 32: true, 341: true, 368: true, 613: true, 80004: true}

func metaAnswer(status int, body []byte) Outcome {
	var answer struct {
		Received *int `json:"events_received"`
		Error    struct {
			Message   string `json:"message"`
			Title     string `json:"error_user_title"`
			User      string `json:"error_user_msg"`
			Code      int    `json:"code"`
			Subcode   int    `json:"error_subcode"`
			Transient bool   `json:"is_transient"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Code == 0 && answer.Received == nil {
		return unlike(status)
	}
	e := answer.Error
	if e.Code == 0 {
		return byStatus(status, http.StatusText(status))
	}
	words := e.Message
	if e.User != "" {
		words = e.Title + ": " + e.User
	}
	switch {
	case e.Transient || metaLimits[e.Code] || e.Code < 0: // below zero: internal
		return Outcome{Verdict: Later, Words: words}
	case e.Code == metaToken || e.Code == metaSession || e.Code == metaSignature || e.Code == metaParameter && e.Subcode == metaObject ||
		e.Code == metaPermission || e.Code >= metaDenied && e.Code <= metaDeniedEnd:
		return Outcome{Verdict: Stopped, Words: words}
	}
	return Outcome{Verdict: Refused, Words: words}
}
