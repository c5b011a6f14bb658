package networks

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// GA4Account is a web data stream.
type GA4Account struct {
	MeasurementID, Secret string
	Custom                []string // names of the merchant's own parameters of purchase and refund, and of their items
}

// GA4 stands for www.google-analytics.com and region1.google-analytics.com.
type GA4 struct {
	Network
	account GA4Account
}

// NewGA4 makes a stream without events.
func NewGA4(account GA4Account, clock func() time.Time) *GA4 {
	return &GA4{Network: newNetwork(clock), account: account}
}

// GA4Unavailable is a server error; the documentation tells of none [unverified].
var GA4Unavailable = Answer{Status: 503, Body: "{}"}

// What [ga4 reference] and [ga4 reference/events#purchase, #refund] name.
var (
	gaItem = object{
		"item_id": "string", "item_name": "string", "affiliation": "string", "coupon": "string", "discount": "number", "index": "integer",
		"item_brand": "string", "item_category": "string", "item_category2": "string", "item_category3": "string", "item_category4": "string",
		"item_category5": "string", "item_list_id": "string", "item_list_name": "string", "item_variant": "string", "location_id": "string",
		"price": "number", "quantity": "number", "creative_name": "string", "creative_slot": "string", "promotion_id": "string",
		"promotion_name": "string",
	}
	gaSale = object{
		"currency": "string", "value": "number", "customer_type": "string", "transaction_id": "string", "coupon": "string",
		"shipping": "number", "tax": "number", "items": "any", "session_id": "any", "engagement_time_msec": "any",
		"page_location": "string", "page_referrer": "string", "page_title": "string",
	}
	gaUser = object{
		"sha256_email_address": "strings", "sha256_phone_number": "strings",
		"address": []any{object{
			"sha256_first_name": "string", "sha256_last_name": "string", "sha256_street": "string", "city": "string", "region": "string",
			"postal_code": "string", "country": "string",
		}},
	}
	gaRequest = object{
		"client_id": "string", "user_id": "string", "timestamp_micros": "int64", "user_properties": "any", "user_data": gaUser,
		"consent": object{"ad_user_data": "string", "ad_personalization": "string"}, "non_personalized_ads": "bool",
		"user_location": "any", "ip_override": "string", "device": "any", "user_agent": "string", "validation_behavior": "string",
		"events": []any{object{"name": "string", "params": "any", "timestamp_micros": "int64"}},
	}
	// What the validation server was seen to refuse, of [ga4 reference#reserved_names] (a Swift client's tests, 2026).
	gaReserved = strings.Fields(`ad_activeview ad_click ad_exposure ad_query adunit_exposure app_clear_data app_install app_remove
		app_update error first_open first_visit in_app_purchase notification_dismiss notification_foreground notification_open
		notification_receive os_update session_start user_engagement`)
	gaPrefixes = []string{"_", "firebase_", "ga_", "google_", "gtag."} // of parameters [ga4 reference#reserved_parameter_names]
	gaName     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	gaLonger   = map[string]int{"page_location": 1000, "page_referrer": 420, "page_title": 300} // support.google.com/analytics/answer/9267744
)

type gaMessage struct {
	FieldPath      string `json:"fieldPath"`
	Description    string `json:"description"`
	ValidationCode string `json:"validationCode"`
}

// ServeHTTP serves POST /mp/collect, which never tells an error [ga4 validating-events], and POST /debug/mp/collect.
func (g *GA4) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.serve(w, r, g.take) }

func (g *GA4) take(r *http.Request, body []byte) Answer {
	debug := r.URL.Path == "/debug/mp/collect"
	if r.Method != http.MethodPost || !debug && r.URL.Path != "/mp/collect" { // "only supports POST"; the answer [unverified]
		return Answer{Status: 404, Body: ""}
	}
	request, spoilt := g.request(body)
	query := r.URL.Query()
	if query.Get("measurement_id") != g.account.MeasurementID || query.Get("api_secret") == "" {
		spoilt = append(spoilt, gaMessage{"", "measurement_id or api_secret is missing or unknown", "VALUE_REQUIRED"}) // [unverified]
	}
	// The validation server does not check api_secret [ga4 validating-events].
	trusted := debug || query.Get("api_secret") == g.account.Secret
	events, _ := request["events"].([]any)
	all := append([]gaMessage{}, spoilt...)
	for i, event := range events {
		messages := g.event(i, event)
		happened, late := g.happened(request, event)
		if strict := text(request, "validation_behavior") == "ENFORCE_RECOMMENDATIONS"; late && strict { // the text [unverified]
			messages = append(messages, gaMessage{"timestamp_micros", "The timestamp is more than 72 hours ago.", "VALUE_OUT_OF_BOUNDS"})
		}
		all = append(all, messages...)
		if len(spoilt) == 0 && len(messages) == 0 && trusted { // that one bad event does not spoil the others is [unverified]
			g.store(event, happened, debug)
		}
	}
	if debug {
		return Answer{Status: 200, Body: encode(map[string]any{"validationMessages": all})}
	}
	return Answer{Status: 204}
}

