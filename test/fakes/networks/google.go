package networks

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GoogleAccount is a Google Ads account with one conversion action, and who may write to it.
type GoogleAccount struct {
	Account, ConversionAction string // the operating account's id, without dashes, and productDestinationId
	Login                     string // the manager account that must stand in loginAccount; "" asks for none
	OAuth                     GoogleOAuth
	Processing                time.Duration // how long a request's status is PROCESSING
}

// Google stands for datamanager.googleapis.com, and with POST /token for oauth2.googleapis.com.
type Google struct {
	Network
	account  GoogleAccount
	tokens   map[string]time.Time // their ends
	statuses map[string]dmStatus
}

type dmStatus struct {
	ready time.Time
	body  string
}

// NewGoogle makes an account without events.
func NewGoogle(account GoogleAccount, clock func() time.Time) *Google {
	return &Google{
		Network: newNetwork(clock), account: account, tokens: map[string]time.Time{}, statuses: map[string]dmStatus{},
	}
}

// What the Data Manager API answers when it is the network's turn to fail [dm devguides/concepts/understand-errors].
var (
	GoogleExhausted   = googleError(429, "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", "Too many requests.")
	GoogleUnavailable = googleError(503, "UNAVAILABLE", "", "The service is currently unavailable.")
	GoogleInternal    = googleError(500, "INTERNAL", "INTERNAL_ERROR", "Internal error encountered.")
	googleNoToken     = googleError(401, "UNAUTHENTICATED", "", "Request had invalid authentication credentials.")
	googleForbidden   = googleError(403, "PERMISSION_DENIED", "PERMISSION_DENIED", "The caller does not have permission")
)

// googleError is google.rpc.Status with the details that the guide names; fields are pairs of a field and what is wrong there.
func googleError(status int, code, reason, message string, fields ...string) Answer {
	details := []map[string]any{{"@type": "type.googleapis.com/google.rpc.RequestInfo", "requestId": "fake-request"}}
	if reason != "" {
		details = append(details, map[string]any{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "datamanager.googleapis.com",
		})
	}
	if len(fields) > 0 {
		details = append(details, map[string]any{
			"@type":           "type.googleapis.com/google.rpc.BadRequest",
			"fieldViolations": []any{map[string]any{"field": fields[0], "description": fields[1], "reason": reason}},
		})
	}
	return Answer{Status: status, Body: encode(map[string]any{
		"error": map[string]any{"code": status, "message": message, "status": code, "details": details},
	})}
}

func dmInvalid(reason, field, format string, args ...any) *Answer {
	return new(googleError(400, "INVALID_ARGUMENT", reason, "There was a problem with the request.", field, fmt.Sprintf(format, args...)))
}

// The schemas of [dm rest].
var (
	dmAccount = object{"accountType": "string", "accountId": "string"}
	dmDevice  = object{"ipAddress": "string", "userAgent": "string"}
	dmConsent = object{"adUserData": "string", "adPersonalization": "string"}
	dmPairs   = []any{"any"}
	dmItem    = object{
		"itemId": "string", "merchantProductId": "string", "quantity": "int64", "unitPrice": "number", "additionalItemParameters": dmPairs,
	}
	dmAddress = object{"givenName": "string", "familyName": "string", "postalCode": "string", "regionCode": "string"}
	dmEvent   = object{
		"eventTimestamp": "string", "lastUpdatedTimestamp": "string", "transactionId": "string", "eventSource": "string", "eventName": "string",
		"conversionValue": "number", "currency": "string", "clientId": "string", "userId": "string", "consent": dmConsent,
		"destinationReferences": []any{"string"}, "customVariables": dmPairs, "experimentalFields": dmPairs, "userProperties": "any",
		"additionalEventParameters": dmPairs, "eventDeviceInfo": dmDevice,
		"adIdentifiers": object{
			"gclid": "string", "gbraid": "string", "wbraid": "string", "sessionAttributes": "string", "landingPageDeviceInfo": dmDevice,
		},
		"cartData": object{
			"merchantId": "string", "merchantFeedLabel": "string", "merchantFeedLanguageCode": "string", "transactionDiscount": "number",
			"items": []any{dmItem},
		},
		"userData": object{"userIdentifiers": []any{object{"emailAddress": "string", "phoneNumber": "string", "address": dmAddress}}},
	}
	dmRequest = object{
		"destinations": []any{object{
			"reference": "string", "operatingAccount": dmAccount, "loginAccount": dmAccount, "linkedAccount": dmAccount,
			"productDestinationId": "string",
		}},
		"events": []any{dmEvent}, "consent": dmConsent, "validateOnly": "bool", "encoding": "string", "encryptionInfo": "any",
	}
	dmSources  = []string{"", "WEB", "APP", "IN_STORE", "PHONE", "OTHER"}
	dmConsents = []string{"", "CONSENT_STATUS_UNSPECIFIED", "CONSENT_GRANTED", "CONSENT_DENIED"}
	dmRegion   = regexp.MustCompile(`^[A-Z]{2}$`)
	dmCurrency = regexp.MustCompile(`^[A-Z]{3}$`)
)

