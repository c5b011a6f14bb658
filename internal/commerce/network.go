package commerce

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The kinds of destinations that are advertising networks: conversions are sent to them (docs/adr/0048).
const (
	ToMeta   DestinationKind = "meta"
	ToGA4    DestinationKind = "ga4"
	ToGoogle DestinationKind = "google"
	ToTikTok DestinationKind = "tiktok"
)

// Networks are all kinds that are advertising networks.
var Networks = []DestinationKind{ToMeta, ToGA4, ToGoogle, ToTikTok}

// NetworkNames are the kinds that are networks as texts.
func NetworkNames() []string {
	names := make([]string, len(Networks))
	for i, n := range Networks {
		names[i] = string(n)
	}
	return names
}

// Prefixes of the ids of destinations: what one is of is seen by its id.
const (
	EndpointPrefix = "whe_" // a webhook endpoint
	NetworkPrefix  = "net_" // an account at an advertising network
)

// The events that networks get: that an order may have to be told. What it is told of is decided when it is sent.
const (
	ConversionProven EventType = "conversion.proven" // of an order that is, or was, an influencer's
	ConversionOther  EventType = "conversion.other"  // of any other order
	ConversionLess   EventType = "conversion.less"   // of any of which less is sold than before: each account that was told of it is told
	ConversionTest   EventType = "conversion.test"   // a sale that is made up, for networks that can check one
)

// Bounds of networks.
const (
	MaxNetworks      = 10 // accounts of one company
	MaxNetworkSecret = 8 << 10
	// ConversionDays is how old an order may be at most that networks are told of: no network takes older ones.
	ConversionDays = 32
	// RefundDays is the same of an order of which something is given back: GA4 takes a refund whatever the purchase's age.
	RefundDays = 180
)

// Errors of accounts at networks.
var (
	ErrTooManyNetworks = fmt.Errorf("%w: at most %d accounts at networks", ErrConflict, MaxNetworks)
	ErrNetworkThere    = fmt.Errorf("%w: the store has this account at the network already", ErrConflict)
	// ErrNetworkTestCode: Meta and TikTok count a test that has no code.
	ErrNetworkTestCode = fmt.Errorf("%w: the network would count a test without the code that it shows for tests", ErrConflict)
	ErrNetworkSandbox  = fmt.Errorf("%w: a sandbox tells networks of tests alone: it needs a code of tests", ErrConflict)
)

// NetworkAccount is where a company's conversions go at a network.
type NetworkAccount struct {
	ID     string // Meta: dataset (pixel); GA4: measurement id; Google: customer id; TikTok: pixel
	Action string // Google: conversion action; else ""
	Login  string // Google: customer id of the manager account; "": none
	Test   string // Meta, TikTok: code of a test; GA4, Google: "check". "": real conversions
}

// networkID is what an account's id looks like at each network.
var networkID = map[DestinationKind]struct {
	form *regexp.Regexp
	says string
}{
	ToMeta:   {regexp.MustCompile(`^[0-9]{5,25}$`), "is the id of the dataset (pixel): digits alone"},
	ToGA4:    {regexp.MustCompile(`^G-[A-Z0-9]{4,20}$`), "is the measurement id, such as G-AB12CD34EF"},
	ToGoogle: {regexp.MustCompile(`^[0-9]{10}$`), "is the customer id: ten digits"},
	ToTikTok: {regexp.MustCompile(`^[A-Z0-9]{8,40}$`), "is the pixel's id: capital letters and digits"},
}

var (
	networkDigits = regexp.MustCompile(`^[0-9]{1,25}$`)
	networkTest   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)
)

// NetworkCheck is NetworkAccount.Test of networks that have no codes of tests: what is sent is only checked.
const NetworkCheck = "check"

// Check adds what is wrong with an account of a network; the names of fields are those of the admin API.
func (a NetworkAccount) Check(network DestinationKind, bad *Violations) {
	id, known := networkID[network]
	if !known {
		bad.Add("network", CodeInvalidValue, "must be one of %s", strings.Join(NetworkNames(), ", "))
		return
	}
	if !id.form.MatchString(a.ID) {
		bad.Add("account_id", CodeInvalidValue, "%s", id.says)
	}
	google := network == ToGoogle
	switch {
	case google && !networkDigits.MatchString(a.Action):
		bad.Add("action_id", CodeInvalidValue, "is the conversion action's id: digits alone")
	case !google && a.Action != "":
		bad.Add("action_id", CodeInvalidValue, "is for google alone")
	}
	switch {
	case google && a.Login != "" && !networkID[ToGoogle].form.MatchString(a.Login):
		bad.Add("login_id", CodeInvalidValue, "is the manager account's customer id: ten digits")
	case !google && a.Login != "":
		bad.Add("login_id", CodeInvalidValue, "is for google alone")
	}
	codes := network == ToMeta || network == ToTikTok
	switch {
	case a.Test == "":
	case codes && !networkTest.MatchString(a.Test):
		bad.Add("test_code", CodeInvalidValue, "is the code that the network shows for tests")
	case !codes && a.Test != NetworkCheck:
		bad.Add("test_code", CodeInvalidValue, "must be %s, or left out", NetworkCheck)
	}
}

// address is the account as a destination keeps it.
func (a NetworkAccount) address(network DestinationKind) string {
	values := url.Values{}
	for name, value := range map[string]string{"action": a.Action, "login": a.Login, "test": a.Test} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return (&url.URL{Scheme: string(network), Host: a.ID, RawQuery: values.Encode()}).String()
}

