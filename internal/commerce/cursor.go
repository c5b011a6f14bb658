package commerce

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/uuidtext"
)

// ErrBadCursor refuses text that no cursor's String wrote.
var ErrBadCursor = errors.New("is not a cursor")

// Cursor is a place in a list of a company's orders: after the order of that
// time and id. The zero cursor is before all orders. Which time of an order At
// is depends on the list.
type Cursor struct {
	At      time.Time // whole microseconds, Postgres's precision
	OrderID string
}

// IsZero reports whether the cursor is before all orders.
func (c Cursor) IsZero() bool { return c.At.IsZero() }

// Before reports whether c comes before other.
func (c Cursor) Before(other Cursor) bool {
	if !c.At.Equal(other.At) {
		return c.At.Before(other.At)
	}
	return c.OrderID < other.OrderID
}

// String is "<Unix microseconds>.<order id>", or "" for the zero cursor.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.At.UnixMicro(), 10) + "." + c.OrderID
}

// ParseCursor reads what String wrote.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	micros, id, found := strings.Cut(text, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	c := Cursor{At: time.UnixMicro(at).UTC(), OrderID: id}
	if !found || err != nil || !Recordable(c.At) || id != "" && !IsID(id) {
		return Cursor{}, fmt.Errorf("%.40q %w", text, ErrBadCursor)
	}
	return c, nil
}

// InfluencerCursor is a place in the list of influencers: after the one
// created then with that id. The zero value is the beginning.
type InfluencerCursor struct {
	CreatedAt    time.Time
	InfluencerID string
}

// IsZero reports whether the cursor is the beginning.
func (c InfluencerCursor) IsZero() bool { return c.InfluencerID == "" }

// String returns the cursor in base64, so that clients do not take it apart, or
// "" for the zero cursor.
func (c InfluencerCursor) String() string {
	if c.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.CreatedAt.UnixMicro(), 36) + "." + c.InfluencerID))
}

// ParseInfluencerCursor reads what String wrote.
func ParseInfluencerCursor(text string) (InfluencerCursor, error) {
	if text == "" {
		return InfluencerCursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, id, found := strings.Cut(string(raw), ".")
	if err != nil || !found || !uuidtext.Is(id) {
		return InfluencerCursor{}, fmt.Errorf("%.40q %w", text, ErrBadCursor)
	}
	at, err := strconv.ParseInt(micros, 36, 64)
	c := InfluencerCursor{CreatedAt: time.UnixMicro(at).UTC(), InfluencerID: id}
	if err != nil || !Recordable(c.CreatedAt) {
		return InfluencerCursor{}, fmt.Errorf("%.40q %w", text, ErrBadCursor)
	}
	return c, nil
}
