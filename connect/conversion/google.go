package conversion

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Google's Data Manager API, which takes conversions of Google Ads (developers.google.com/data-manager/api, 2026-05). The account's secret
// is an OAuth access token with the scope https://www.googleapis.com/auth/datamanager, which who calls this keeps fresh.
const (
	googleIngest = "https://datamanager.googleapis.com/v1/events:ingest"
	googleStatus = "https://datamanager.googleapis.com/v1/requestStatus:retrieve"
)

type googleBody struct {
	Destinations []googleDestination `json:"destinations"`
	Events       []googleEvent       `json:"events"`
	Encoding     string              `json:"encoding"`
	Check        bool                `json:"validateOnly,omitempty"`
}

type googleDestination struct {
	Operating googleAccount  `json:"operatingAccount"`
	Login     *googleAccount `json:"loginAccount,omitempty"`
	Action    string         `json:"productDestinationId"`
}

type googleAccount struct {
	Type string `json:"accountType"`
	ID   string `json:"accountId"`
}

type googleEvent struct {
	At       string          `json:"eventTimestamp"`
	OrderID  string          `json:"transactionId"`
	Source   string          `json:"eventSource"`
	Value    commerce.Amount `json:"conversionValue"`
	Currency string          `json:"currency"`
	Clicks   *googleClicks   `json:"adIdentifiers,omitempty"`
	User     *googleUser     `json:"userData,omitempty"`
	Consent  googleConsent   `json:"consent"`
}

type googleClicks struct {
	Click string `json:"gclid,omitempty"`
	App   string `json:"gbraid,omitempty"`
	Page  string `json:"wbraid,omitempty"`
}

type googleUser struct {
	Identifiers []googleIdentifier `json:"userIdentifiers"`
}

// googleIdentifier has one of its fields.
type googleIdentifier struct {
	Email   string         `json:"emailAddress,omitempty"`
	Phone   string         `json:"phoneNumber,omitempty"`
	Address *googleAddress `json:"address,omitempty"`
}

type googleAddress struct {
	GivenName  string `json:"givenName"`
	FamilyName string `json:"familyName"`
	Region     string `json:"regionCode"`
	Zip        string `json:"postalCode"`
}

type googleConsent struct {
	UserData        string `json:"adUserData"`
	Personalization string `json:"adPersonalization"`
}

// googleName is a name in lower case without punctuation and symbols (Data Manager, AddressInfo).
func googleName(raw string) string {
	plain := only(strings.ToLower(raw), func(r rune) bool { return !unicode.IsPunct(r) && !unicode.IsSymbol(r) })
	return strings.Join(strings.Fields(plain), " ")
}

func googleCode(raw string) string { return strings.ToUpper(strings.TrimSpace(raw)) }

func googleRequest(c Conversion, a Account) (Request, error) {
	// A refund is the sale once more with what is left of it, which takes the place of the former value
	// (data-manager/api/devguides/events/google-ads/conversion-adjustments).
	if c.Type == Refund {
		c.At, c.Value = c.Sold.At, c.Sold.Left
	}
	p := c.Person
	event := googleEvent{At: c.At.UTC().Format(time.RFC3339), OrderID: c.OrderID, Source: "WEB", Value: c.Value, Currency: c.Value.Currency,
		Consent: googleConsent{"CONSENT_GRANTED", "CONSENT_DENIED"}}
	switch { // one: the Google Ads API refuses some together
	case c.Clicks.Google != "":
		event.Clicks = &googleClicks{Click: c.Clicks.Google}
	case c.Clicks.GoogleW != "":
		event.Clicks = &googleClicks{Page: c.Clicks.GoogleW}
	case c.Clicks.GoogleA != "":
		event.Clicks = &googleClicks{App: c.Clicks.GoogleA}
	}
	var who []googleIdentifier
	if of := hashed(adsEmail(p.Email)); of != "" {
		who = append(who, googleIdentifier{Email: of})
	}
	if of := hashed(plusPhone(p.Phone)); of != "" {
		who = append(who, googleIdentifier{Phone: of})
	}
	given, family := names(p.Name)
	if given, family = hashed(googleName(given)), hashed(googleName(family)); given != "" && family != "" && p.Country != "" && p.Zip != "" {
		who = append(who, googleIdentifier{Address: &googleAddress{given, family, googleCode(p.Country), strings.TrimSpace(p.Zip)}})
	}
	if len(who) > 0 {
		event.User = &googleUser{who}
	}
	if event.Clicks == nil && event.User == nil {
		return Request{}, ErrNobody
	}
	to := googleDestination{Operating: googleAccount{"GOOGLE_ADS", a.ID}, Action: a.Action}
	if a.Login != "" {
		to.Login = &googleAccount{"GOOGLE_ADS", a.Login}
	}
	r, err := encode(googleIngest, googleBody{Destinations: []googleDestination{to}, Events: []googleEvent{event}, Encoding: "HEX",
		Check: a.Test != ""})
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+a.Secret)
	}
	return r, err
}