// ServeHTTP serves POST /token, POST /v1/events:ingest and GET /v1/requestStatus:retrieve.
func (g *Google) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.serve(w, r, g.take) }

// ExpireTokens ends all access tokens, so that requests meet 401 until there are new ones.
func (g *Google) ExpireTokens() { g.set(func() { clear(g.tokens) }) }

func (g *Google) take(r *http.Request, body []byte) Answer {
	route := r.Method + " " + r.URL.Path
	if route == "POST /token" {
		return g.token(r, body)
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if end, ok := g.tokens[bearer]; !ok || !g.clock().Before(end) {
		return googleNoToken
	}
	switch route {
	case "POST /v1/events:ingest":
		return g.ingest(body)
	case "GET /v1/requestStatus:retrieve":
		status, ok := g.statuses[r.URL.Query().Get("requestId")]
		if !ok { // also of requests that were only validated [dm rest ErrorReason]
			return *dmInvalid("INVALID_REQUEST_ID", "request_id", "The request ID is not valid.")
		}
		if g.clock().Before(status.ready) {
			return Answer{Status: 200, Body: `{"requestStatusPerDestination":[{"requestStatus":"PROCESSING"}]}`}
		}
		return Answer{Status: 200, Body: status.body}
	}
	return googleError(404, "NOT_FOUND", "NOT_FOUND", "Not found.")
}

func (g *Google) ingest(body []byte) Answer {
	request, err := decode(body)
	if err != nil {
		return *dmInvalid("INVALID_ARGUMENT", "", "Invalid JSON payload received. %v", err)
	}
	if !g.known("request", request, dmRequest) { // the real network refuses those too
		return *dmInvalid("INVALID_ARGUMENT", "", "Invalid JSON payload received. %s", g.complaints[len(g.complaints)-1])
	}
	if refused := g.refused(request); refused != nil { // one bad event fails all [dm devguides/concepts/understand-errors#fast-fail]
		return *refused
	}
	id := g.id("fake-request-")
	destination := request["destinations"].([]any)[0]
	events, _ := request["events"].([]any)
	errors, failed := map[string]int{}, 0
	test := request["validateOnly"] == true
	for _, event := range events {
		happened, _ := time.Parse(time.RFC3339Nano, text(event, "eventTimestamp"))
		e := Event{
			ID: text(event, "transactionId"), Time: happened.UTC(), Value: text(event, "conversionValue"), Currency: text(event, "currency"),
			Fields: event.(map[string]any),
		}
		// What processing drops [dm rest ErrorCount]: the answer has said nothing of it, the status does.
		consent, key := text(event, "consent", "adUserData"), ""
		if consent == "" {
			consent = text(request, "consent", "adUserData") // an event's overrides the request's
		}
		reason := "PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID"
		if click := text(event, "adIdentifiers", "gclid"); e.ID != "" {
			key = "transaction " + e.ID
		} else if click != "" {
			reason, key = "PROCESSING_ERROR_REASON_DUPLICATE_GCLID", click+" "+e.Time.String()
		}
		if consent == "CONSENT_DENIED" {
			errors["PROCESSING_ERROR_REASON_DENIED_CONSENT"]++
			failed++
		} else if !test && g.restated(e) { // [dm devguides/events/google-ads/conversion-adjustments]
			continue
		} else if !g.count(e, test, key, 0) {
			errors[reason]++
			failed++
		}
	}
	if !test {
		g.statuses[id] = dmStatus{ready: g.clock().Add(g.account.Processing), body: dmStatusBody(destination, len(events), failed, errors)}
	}
	return Answer{Status: 200, Body: encode(map[string]any{"requestId": id})}
}

// restated has the value of an event that came before, by its transactionId, take another one's place.
func (g *Google) restated(e Event) bool {
	for i := range g.events {
		if g.events[i].ID == e.ID && e.ID != "" && g.events[i].Value != e.Value {
			g.events[i].Value, g.events[i].Currency = e.Value, e.Currency
			return true
		}
	}
	return false
}

func dmStatusBody(destination any, events, failed int, errors map[string]int) string {
	status := map[string]any{
		"destination": destination, "requestStatus": "SUCCESS", "eventsIngestionStatus": map[string]any{"recordCount": strconv.Itoa(events)},
	}
	if failed > 0 {
		counts := []any{}
		for reason, n := range errors {
			counts = append(counts, map[string]any{"reason": reason, "recordCount": strconv.Itoa(n)})
		}
		status["errorInfo"] = map[string]any{"errorCounts": counts}
		status["requestStatus"] = map[bool]string{true: "FAILED", false: "PARTIAL_SUCCESS"}[failed == events]
	}
	return encode(map[string]any{"requestStatusPerDestination": []any{status}})
}

// refused checks a request by the error reasons of googleapis' error.proto; the names of the fields are [unverified].
func (g *Google) refused(request map[string]any) *Answer {
	destinations, _ := request["destinations"].([]any)
	if len(destinations) != 1 { // ten are documented; the fake has one conversion action
		return dmInvalid("INVALID_DESTINATION", "destinations", "The fake takes exactly one.")
	}
	at0, login := destinations[0], g.account.Login
	switch {
	case text(at0, "operatingAccount", "accountType") != "GOOGLE_ADS":
		return dmInvalid("INVALID_ENUM_VALUE", "destinations[0].operating_account.account_type", "The fake is a Google Ads account.")
	case text(at0, "operatingAccount", "accountId") != g.account.Account || text(at0, "loginAccount", "accountId") != login:
		return new(googleForbidden)
	case login != "" && text(at0, "loginAccount", "accountType") != "GOOGLE_ADS":
		return dmInvalid("INVALID_ENUM_VALUE", "destinations[0].login_account.account_type", "Enum value cannot be used.")
	case text(at0, "productDestinationId") != g.account.ConversionAction:
		return dmInvalid("INVALID_CONVERSION_ACTION_ID", "destinations[0].product_destination_id", "Conversion action ID is not valid.")
	}
	events, _ := request["events"].([]any)
	if len(events) == 0 {
		return dmInvalid("REQUIRED_FIELD_MISSING", "events", "Required field is missing.")
	}
	if len(events) > 2000 { // [dm rest]; a newer error.proto speaks of 10,000
		return dmInvalid("TOO_MANY_EVENTS", "events", "At most 2000 events.")
	}
	if wrong := dmConsentWrong(request); wrong != "" {
		return dmInvalid("INVALID_ENUM_VALUE", "consent", "%s", wrong)
	}
	for i, event := range events {
		field := fmt.Sprintf("events[%d]", i)
		happened, err := time.Parse(time.RFC3339Nano, text(event, "eventTimestamp"))
		identifiers, _ := at(event, "userData", "userIdentifiers").([]any)
		_, valued := at(event).(map[string]any)["conversionValue"]
		clicks := text(event, "adIdentifiers", "gclid") + text(event, "adIdentifiers", "gbraid") + text(event, "adIdentifiers", "wbraid")
		switch {
		case text(event, "eventTimestamp") == "":
			return dmInvalid("REQUIRED_FIELD_MISSING", field+".event_timestamp", "Required field is missing.")
		case err != nil:
			return dmInvalid("INVALID_FORMAT", field+".event_timestamp", "Format is invalid.")
		case happened.After(g.clock().Add(time.Minute)): // the window is [unverified]
			return dmInvalid("EVENT_TIME_INVALID", field+".event_timestamp", "Event did not occur within the acceptable time window.")
		case !slices.Contains(dmSources, text(event, "eventSource")):
			return dmInvalid("INVALID_ENUM_VALUE", field+".event_source", "Enum value cannot be used.")
		case valued && !dmCurrency.MatchString(text(event, "currency")):
			return dmInvalid("INVALID_CURRENCY_CODE", field+".currency", "The currency code is not supported.")
		case len(identifiers) == 0 && clicks == "":
			return dmInvalid("NO_IDENTIFIERS_PROVIDED", field, "Events data contains no user identifiers or ad identifiers.")
		case len(identifiers) > 10:
			return dmInvalid("TOO_MANY_USER_IDENTIFIERS", field+".user_data", "At most 10.")
		}
		if wrong := dmConsentWrong(event); wrong != "" {
			return dmInvalid("INVALID_ENUM_VALUE", field+".consent", "%s", wrong)
		}
		for j, identifier := range identifiers {
			place := fmt.Sprintf("%s.user_data.user_identifiers[%d]", field, j)
			if refused := dmIdentifier(place, identifier, text(request, "encoding")); refused != nil {
				return refused
			}
		}
	}
	return nil
}

func dmConsentWrong(of any) string {
	for _, name := range []string{"adUserData", "adPersonalization"} {
		if value := text(of, "consent", name); !slices.Contains(dmConsents, value) {
			return value + ": enum value cannot be used"
		}
	}
	return ""
}

// dmIdentifier checks that exactly one identifier is there, hashed and encoded as told.
func dmIdentifier(field string, identifier any, encoding string) *Answer {
	if fields, _ := identifier.(map[string]any); len(fields) != 1 { // a oneof in user_data.proto
		return dmInvalid("INVALID_ARGUMENT", field, "Exactly one of email_address, phone_number and address.")
	}
	hashed := map[string]string{"email_address": text(identifier, "emailAddress"), "phone_number": text(identifier, "phoneNumber")}
	if address := at(identifier, "address"); address != nil {
		hashed = map[string]string{"address.given_name": text(address, "givenName"), "address.family_name": text(address, "familyName")}
		if hashed["address.given_name"] == "" || hashed["address.family_name"] == "" || text(address, "postalCode") == "" {
			return dmInvalid("REQUIRED_FIELD_MISSING", field+".address", "Required field is missing.")
		}
		if !dmRegion.MatchString(text(address, "regionCode")) {
			return dmInvalid("INVALID_REGION_CODE", field+".address.region_code", "The region code is not valid.")
		}
	}
	for name, value := range hashed {
		if value == "" {
			continue
		}
		var sum []byte
		var err error
		reason := "INVALID_HEX_ENCODING"
		switch encoding {
		case "HEX":
			sum, err = hex.DecodeString(value)
		case "BASE64":
			reason = "INVALID_BASE64_ENCODING"
			sum, err = base64.StdEncoding.DecodeString(value)
		default:
			return dmInvalid("REQUIRED_FIELD_MISSING", "encoding", "Required for user data.")
		}
		if err != nil {
			return dmInvalid(reason, field+"."+name, "The encoded value is malformed.")
		}
		if len(sum) != 32 {
			return dmInvalid("INVALID_SHA256_FORMAT", field+"."+name, "The SHA256 encoded value is malformed.")
		}
	}
	return nil
}
