package networks

import (
	"cmp"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MetaAccount is a dataset and who may write to it.
type MetaAccount struct {
	Dataset, Token string
	Custom         []string // names of the merchant's own fields in custom_data
	// CountsRepeats counts an event again whose event_name and event_id came before. The documentation promises to drop
	// the second of one event from the pixel and one from a server; of two from servers it promises that in one sentence
	// ("a given event_id") and speaks against it in another, about fbp and external_id [meta deduplicate-pixel-and-server-events].
	CountsRepeats bool
}

// Meta stands for graph.facebook.com. TestEvents are apart here, although the documentation says that they "are not
// dropped" and "are used for targeting and ads measurement" [meta using-the-api#testEvents].
type Meta struct {
	Network
	account MetaAccount
}

// NewMeta makes a dataset without events.
func NewMeta(account MetaAccount, clock func() time.Time) *Meta {
	return &Meta{Network: newNetwork(clock), account: account}
}

// What Meta answers when it is the network's turn to fail [graph]; the HTTP statuses of 17 and 613 are [unverified].
var (
	MetaUnknown     = metaError(500, 1, 0, true, "An unknown error occurred")
	MetaTemporary   = metaError(500, 2, 0, true, "Service temporarily unavailable")
	MetaThrottled   = metaError(400, 4, 0, true, "(#4) Application request limit reached")
	MetaUserLimit   = metaError(400, 17, 0, true, "(#17) User request limit reached")
	MetaCallLimit   = metaError(400, 613, 0, true, "(#613) Calls to this api have exceeded the rate limit.")
	MetaTooMany     = metaError(429, 4, 0, true, "(#4) Application request limit reached")
	metaBadToken    = metaError(401, 190, 0, false, "Invalid OAuth access token - Cannot parse access token") // [seen Graph v26.0, 2026-09-05]
	metaNoSuchThing = metaError(400, 100, 33, false, "Unsupported post request. Object does not exist, cannot be loaded due to "+
		"missing permissions, or does not support this operation") // [seen rudder-transformer]
)

func metaError(status, code, subcode int, transient bool, message string, user ...string) Answer {
	e := map[string]any{"message": message, "type": "OAuthException", "code": code, "is_transient": transient, "fbtrace_id": "Afake"}
	if subcode != 0 {
		e["error_subcode"] = subcode
	}
	if len(user) > 0 {
		e["error_user_title"], e["error_user_msg"] = user[0], user[len(user)-1]
	}
	return Answer{Status: status, Body: encode(map[string]any{"error": e})}
}

func metaInvalid(subcode int, user ...string) *Answer {
	return new(metaError(400, 100, subcode, false, "Invalid parameter", user...))
}

// The fields that the pages of parameters name, and those of facebook/facebook-python-business-sdk of 2026-06-24.
var (
	metaContent = object{
		"id": "string", "quantity": "integer", "item_price": "number", "title": "string", "description": "string", "brand": "string",
		"category": "string", "delivery_category": "string",
	}
	metaCustom = object{
		"value": "number", "currency": "string", "content_name": "string", "content_category": "string", "content_ids": []any{"string"},
		"contents": []any{metaContent}, "content_type": "string", "order_id": "string", "predicted_ltv": "number", "num_items": "integer",
		"status": "string", "search_string": "string", "delivery_category": "string", "net_revenue": "number", "item_number": "string",
	}
	metaHashed = []string{"em", "ph", "fn", "ln", "db", "ge", "ct", "st", "zp", "country"}
	metaUser   = object{
		"client_ip_address": "string", "client_user_agent": "string", "fbc": "string", "fbp": "string", "subscription_id": "string",
		"fb_login_id": "any", "lead_id": "any", "anon_id": "string", "madid": "string", "page_id": "string", "page_scoped_user_id": "string",
		"ctwa_clid": "string", "ig_account_id": "string", "ig_sid": "string", "external_id": "strings", "em": "strings", "ph": "strings",
		"fn": "strings", "ln": "strings", "db": "strings", "ge": "strings", "ct": "strings", "st": "strings", "zp": "strings",
		"country": "strings",
	}
	metaEvent = object{
		"event_name": "string", "event_time": "integer", "event_id": "string", "event_source_url": "string", "action_source": "string",
		"opt_out": "bool", "referrer_url": "string", "user_data": metaUser, "custom_data": "any", "app_data": "any",
		"data_processing_options": []any{"string"}, "data_processing_options_country": "integer", "data_processing_options_state": "integer",
		"original_event_data": "any", "attribution_data": "any", "messaging_channel": "string", "advanced_measurement_table": "string",
	}
	metaRequest = object{
		"data": []any{metaEvent}, "test_event_code": "string", "access_token": "string", "partner_agent": "string",
		"namespace_id": "string", "upload_id": "string", "upload_tag": "string", "upload_source": "string",
	}
	metaSources = []string{
		"email", "website", "app", "phone_call", "chat", "physical_store", "system_generated", "business_messaging", "other",
	}
	// An event with no more than one of these is too wide to match anybody [meta best-practices#baseline-requirements-for-matching].
	metaTooWide = [][]string{
		{"ct", "country", "st", "zp", "ge", "client_user_agent"}, {"db", "client_user_agent"}, {"fn", "ge"}, {"ln", "ge"},
	}

	metaPath = regexp.MustCompile(`^/v\d+\.\d+/(\d+)/events$`)
	sha256   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	currency = regexp.MustCompile(`^[A-Za-z]{3}$`)
	metaFBC  = regexp.MustCompile(`^fb\.[0-2]\.\d{13}\..+$`)  // [meta parameters/fbp-and-fbc]: the time is in milliseconds
	metaFBP  = regexp.MustCompile(`^fb\.[0-2]\.\d{13}\.\d+$`) // [meta parameters/fbp-and-fbc]
)

// ServeHTTP serves POST /v{N}.{M}/{dataset}/events.
func (m *Meta) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.serve(w, r, m.take) }

