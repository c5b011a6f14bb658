package platform

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Scalar is a JSON text or number, as its text: platforms write ids and amounts as either. Text is empty for null, and Wrong
// for any other kind.
type Scalar struct {
	Text  string
	Wrong bool
}

// UnmarshalJSON never fails: Wrong says that it was neither.
func (s *Scalar) UnmarshalJSON(raw []byte) error {
	*s = Scalar{}
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] == '"':
		s.Wrong = json.Unmarshal(raw, &s.Text) != nil
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		s.Text = string(raw)
	default:
		s.Wrong = true
	}
	return nil
}

// Object is a JSON object. Servers that are written in PHP write an empty one as []: it is the zero value then, as for null.
// Wrong says that it was something else.
type Object[T any] struct {
	Value T
	Wrong bool
}

// UnmarshalJSON never fails: Wrong says that it could not be read.
func (o *Object[T]) UnmarshalJSON(raw []byte) error {
	*o = Object[T]{}
	switch compact := string(bytes.TrimSpace(raw)); {
	case compact == "null" || compact == "[]" || compact == `""` || compact == "false":
	case len(compact) > 0 && compact[0] == '{':
		o.Wrong = json.Unmarshal(raw, &o.Value) != nil
	default:
		o.Wrong = true
	}
	return nil
}

// List is a JSON array, empty for null. Wrong says that it was something else.
type List[T any] struct {
	Values []T
	Wrong  bool
}

// UnmarshalJSON never fails: Wrong says that it could not be read.
func (l *List[T]) UnmarshalJSON(raw []byte) error {
	*l = List[T]{}
	if string(raw) != "null" {
		l.Wrong = len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &l.Values) != nil
	}
	return nil
}

// plainDecimal is how platforms write money: no sign, no exponent.
var plainDecimal = regexp.MustCompile(`^[0-9]{1,13}(\.[0-9]{1,8})?$`)

// Minor reads an amount of a currency in its smallest unit, such as cents. What is negative, has an exponent, or more decimal
// places than the currency (but zeros) is an *Error that names the field. No float is involved.
func Minor(field string, s Scalar, currency string) (int64, error) {
	if s.Wrong || !plainDecimal.MatchString(s.Text) {
		return 0, Unread(field + " is no amount")
	}
	minor, err := commerce.ParseMinor(s.Text, currency)
	switch {
	case errors.Is(err, commerce.ErrTooManyDigits):
		return 0, Unread(field + " has more decimal places than " + currency)
	case errors.Is(err, commerce.ErrUnknownCurrency):
		return 0, Unread("currency is not known")
	case err != nil || minor > commerce.MaxAmountMinor:
		return 0, Unread(field + " is too large")
	}
	return minor, nil
}

// Price is one piece's share of an amount for several, with at most four decimal places beyond those of the currency.
func Price(minor int64, pieces int, currency string) json.Number {
	places, err := commerce.Exponent(currency)
	if err != nil || pieces < 1 {
		return Number(minor, currency)
	}
	each := decimal.NewFromInt(minor).Shift(-int32(places)).DivRound(decimal.NewFromInt(int64(pieces)), int32(places)+4)
	return json.Number(each.String())
}

// TakesOff fills what a coupon takes off: a percentage, or an amount.
func TakesOff(c *commerce.ShopCoupon, field string, s Scalar, percent bool) error {
	value, err := commerce.ParseDecimal(s.Text)
	if err != nil || value.IsNegative() {
		return Unread(field)
	}
	if percent {
		c.Percent = value.String()
	} else {
		c.Amount = value.String()
	}
	return nil
}

// layouts are how platforms write times, offsets without a colon included. Fractions of a second are read in all.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05-07"}

// Time reads an instant that names its offset, between 1970 and 2199.
func Time(field string, s Scalar) (time.Time, error) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s.Text); err == nil && !s.Wrong {
			return bounded(field, at)
		}
	}
	return time.Time{}, Unread(field + " is no time")
}

// TimeGMT reads an instant without an offset, which is in UTC.
func TimeGMT(field string, s Scalar) (time.Time, error) {
	at, err := time.Parse("2006-01-02T15:04:05", s.Text)
	if err != nil || s.Wrong {
		return time.Time{}, Unread(field + " is no time")
	}
	return bounded(field, at)
}

func bounded(field string, at time.Time) (time.Time, error) {
	if at = at.UTC(); at.Year() < 1970 || at.Year() > 2199 {
		return time.Time{}, Unread(field + " is out of range")
	}
	return at, nil
}

// wholeNumber is an id, or a count, as text: it may be beyond 2^53, so it never becomes a float.
var wholeNumber = regexp.MustCompile(`^[0-9]{1,20}$`)

// ID reads a whole number as its text.
func ID(field string, s Scalar) (string, error) {
	if s.Wrong || !wholeNumber.MatchString(s.Text) {
		return "", Unread(field + " is no id")
	}
	return s.Text, nil
}

// KnownID is the text of an id, empty for what is none and for 0, which is how platforms write "nobody".
func KnownID(s Scalar) string {
	if id, err := ID("", s); err == nil && strings.Trim(id, "0") != "" {
		return id
	}
	return ""
}

// Whole is a number from 0 to most, or 0.
func Whole(s Scalar, most int) int {
	if n, err := strconv.Atoi(s.Text); err == nil && n >= 0 && n <= most {
		return n
	}
	return 0
}

// Browser fills who sent the order.
func (o *Order) Browser(address, userAgent Scalar) {
	o.UserAgent = userAgent.Text
	if at, err := netip.ParseAddr(strings.TrimSpace(address.Text)); err == nil && at.Zone() == "" {
		o.BrowserIP = at.Unmap().String()
	}
}

// Landing fills the UTM parameters from the address at which the buyer entered the shop.
func (o *Order) Landing(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	query := u.Query()
	for name, field := range map[string]*string{"utm_source": &o.UTMSource, "utm_medium": &o.UTMMedium, "utm_campaign": &o.UTMCampaign,
		"utm_content": &o.UTMContent, "utm_term": &o.UTMTerm} {
		*field = query.Get(name)
	}
}

// Buyer fills the customer. An e-mail or phone that the platform masks ("j***@example.com") is left out: others have the same.
// Nobody is no customer.
func (o *Order) Buyer(id Scalar, name, email, phone string) {
	c := Customer{ID: KnownID(id), Name: name, Email: email, Phone: phone}
	if strings.Contains(c.Email, "*") || !strings.Contains(c.Email, "@") {
		c.Email = ""
	}
	if strings.ContainsAny(c.Phone, "*xX") {
		c.Phone = ""
	}
	if c != (Customer{}) {
		o.Customer = &c
	}
}

// AddCode adds a code that was applied; amount is empty where it is not known what it took off. The same code twice is one.
func (o *Order) AddCode(code string, amount json.Number) {
	code = strings.TrimSpace(code)
	same := func(c Code) bool { return strings.EqualFold(c.Code, code) }
	if code != "" && !slices.ContainsFunc(o.Codes, same) {
		o.Codes = append(o.Codes, Code{Code: code, Amount: amount})
	}
}