// googleAnswer reads an answer. One with a requestId says that the event was accepted: StatusRequest asks what becomes of it.
func googleAnswer(status int, body []byte) Outcome {
	var answer struct {
		Request string `json:"requestId"`
		Error   struct {
			Message string `json:"message"`
			Status  string `json:"status"`
			Details []struct {
				Violations []struct {
					Field       string `json:"field"`
					Description string `json:"description"`
				} `json:"fieldViolations"`
			} `json:"details"`
		} `json:"error"`
	}
	err := json.Unmarshal(body, &answer)
	if err != nil || answer.Request == "" && answer.Error.Message == "" {
		return unlike(status)
	}
	words, ours := http.StatusText(status), status == http.StatusNotFound
	if answer.Error.Message != "" {
		words = strings.TrimSpace(answer.Error.Status + " " + answer.Error.Message)
		for _, d := range answer.Error.Details {
			for _, v := range d.Violations {
				words += "; " + v.Field + ": " + v.Description
				ours = ours || strings.HasPrefix(v.Field, "destinations")
			}
		}
	}
	if ours { // the account is wrong, and not the event
		return Outcome{Verdict: Stopped, Words: words}
	}
	o := byStatus(status, words)
	if o.Verdict == Taken {
		o.Request = answer.Request
	}
	return o
}

// StatusRequest asks Google what became of a request that it took, by its id (data-manager/api/devguides/diagnostics).
func StatusRequest(id string, a Account) Request {
	return Request{URL: googleStatus + "?" + url.Values{"requestId": {id}}.Encode(),
		Header: http.Header{"Authorization": {"Bearer " + a.Secret}}}
}

// Why Google drops an event (data-manager/api/reference/rest/v1/requestStatus/retrieve, ProcessingErrorReason): what is told apart.
const (
	googleKnown     = "PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID" // it has it already
	googleFailed    = "PROCESSING_ERROR_REASON_INTERNAL_ERROR"
	googleOfAccount = "_DESTINATION_ACCOUNT_" // in those that are about the account, not the event
)

// StatusOf says what became of a request of one event, by the answer to StatusRequest: Taken; Refused or Stopped with Google's reasons;
// Later with Google's reasons: to be sent again; or Later without words: it is still being processed, or the answer does not say.
func StatusOf(t Type, status int, body []byte) Outcome {
	var answer struct {
		Destinations []struct {
			Status string `json:"requestStatus"`
			Error  struct {
				Counts []struct {
					Reason string `json:"reason"`
				} `json:"errorCounts"`
			} `json:"errorInfo"`
		} `json:"requestStatusPerDestination"`
	}
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil || len(answer.Destinations) != 1 {
		return Outcome{Verdict: Later}
	}
	switch of := answer.Destinations[0]; of.Status {
	case "SUCCESS", "PARTIAL_SUCCESS":
		return Outcome{Verdict: Taken}
	case "FAILED", "FAILURE": // the reference has the one, the guide the other
		var reasons []string
		for _, c := range of.Error.Counts {
			reasons = append(reasons, c.Reason)
		}
		words := strings.Join(append([]string{of.Status}, reasons...), " ")
		switch {
		case t == Purchase && len(reasons) == 1 && reasons[0] == googleKnown:
			return Outcome{Verdict: Taken}
		case len(reasons) == 1 && reasons[0] == googleFailed:
			return Outcome{Verdict: Later, Words: words}
		case strings.Contains(words, googleOfAccount):
			return Outcome{Verdict: Stopped, Words: words}
		}
		return Outcome{Verdict: Refused, Words: words}
	}
	return Outcome{Verdict: Later}
}