func (m *Meta) take(r *http.Request, body []byte) Answer {
	path := metaPath.FindStringSubmatch(r.URL.Path)
	if path == nil || r.Method != http.MethodPost {
		return metaError(400, 2500, 0, false, "Unknown path components: "+r.URL.Path) // [unverified]
	}
	request, err := metaBody(r, body)
	if err != nil {
		return metaError(400, 100, 0, false, "Invalid parameter: "+err.Error()) // [unverified]
	}
	// The token is in the query [meta using-the-api#send], in the body or a bearer [seen both, Graph v25.0 and v26.0].
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	token := cmp.Or(r.URL.Query().Get("access_token"), text(request, "access_token"), bearer)
	switch {
	case token == "" || token != m.account.Token:
		return metaBadToken
	case path[1] != m.account.Dataset:
		return metaNoSuchThing
	case !m.known("request", request, metaRequest):
		return *metaInvalid(0, "The fake refuses fields that are not documented")
	}
	data, _ := request["data"].([]any)
	if len(data) == 0 || len(data) > 1000 { // [meta using-the-api#batch-requests]; the answer [unverified]
		return *metaInvalid(0, "data must have 1 to 1,000 events")
	}
	for _, event := range data { // one invalid event rejects the whole batch [meta using-the-api#batch-requests]
		if refused := m.refused(event); refused != nil {
			return *refused
		}
	}
	for _, event := range data {
		e := Event{
			Name: text(event, "event_name"), ID: text(event, "event_id"), Time: time.Unix(whole(event, "event_time"), 0).UTC(),
			Value: text(event, "custom_data", "value"), Currency: text(event, "custom_data", "currency"), Fields: event.(map[string]any),
		}
		key := ""
		if e.ID != "" && !m.account.CountsRepeats {
			key = e.Name + "\x00" + e.ID
		}
		m.count(e, text(request, "test_event_code") != "", key, window)
	}
	return Answer{Status: 200, Body: encode(map[string]any{"events_received": len(data), "messages": []string{}, "fbtrace_id": m.id("Afake")})}
}

