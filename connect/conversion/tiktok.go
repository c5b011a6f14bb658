package conversion

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tributary-io/tributary/internal/commerce"
)

// TikTok's Events API 2.0 (business-api.tiktok.com/portal/docs, "Events API 2.0").
const tiktokTrack = "https://business-api.tiktok.com/open_api/v1.3/event/track/"

type tiktokBody struct {
	Source string        `json:"event_source"`
	ID     string        `json:"event_source_id"`
	Test   string        `json:"test_event_code,omitempty"`
	Data   []tiktokEvent `json:"data"`
}

type tiktokEvent struct {
	Name string     `json:"event"`
	Time int64      `json:"event_time"` // seconds
	ID   string     `json:"event_id"`
	User tiktokUser `json:"user"`
	Sale tiktokSale `json:"properties"`
	Page struct {
		URL string `json:"url,omitempty"`
	} `json:"page,omitzero"`
}

type tiktokUser struct {
	Email     string `json:"email,omitempty"`
	Phone     string `json:"phone,omitempty"`
	ID        string `json:"external_id,omitempty"`
	Click     string `json:"ttclid,omitempty"`
	Page      string `json:"ttp,omitempty"`
	IP        string `json:"ip,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
}

type tiktokSale struct {
	OrderID  string          `json:"order_id"`
	Currency string          `json:"currency"`
	Value    commerce.Amount `json:"value"`
	Type     string          `json:"content_type,omitempty"`
	Contents []tiktokItem    `json:"contents,omitempty"`
}

type tiktokItem struct {
	ID       string      `json:"content_id"`
	Quantity int64       `json:"quantity"`
	Price    json.Number `json:"price,omitempty"`
}

func tiktokRequest(c Conversion, a Account) (Request, error) {
	p := c.Person
	event := tiktokEvent{Name: "Purchase", Time: c.At.Unix(), ID: c.eventID(),
		User: tiktokUser{Email: hashed(email(p.Email)), Phone: hashed(plusPhone(p.Phone)), ID: hashed(p.CustomerID), Click: c.Clicks.TikTok,
			Page: c.Clicks.TikTokPage,
			IP:   p.IP, UserAgent: p.UserAgent},
		Sale: tiktokSale{OrderID: c.OrderID, Currency: c.Value.Currency, Value: c.Value},
	}
	event.Page.URL = c.PageURL
	if u := event.User; u.Email == "" && u.Phone == "" && u.ID == "" && u.Click == "" && u.Page == "" && (u.IP == "" || u.UserAgent == "") {
		return Request{}, ErrNobody
	}
	for _, item := range c.Items {
		event.Sale.Type = "product"
		event.Sale.Contents = append(event.Sale.Contents, tiktokItem(item))
	}
	r, err := encode(tiktokTrack, tiktokBody{Source: "web", ID: a.ID, Test: a.Test, Data: []tiktokEvent{event}})
	if err == nil {
		r.Header.Set("Access-Token", a.Secret)
	}
	return r, err
}

// Codes of the API ("Return codes" of its documentation): one that is not 0 is an error, also with the status 200.
const (
	tiktokLimits  = 40100 // too many requests
	tiktokTokens  = 40101 // to 40105: the access token
	tiktokTokens2 = 40105
	tiktokDenied  = 40001 // no permission
	tiktokSystem  = 50000 // and above: of the system
)

func tiktokAnswer(status int, body []byte) Outcome {
	var answer struct {
		Code    *int   `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Code == nil {
		return unlike(status)
	}
	code := *answer.Code
	words := fmt.Sprintf("%d %s", code, answer.Message)
	switch {
	case code == 0:
		return byStatus(status, http.StatusText(status))
	case code == tiktokLimits || code >= tiktokSystem:
		return Outcome{Verdict: Later, Words: words}
	case code >= tiktokTokens && code <= tiktokTokens2 || code == tiktokDenied:
		return Outcome{Verdict: Stopped, Words: words}
	}
	return Outcome{Verdict: Refused, Words: words}
}
