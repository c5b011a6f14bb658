package shop

import (
	"net/http"
	"time"
)

// Platform is what a folder of a platform gives: how its API, its limits and its notices look. One value
// serves one shop.
type Platform interface {
	// Name is the platform's name in lower case: "nuvemshop".
	Name() string
	// Limit is the documented rate limit.
	Limit() Limit
	// API says whether a request is one of the API: these are counted, limited and may meet faults.
	API(r *http.Request) bool
	// Cost is what a request takes from the bucket before it is served; 0 when the handler takes it itself.
	Cost(r *http.Request) float64
	// LimitHeaders writes the headers that tell how full the bucket is.
	LimitHeaders(header http.Header, level Level)
	// TooMany answers a request beyond the limit; wait is when it would be taken.
	TooMany(w http.ResponseWriter, r *http.Request, wait time.Duration)
	// Failed answers as the platform does when it has trouble (status 500 to 504).
	Failed(w http.ResponseWriter, r *http.Request, status int)
	// Handler serves the API.
	Handler(s *Shop) http.Handler
	// Pages adds the pages that are not the API, as the one that asks the merchant for consent.
	Pages(s *Shop, mux *http.ServeMux)

	// OrderID, OrderNumber and Status are how the platform writes them, for Truth.
	OrderID(o Order) string
	OrderNumber(o Order) string
	Status(o Order) string
	// Topics lists the notices that a change causes.
	Topics(kind Kind, o Order) []string
	// Request makes headers and body of one attempt at a notice.
	Request(s *Shop, d Delivery) (http.Header, []byte)
	// Policy is how notices are tried again.
	Policy() Policy
	// Expire makes the tokens of now unusable, where the platform's tokens end by time. False where they do not.
	Expire(s *Shop) bool
	// Uninstall ends the app's access, and tells its subscriptions where the platform does.
	Uninstall(s *Shop)
	// ThankYou is the path, with its query, of the page after the purchase, and the script that the platform puts on it.
	ThankYou(s *Shop, o Order) (path, script string)
	// Keys are what a merchant copies to connect the shop, in the order of the form, secrets included.
	Keys(s *Shop) []Key
}

// Key is a name and a value to connect a shop by.
type Key struct{ Name, Value string }

// Limit is a leaky bucket: Capacity requests (or points) at once, PerSecond leak.
type Limit struct{ Capacity, PerSecond float64 }

// Level is how full the bucket is after a request.
type Level struct {
	Limit
	Used  float64
	Empty time.Duration // until nothing is left in it
}

// Policy is how a platform delivers notices.
type Policy struct {
	// Timeout is how long it waits for an answer.
	Timeout time.Duration
	// Waits lists the waits after the first, second, … failure; none: it is not tried again.
	Waits []time.Duration
	// EndAfter is after how many failures in a row a subscription ends; 0: never.
	EndAfter int
	// Disable keeps an ended subscription, switched off; else it is removed.
	Disable bool
	// Success says which answers count as delivered; nil: 200 to 299.
	Success func(status int) bool
}

// Forgeries of a notice.
const (
	NotForged = iota
	ForgedKey // signed with a key that is not the app's
	ForgedNone
	ForgedBody // the body was changed after it was signed
)

// Delivery is one attempt at a notice.
type Delivery struct {
	// ID is the same for all attempts at one notice to one subscription, Event for all notices of one change.
	ID, Event    string
	Topic        string
	Order        Order // as it was when the change happened
	At           time.Time
	Attempt      int // from 0
	Subscription Subscription
	Forged       int
	Extra        any // the body's content of a notice that is not about an order
}

// Subscription is a registered address for notices.
type Subscription struct {
	ID        int64
	Topics    []string
	URL       string
	Secret    string            // where a subscription has its own
	Headers   map[string]string // sent with each notice, where the platform offers that
	Name      string
	Disabled  bool
	Failures  int // in a row
	CreatedAt time.Time
	UpdatedAt time.Time
}