// metaBody reads JSON, or a form whose data is JSON. The documentation's curl sends the form as multipart, which the fake leaves out.
func metaBody(r *http.Request, body []byte) (map[string]any, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return decode(body)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	request, err := decode([]byte(`{"data":` + form.Get("data") + "}"))
	if err != nil {
		return nil, err
	}
	for name := range form {
		if name != "data" {
			request[name] = form.Get(name)
		}
	}
	return request, nil
}

// refused says why an event is invalid; nil when it is not.
func (m *Meta) refused(event any) *Answer {
	happened, source := time.Unix(whole(event, "event_time"), 0), text(event, "action_source")
	oldest := 7 * 24 * time.Hour // [meta parameters/server-event#event-time]
	if source == "physical_store" {
		oldest = 62 * 24 * time.Hour
	}
	user, _ := at(event, "user_data").(map[string]any)
	switch {
	case text(event, "event_name") == "" || whole(event, "event_time") == 0: // [meta parameters/server-event]; subcode [unverified]
		return metaInvalid(0, "event_name and event_time are required")
	case m.clock().Sub(happened) > oldest: // [seen Graph v26.0, 2026-09-05, and rudder-transformer]
		return metaInvalid(2804003, "Event Timestamp Too Old", "The timestamp for this event is too far in the past.")
	case happened.Sub(m.clock()) > time.Minute: // [unverified], subcode too
		return metaInvalid(0, "event_time is in the future")
	case !slices.Contains(metaSources, source): // [meta parameters/server-event#action-source]; subcode [unverified]
		return metaInvalid(0, "action_source is not one of the documented ones")
	case tooWide(user): // [seen Setono/meta-conversions-api-php-sdk]
		return metaInvalid(2804050, "Customer information parameters", "This event has insufficient customer information.")
	}
	// Unhashed contact information is not accepted [meta parameters/customer-information-parameters]; subcode [unverified].
	for _, name := range metaHashed {
		for _, value := range texts(user[name]) {
			if !sha256.MatchString(value) {
				return metaInvalid(0, "user_data."+name+" is not a SHA-256 in lower case hex")
			}
		}
	}
	// Required by [meta parameters]; Graph v26.0 was seen to take an event without a user agent, so that is a complaint too.
	page, err := url.Parse(text(event, "event_source_url"))
	if source == "website" && (text(user, "client_user_agent") == "" || err != nil || page.Host == "") {
		m.complain("a website event needs client_user_agent and event_source_url")
		return metaInvalid(0, "client_user_agent and event_source_url are required for website events")
	}
	_, err = netip.ParseAddr(text(user, "client_ip_address"))
	for name, wrong := range map[string]bool{
		"client_ip_address": err != nil, "fbc": !metaFBC.MatchString(text(user, "fbc")), "fbp": !metaFBP.MatchString(text(user, "fbp")),
	} {
		if _, sent := user[name]; sent && wrong {
			m.complain("user_data.%s has not the documented form", name)
			return metaInvalid(0, "user_data."+name+" is malformed") // [unverified]
		}
	}
	custom, sent := at(event, "custom_data").(map[string]any)
	if sent && !m.known("custom_data", custom, metaCustom.with(m.account.Custom)) {
		return metaInvalid(0, "The fake refuses fields that are not documented")
	}
	// [meta parameters/custom-data]: both are required for purchases; currency is ISO 4217, lower case was seen to pass. Subcode [unverified].
	if _, priced := custom["value"]; text(event, "event_name") == "Purchase" && !priced ||
		(priced || text(custom, "currency") != "") && !currency.MatchString(text(custom, "currency")) {
		return metaInvalid(0, "A purchase needs value, and currency by its ISO 4217 code")
	}
	return nil
}

func tooWide(user map[string]any) bool {
	for _, few := range metaTooWide {
		more := func(name string) bool { return !slices.Contains(few, name) }
		if !slices.ContainsFunc(keys(user), more) {
			return true
		}
	}
	return false
}