// ParseNetworkAccount reads the address of a destination that is a network.
func ParseNetworkAccount(address string) (NetworkAccount, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return NetworkAccount{}, fmt.Errorf("commerce: %q is no account of a network", address)
	}
	values := u.Query()
	return NetworkAccount{ID: u.Host, Action: values.Get("action"), Login: values.Get("login"), Test: values.Get("test")}, nil
}

// TestCounts reports whether the network would take a test for a sale: Meta and TikTok tell one by a code, the others check it.
func (a NetworkAccount) TestCounts(network DestinationKind) bool {
	return a.Test == "" && (network == ToMeta || network == ToTikTok)
}

// Network is where a company's conversions go: a destination that is an account at a network, with its settings.
type Network struct {
	Endpoint
	Account NetworkAccount
	// AllOrders sends every approved order, not only those that are proven to be an influencer's.
	AllOrders bool
}

// NetworkOf reads a destination that is a network.
func NetworkOf(e Endpoint) (Network, error) {
	a, err := ParseNetworkAccount(e.URL)
	return Network{Endpoint: e, Account: a, AllOrders: slices.Contains(e.Types, ConversionOther)}, err
}

// Stored is the destination that the network is kept as.
func (n Network) Stored() Endpoint {
	e := n.Endpoint
	e.URL, e.Types = n.Account.address(n.Kind), []EventType{ConversionProven}
	if n.AllOrders {
		e.Types = append(e.Types, ConversionOther)
	}
	return e
}

// Check adds what is wrong with what the merchant set of a network.
func (n Network) Check(bad *Violations) {
	bad.Filled("name", n.Name, MaxEndpointName)
	n.Account.Check(n.Kind, bad)
}

// GoogleTokenURL is where Google gives access tokens for a key of a service account
// (developers.google.com/identity/protocols/oauth2/service-account).
const GoogleTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // a public address

// ServiceAccount is the key file of a Google service account: the parts that are needed.
type ServiceAccount struct {
	Type    string `json:"type"`
	Email   string `json:"client_email"`
	Key     string `json:"private_key"` // PEM
	KeyID   string `json:"private_key_id"`
	TokenAt string `json:"token_uri"`

	Signer *rsa.PrivateKey `json:"-"` // Key
}

// ParseServiceAccount reads a key file of a Google service account.
func ParseServiceAccount(text string) (a ServiceAccount, err error) {
	wrong := errors.New("commerce: no key file of a Google service account")
	if err = json.Unmarshal([]byte(text), &a); err != nil || a.Type != "service_account" || a.Email == "" || a.TokenAt != GoogleTokenURL {
		return a, wrong
	}
	block, _ := pem.Decode([]byte(a.Key))
	if block == nil {
		return a, wrong
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, is := key.(*rsa.PrivateKey)
	if err != nil || !is {
		return a, wrong
	}
	a.Signer = signer
	return a, nil
}

// CheckNetworkSecret adds what is wrong with a network's secret: an access token of Meta or TikTok, an API secret of GA4, the key file of
// a Google service account.
func CheckNetworkSecret(network DestinationKind, secret string, bad *Violations) {
	switch {
	case secret == "":
		bad.Add("secret", CodeEmpty, "is needed: give the access token or the key")
	case len(secret) > MaxNetworkSecret:
		bad.Add("secret", CodeTooLong, "is longer than %d characters", MaxNetworkSecret)
	case network == ToGoogle:
		if _, err := ParseServiceAccount(secret); err != nil {
			bad.Add("secret", CodeInvalidValue, "must be the key file of a service account, whole, as Google made it (JSON)")
		}
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		bad.Add("secret", CodeInvalidValue, "has a space or another character that no token has")
	}
}

// ConversionTold is the data of events of networks: which order is to be looked at.
type ConversionTold struct {
	OrderID string `json:"orderId"`
}

// Key is the order's key among events.
func (c ConversionTold) Key() string { return "order:" + c.OrderID }

// Told is by what it is remembered what the account was told: what a test tells counts for nothing else.
func (a NetworkAccount) Told() string {
	told := a.ID
	if a.Action != "" {
		told += "/" + a.Action
	}
	if a.Test != "" {
		told += " (test)"
	}
	return told
}

// ToldConversion is a conversion that a network was told of, or may have been. It stays when the account is removed.
type ToldConversion struct {
	Network DestinationKind `json:"network"`
	Account string          `json:"account"` // NetworkAccount.Told
	OrderID string          `json:"order_id"`
	BegunAt time.Time       `json:"-"` // before it was first sent
	SentAt  time.Time       `json:"-"` // the network took it; zero: it is not known whether it did
	Value   Amount          `json:"-"` // as the network has it: less what was refunded
}

// Why a message for a network is done without being sent.
const (
	SkipNoConsent = "no_consent" // the shopper did not agree to this network
	SkipNotAsked  = "not_asked"  // nothing says that the shopper was asked
	SkipErased    = "erased"     // the order's person is erased, or is to be
	SkipNotSold   = "not_sold"   // the order is not approved, or is a test, and the network knows nothing of it
	SkipUnproven  = "not_proven" // it is not proven to be an influencer's, or waits for a review
	SkipTold      = "told"       // the network has it as it is
	SkipTooOld    = "too_old"    // the network takes no event that is so old
	SkipNoRefund  = "no_refund"  // the network knows no refunds
	SkipNobody    = "nobody"     // nothing says who bought that the network could know
)

// Why an attempt at a network failed.
const (
	TryRefused = "refused" // the network refused this event for good
	TryAccount = "account" // the network refuses the account or its secret
	// TryProcessing: the network took it, and says later what became of it. Try.Answer is the network's id of the request.
	TryProcessing = "processing"
)
