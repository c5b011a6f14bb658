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

func badCursor(text string) error { return fmt.Errorf("%.40q %w", text, ErrBadCursor) }

// cursorText is a cursor's parts in base64, so that clients do not take it apart. No part but the last has a dot.
func cursorText(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, ".")))
}

// cursorParts returns n parts that cursorText wrote; n empty ones, and false, for another text.
func cursorParts(text string, n int) (parts []string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if parts = strings.SplitN(string(raw), ".", n); err != nil || len(parts) != n {
		return make([]string, n), false
	}
	return parts, true
}

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
		return Cursor{}, badCursor(text)
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

// String is "" for the zero cursor.
func (c InfluencerCursor) String() string {
	if c.IsZero() {
		return ""
	}
	return cursorText(strconv.FormatInt(c.CreatedAt.UnixMicro(), 36), c.InfluencerID)
}

// ParseInfluencerCursor reads what String wrote.
func ParseInfluencerCursor(text string) (InfluencerCursor, error) {
	if text == "" {
		return InfluencerCursor{}, nil
	}
	parts, ok := cursorParts(text, 2)
	at, err := strconv.ParseInt(parts[0], 36, 64)
	c := InfluencerCursor{CreatedAt: time.UnixMicro(at).UTC(), InfluencerID: parts[1]}
	if !ok || err != nil || !uuidtext.Is(c.InfluencerID) || !Recordable(c.CreatedAt) {
		return InfluencerCursor{}, badCursor(text)
	}
	return c, nil
}
