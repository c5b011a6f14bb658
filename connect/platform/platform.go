// Package platform is what the connect service knows of every shop platform: the types that a platform's folder fills, and the
// client by which all of them speak to shops' servers.
//
// A platform is a folder of at most five files: client.go (its API), order.go (its order to ours, a pure function), notice.go
// (what its webhooks say, and whether they are its), coupon.go and install.go. It adds itself to the list in connect/platforms.
package platform

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Platform is a kind of shop. Its methods are safe for concurrent use.
type Platform interface {
	// Offer says how a merchant connects a shop. The service fills Install where Installer is implemented.
	Offer() commerce.OfferedPlatform
	// Limits are how many requests a shop may get.
	Limits() Limits
	// Open returns a client of the shop that credentials name. It sends nothing. Errors are *Error.
	Open(c Credentials, client *Client) (Shop, error)
	// Notices reads what the platform sent to a connection's address, after it checked that the platform sent it: by Secret, or
	// AppSecrets. ErrForged where it did not. A notice that means nothing to us is an empty list.
	Notices(d Delivery) ([]Notice, error)
}

// Both is a text of an offer in each of its languages.
func Both[T any](en, pt T) map[string]T { return map[string]T{"en": en, "pt-BR": pt} }

// Installer is a Platform whose merchants allow an app of the operator instead of pasting keys.
type Installer interface {
	// InstallURL is the page where the merchant allows the app, which gives state back.
	InstallURL(app App, state string) string
	// Exchange turns the code that came back into credentials.
	Exchange(ctx context.Context, app App, code string, client *Client) (Credentials, error)
}

// Signer is a Platform whose notices are signed with a value of the merchant's own app instead of what Subscribe gave.
type Signer interface {
	// NoticeSecret is that value; empty: its notices cannot be checked, and none are asked for.
	NoticeSecret(c Credentials) string
}

// AppNotifier is a Platform that sends what persons ask of its shops to one address of the operator's app.
type AppNotifier interface {
	Platform
	// NoticedShop returns the shop that a delivery's signed body names, as About.ID, after it checked that one of AppSecrets signed
	// it: ErrForged where none did. Empty where the body names none.
	NoticedShop(d Delivery) (shop string, err error)
}

// App is what the operator registered at a platform, once.
type App struct{ ID, Secret string }

// Credentials are what a merchant pasted, by the names of CredentialField, and what a platform gave.
type Credentials map[string]string

// Limits of one shop's API, with the platform's page as their source in a comment.
type Limits struct {
	PerSecond float64
	Burst     float64
	Hosts     []string // which may be asked: a name, or "*.example.com". Empty: the merchant names it, and it is a public address
	// Wait is how long a platform's own headers ask to wait after 429, where it sends no Retry-After; nil: it has none.
	Wait func(h http.Header) time.Duration
}

// Shop is an opened shop. Errors are *Error, but for those of the context.
type Shop interface {
	// About asks the platform once: who is it, and what may we do.
	About(ctx context.Context) (About, error)
	// Changed returns one page of orders that were changed from After on, oldest change first as far as the platform can; token
	// is empty for the first page, else Page.Next.
	Changed(ctx context.Context, after time.Time, token string) (Page, error)
	// Created returns one page of orders that were created in [from, to), oldest first.
	Created(ctx context.Context, from, to time.Time, token string) (Page, error)
	// Digests is Created in short, for comparing: it may cost fewer requests.
	Digests(ctx context.Context, from, to time.Time, token string) (digests []Digest, next string, err error)
	// Order reads one order. An *Error with commerce.ShopNotFound where the shop has none of that id.
	Order(ctx context.Context, id string) (Item, error)
	// Subscribe asks the platform to send notices to a URL, signed with a secret where the platform takes one; what is there
	// already stays. It may be called again at any time. An *Error with commerce.ShopLacksScope where it may not.
	Subscribe(ctx context.Context, url, secret string) error
	// Unsubscribe takes back what Subscribe asked for that URL. Nothing there is no error.
	Unsubscribe(ctx context.Context, url string) error
	// Coupon reads the coupon with a code; found is false where the shop has none.
	Coupon(ctx context.Context, code string) (c commerce.ShopCoupon, found bool, err error)
	// CreateCoupon makes one. An *Error with commerce.ShopUnknownWrite where there was no answer.
	CreateCoupon(ctx context.Context, c commerce.ShopCoupon) error
}

// About is a shop, as its platform tells it.
type About struct {
	ID, Name  string
	URL       string   // where shoppers see it
	Currency  string   // ISO 4217
	ProofKey  string   // commerce.ProofCart, …
	Lacks     []string // permissions that are missing, as the platform names them: commerce.OfferedPlatform.Without says what does not come
	CanNotify bool
}

// Page is one answer of a list.
type Page struct {
	Items []Item
	Next  string // empty: the last page
	Total int64  // of all pages; 0: not told
	// OldestFirst says of Changed that the platform sorts all pages by the time of the change, the oldest first. The reader then
	// goes on from the time of the last one instead of Next, so that a change between two pages moves nothing past it.
	OldestFirst bool
	// Stored tells the platform that the page is stored, where it waits for that (a feed). nil: it does not.
	Stored func(ctx context.Context) error
}

// Item is one order of a page: Order, or Aside where it cannot be read.
type Item struct {
	ID        string
	UpdatedAt time.Time // by the platform; zero where Aside and unknown
	CreatedAt time.Time
	Order     *Order
	Aside     *Aside
}

