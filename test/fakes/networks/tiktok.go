package networks

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// TikTokAccount is a pixel and who may write to it.
type TikTokAccount struct {
	Pixel, Token string
	Custom       []string // names of the merchant's own properties
}

// TikTok stands for business-api.tiktok.com. How old an event may be is documented nowhere: any age is taken.
type TikTok struct {
	Network
	account TikTokAccount
}

// NewTikTok makes a pixel without events.
func NewTikTok(account TikTokAccount, clock func() time.Time) *TikTok {
	return &TikTok{Network: newNetwork(clock), account: account}
}

// What TikTok answers when it is the network's turn to fail: HTTP 200 with a code [seen rudder-transformer, airbyte].
var (
	TikTokThrottled = tikTokAnswer(40100, "Too many requests. Please retry in some time.")
	TikTokInternal  = tikTokAnswer(50000, "System error") // [unverified]
	tikTokBadToken  = tikTokAnswer(40105, "Access token is incorrect or has been revoked.")
)

func tikTokAnswer(code int, format string, args ...any) Answer {
	return Answer{Status: 200, Body: encode(map[string]any{
		"code": code, "message": fmt.Sprintf(format, args...), "request_id": "2026fake", "data": map[string]any{},
	})}
}

// What [tiktok sdk] and the open senders of Stape and RudderStack name: the portal's own page is not public text.
var (
	tikTokUser = object{
		"email": "strings", "phone": "strings", "external_id": "strings", "ttclid": "string", "ttp": "string", "ip": "string",
		"user_agent": "string", "locale": "string", "idfa": "string", "idfv": "string", "gaid": "string", "att_status": "string",
		"first_name": "string", "last_name": "string", "city": "string", "state": "string", "country": "string", "zip_code": "string",
	}
	tikTokContent = object{
		"price": "number", "quantity": "integer", "content_id": "string", "content_category": "string", "content_name": "string",
		"brand": "string", "content_type": "string",
	}
	tikTokProperties = object{
		"contents": []any{tikTokContent}, "content_type": "string", "content_ids": []any{"string"}, "currency": "string", "value": "number",
		"num_items": "integer", "query": "string", "description": "string", "order_id": "string", "shop_id": "string", "status": "string",
	}
	tikTokEvent = object{
		"event": "string", "event_time": "integer", "event_id": "string", "user": tikTokUser, "properties": "any",
		"page": object{"url": "string", "referrer": "string"}, "app": "any", "ad": "any", "lead": "any", "limited_data_use": "bool",
	}
	tikTokRequest = object{
		"event_source": "string", "event_source_id": "string", "test_event_code": "string", "partner_name": "string",
		"data": []any{tikTokEvent},
	}
	tikTokHashed = []string{"email", "phone", "external_id", "first_name", "last_name", "zip_code"}
)

// ServeHTTP serves POST /open_api/v1.3/event/track/.
func (t *TikTok) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.serve(w, r, t.take) }

func (t *TikTok) take(r *http.Request, body []byte) Answer {
	if r.URL.Path != "/open_api/v1.3/event/track/" || r.Method != http.MethodPost { // plain text [seen a list of probed routes, 2026-09-05]
		return Answer{Status: 404, Header: map[string]string{"Content-Type": "text/plain"}, Body: "Not Found"}
	}
	if r.Header.Get("Access-Token") != t.account.Token {
		return tikTokBadToken
	}
	request, err := decode(body)
	if err != nil {
		return tikTokAnswer(40002, "Invalid JSON: %v", err) // the text [unverified]
	}
	pixel, data := text(request, "event_source_id"), []any(nil)
	data, _ = request["data"].([]any)
	switch {
	case !slices.Contains([]string{"web", "app", "offline", "crm"}, text(request, "event_source")): // [seen docs of a sender, 2025]
		return tikTokAnswer(40002, "Invalid value for event_source")
	case pixel == "":
		return tikTokAnswer(40002, "Invalid value for event_source_id: not a valid string.") // [seen Omega-JS-Stack/omega]
	case pixel != t.account.Pixel: // [seen rudder-transformer]
		return tikTokAnswer(40001, "No permission to operate pixel code: %s. You must be an admin or operator of this advertiser account.", pixel)
	case len(data) == 0 || len(data) > 1000: // rudder-transformer's README; the text [unverified]
		return tikTokAnswer(40002, "data: Length must be between 1 and 1000.")
	case !t.known("request", request, tikTokRequest):
		return tikTokAnswer(40002, "%s", t.complaints[len(t.complaints)-1])
	}
	for i, event := range data {
		if wrong := t.wrong(event); wrong != "" { // that one bad event refuses all is [unverified]
			return tikTokAnswer(40002, "data.%d.%s", i, wrong)
		}
	}
	for _, event := range data {
		e := Event{
			Name: text(event, "event"), ID: text(event, "event_id"), Time: time.Unix(whole(event, "event_time"), 0).UTC(),
			Value: text(event, "properties", "value"), Currency: text(event, "properties", "currency"), Fields: event.(map[string]any),
		}
		key := "" // the same event and event_id from the API within 48 hours of the first [tiktok event-deduplication]
		if e.ID != "" {
			key = e.Name + "\x00" + e.ID
		}
		t.count(e, text(request, "test_event_code") != "", key, window)
	}
	return tikTokAnswer(0, "OK")
}

// wrong says what is wrong with an event, in the form of the answer seen: "properties.contents.0.content_id: Not a valid string".
func (t *TikTok) wrong(event any) string {
	happened := time.Unix(whole(event, "event_time"), 0)
	properties, sent := at(event, "properties").(map[string]any)
	switch {
	case text(event, "event") == "":
		return "event: Missing data for required field."
	case whole(event, "event_time") == 0: // "required" for rudder-transformer
		return "event_time: Missing data for required field."
	case happened.Sub(t.clock()) > 24*time.Hour: // [unverified]: catches milliseconds
		t.complain("event_time is in the future: seconds are documented")
		return "event_time: Not a valid time"
	case sent && !t.known("properties", properties, tikTokProperties.with(t.account.Custom)):
		return t.complaints[len(t.complaints)-1]
	}
	for _, name := range tikTokHashed { // "must be hashed with SHA256" [tiktok sdk]; what is done with others is [unverified]
		for _, value := range texts(at(event, "user", name)) {
			if !sha256.MatchString(value) {
				t.complain("user.%s is not a SHA-256 in lower case hex", name)
				return "user." + name + ": Not hashed"
			}
		}
	}
	if _, priced := properties["value"]; priced && !currency.MatchString(text(properties, "currency")) { // ISO 4217 [tiktok sdk]
		return "properties.currency: Not a valid currency"
	}
	if page, err := url.Parse(text(event, "page", "url")); err != nil || at(event, "page") != nil && page.Host == "" {
		return "page.url: Not a valid URL" // [unverified]
	}
	return ""
}