// request checks what [ga4 sending-events#limitations] and [ga4 reference] say of the whole request.
func (g *GA4) request(body []byte) (request map[string]any, messages []gaMessage) {
	add := func(path, code, format string, args ...any) {
		messages = append(messages, gaMessage{path, fmt.Sprintf(format, args...), code})
	}
	request, err := decode(body)
	if err != nil || !g.known("request", request, gaRequest) {
		add("", "VALUE_INVALID", "Unable to parse Measurement Protocol JSON payload.") // the text [unverified]
	}
	if len(body) >= 130_000 {
		add("", "VALUE_OUT_OF_BOUNDS", "The post body must be smaller than 130kB.") // the answer [unverified]
	}
	if text(request, "client_id") == "" {
		add("client_id", "VALUE_REQUIRED", "Measurement requires a client_id.") // [seen a PHP client's tests]
	}
	events, _ := request["events"].([]any)
	if len(events) == 0 || len(events) > 25 {
		add("events", "EXCEEDED_MAX_ENTITIES", "Measurement requires 1 to 25 events, not %d.", len(events)) // the text [unverified]
	}
	if properties, _ := request["user_properties"].(map[string]any); len(properties) > 25 {
		add("user_properties", "EXCEEDED_MAX_ENTITIES", "More than 25 user properties.")
	}
	for name, values := range gaHashed(request["user_data"]) { // [ga4 uid-data]; that others are refused is [unverified]
		if slices.ContainsFunc(values, func(value string) bool { return !sha256.MatchString(value) }) {
			g.complain("user_data: %s is not a SHA-256 in lower case hex", name)
			add("user_data", "VALUE_INVALID", "%s is not hashed", name)
		}
	}
	consent, _ := request["consent"].(map[string]any)
	for name, value := range consent { // [ga4 reference#payload_consent]
		if value != "GRANTED" && value != "DENIED" {
			add("consent."+name, "VALUE_INVALID", "GRANTED or DENIED, not %v", value)
		}
	}
	return request, messages
}

// gaHashed gives what must be hashed, by its name.
func gaHashed(user any) map[string][]string {
	hashed := map[string][]string{}
	addresses, _ := at(user, "address").([]any)
	for _, fields := range append([]any{user}, addresses...) {
		found, _ := fields.(map[string]any)
		for name, values := range found {
			if strings.HasPrefix(name, "sha256_") {
				hashed[name] = append(hashed[name], texts(values)...)
			}
		}
	}
	return hashed
}

// event checks one event against [ga4 sending-events#limitations].
func (g *GA4) event(i int, event any) (messages []gaMessage) {
	name := text(event, "name")
	add := func(code, format string, args ...any) {
		messages = append(messages, gaMessage{"events", fmt.Sprintf("Event at index: [%d] ", i) + fmt.Sprintf(format, args...), code})
	}
	switch {
	case slices.Contains(gaReserved, name):
		add("NAME_RESERVED", "has name [%s] which is reserved.", name)
	case !gaName.MatchString(name):
		// The example of [ga4 validating-events].
		add("NAME_INVALID", "has invalid name [%s]. Names must start with an alphabetic character.", name)
	case len(name) > 40:
		add("NAME_INVALID", "has a name of more than 40 characters.")
	}
	params, _ := at(event, "params").(map[string]any)
	if len(params) > 25 {
		add("EXCEEDED_MAX_ENTITIES", "has %d parameters, more than 25.", len(params))
	}
	items, _ := params["items"].([]any)
	for _, fields := range append([]any{params}, items...) {
		found, _ := fields.(map[string]any)
		for _, key := range keys(found) {
			reserved := slices.ContainsFunc(gaPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
			longest, ok := gaLonger[key]
			if !ok {
				longest = 100 // 500 at Google Analytics 360
			}
			if !gaName.MatchString(key) || len(key) > 40 || reserved {
				add("NAME_INVALID", "has the parameter [%s], whose name is not allowed.", key)
			} else if utf8.RuneCountInString(text(found, key)) > longest {
				add("VALUE_OUT_OF_BOUNDS", "has a value of [%s] of more than %d characters.", key, longest)
			}
		}
	}
	if name != "purchase" && name != "refund" {
		return messages
	}
	fine := g.known(name, params, gaSale.with(g.account.Custom))
	for _, item := range items {
		fine = g.known(name+".items", item, gaItem.with(g.account.Custom)) && fine
	}
	if !fine {
		add("VALUE_INVALID", "has fields that are not documented, which the fake refuses.")
	}
	// [ga4 reference/events#purchase]; that the validation server tells it is [unverified]. An empty transaction_id is another matter.
	if _, valued := params["value"]; valued && !currency.MatchString(text(params, "currency")) {
		add("VALUE_REQUIRED", "has a value without currency.")
	}
	if _, sent := params["transaction_id"]; !sent {
		add("VALUE_REQUIRED", "has no transaction_id.")
	}
	for _, item := range items {
		if text(item, "item_id") == "" && text(item, "item_name") == "" {
			add("VALUE_REQUIRED", "has an item without item_id and item_name.")
		}
	}
	return messages
}

// happened takes the event's time, the request's or now; more than 72 hours ago is late, and reported as 72 hours ago
// unless recommendations are enforced [ga4 sending-events#override_timestamp, #past_events].
func (g *GA4) happened(request, event any) (time.Time, bool) {
	now := g.clock()
	for _, from := range []any{event, request} {
		if micros := whole(from, "timestamp_micros"); micros != 0 {
			happened := time.UnixMicro(micros).UTC()
			if oldest := now.Add(-72 * time.Hour); happened.Before(oldest) {
				return oldest, true
			}
			return happened, false
		}
	}
	return now, false
}

// store counts an event. Purchases of one transaction_id are one, whoever bought; so are all with an empty one
// [support.google.com/analytics/answer/12313109]. Nothing is said of refunds, which count each time [unverified].
func (g *GA4) store(event any, happened time.Time, debug bool) {
	params := at(event, "params")
	e := Event{
		Name: text(event, "name"), ID: text(params, "transaction_id"), Time: happened, Value: text(params, "value"),
		Currency: text(params, "currency"), Fields: event.(map[string]any),
	}
	key := ""
	if e.Name == "purchase" {
		key = "transaction " + e.ID
	}
	g.count(e, debug, key, 0)
}