// Order is an order of a shop as POST /orders takes it. The platform's folder fills all fields that it knows and none that it
// guesses; pointers and omitzero so that what is not known is not sent.
type Order struct {
	OrderID       string        `json:"orderId"`
	Number        int64         `json:"number,omitempty"`
	Name          string        `json:"name,omitempty"`
	Status        int           `json:"orderStatus"` // 0 approved, 1 pending, 2 cancelled
	CreatedAt     time.Time     `json:"createdAt"`
	UpdatedAt     time.Time     `json:"updatedAt"`
	DeliveredAt   time.Time     `json:"deliveredAt,omitzero"`
	TotalPrice    json.Number   `json:"totalPrice"` // decimal text, what is left after refunds; never a float
	Discounts     json.Number   `json:"totalDiscounts,omitempty"`
	Shipping      json.Number   `json:"shippingPrice,omitempty"`
	Tax           json.Number   `json:"taxPrice,omitempty"`
	PaymentMethod int           `json:"paymentMethod,omitempty"` // 1 credit card, 2 deposit, 3 bank slip, 4 instant payment, 15 other
	Installments  int           `json:"installments,omitempty"`
	Currency      string        `json:"currency"`
	Codes         []Code        `json:"discountCodes"` // never nil: [] clears
	Province      string        `json:"provinceCode,omitempty"`
	Country       string        `json:"countryCode,omitempty"`
	UTMSource     string        `json:"utmSource,omitempty"`
	UTMMedium     string        `json:"utmMedium,omitempty"`
	UTMCampaign   string        `json:"utmCampaign,omitempty"`
	UTMContent    string        `json:"utmContent,omitempty"`
	UTMTerm       string        `json:"utmTerm,omitempty"`
	UserAgent     string        `json:"userAgent,omitempty"`
	BrowserIP     string        `json:"browserIp,omitempty"`
	CartToken     string        `json:"cartToken,omitempty"` // only a value that nobody but the buyer's browser and the shop can know
	Source        int           `json:"source"`              // 0 web, 1 marketplace, 2 app, 3 other
	Test          bool          `json:"test,omitempty"`
	Subscription  *Subscription `json:"subscription,omitempty"`
	Refunds       []Refund      `json:"refunds,omitempty"`
	Customer      *Customer     `json:"customer,omitempty"`
	Items         []OrderItem   `json:"items,omitempty"`
}

// Code is a coupon code that was applied, and what it took off.
type Code struct {
	Code   string      `json:"code"`
	Amount json.Number `json:"amount,omitempty"`
}

// Subscription says that an order renews one.
type Subscription struct {
	Recurring bool `json:"isRecurring"`
}

// Refund is what was given back.
type Refund struct {
	ID        string      `json:"id,omitempty"`
	Amount    json.Number `json:"amount"`
	CreatedAt time.Time   `json:"createdAt,omitzero"`
}

// Customer is who bought.
type Customer struct {
	ID    string `json:"customerId,omitempty"`
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	Phone string `json:"phone,omitempty"`
}

// OrderItem is a line of an order.
type OrderItem struct {
	ItemID    string      `json:"item_id"` // the variant's id where there are variants, else the product's
	ProductID string      `json:"productId,omitempty"`
	VariantID string      `json:"variantId,omitempty"`
	Quantity  int         `json:"quantity"`
	Price     json.Number `json:"price"` // of one
}

// Aside is why an order was not read.
type Aside struct {
	Reason string   // commerce.ShopUnknownShape, …
	Detail string   // the field and what is wrong, without its value
	Fields []string // names of the order's fields, at most 100
}

// Digest is an order in short.
type Digest struct {
	ID        string
	Status    int    // 0, 1, 2; -1 where the order cannot be read, so that it differs
	Total     string // decimal, as Order.TotalPrice
	Test      bool
	CreatedAt time.Time
}

// Delivery is a request to a connection's address.
type Delivery struct {
	Header     http.Header
	Body       []byte   // raw, at most 1 MiB
	Secret     string   // of the connection: given to Subscribe, or NoticeSecret of a Signer
	AppSecrets []string // of the operator's app: the present one, and the one before
	Shop       string   // the connection's, as About.ID
	ShopURL    string   // as About.URL
}

// ErrForged refuses a delivery that the platform did not send for this shop.
var ErrForged = errors.New("the signature does not fit")

// Kinds of notices.
const (
	NoticeOrder       = "order"       // look at OrderID now
	NoticeUninstalled = "uninstalled" // the merchant removed the app
	NoticeSuspended   = "suspended"
	NoticeResumed     = "resumed"
	NoticeRedact      = "redact"       // erase a person
	NoticeRedactShop  = "redact_shop"  // erase the persons of all orders
	NoticeDataRequest = "data_request" // a person asks what is known
)

// Notice is what a delivery says.
type Notice struct {
	Kind    string
	OrderID string
	Person  Person
}

// Person is whom a privacy notice names.
type Person struct {
	CustomerID, Email, Phone string
	OrderIDs                 []string // at most 1,000
}

// Error is why a platform was not read or written: Reason is one of commerce.Shop…, Detail has no secrets and at most 200
// characters.
type Error struct {
	Reason, Detail string
	RetryAfter     time.Duration // of commerce.ShopLimited; 0: not told
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Detail
}

// Failed returns the *Error that an error is, and whether it is one of these reasons; without reasons, of any.
func Failed(err error, reasons ...string) (*Error, bool) {
	failed, ok := errors.AsType[*Error](err)
	return failed, ok && (len(reasons) == 0 || slices.Contains(reasons, failed.Reason))
}

// NotFound reports whether an error says that the shop has nothing of that name: an *Error of commerce.ShopNotFound.
func NotFound(err error) bool {
	_, not := Failed(err, commerce.ShopNotFound)
	return not
}
