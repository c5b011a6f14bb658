package admin

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
)

// maxPage bounds the query parameter limit, and the pages in which full lists are read.
const maxPage = 100

// pageQuery reads limit and cursor of a list. A limit of 0 asks for the full list.
func pageQuery(query url.Values, bad *violations) (limit int, after commerce.InfluencerCursor) {
	if query.Has("limit") {
		n, err := strconv.Atoi(query.Get("limit"))
		if err != nil || n < 1 || n > maxPage {
			bad.add("limit", "out_of_range", "must be an integer between 1 and %d", maxPage)
		}
		limit = n
	}
	if query.Has("cursor") {
		var ok bool
		if after, ok = readCursor(query.Get("cursor")); !ok {
			bad.add("cursor", "invalid_value", "must be a next_cursor of an earlier page")
		}
		if limit == 0 {
			limit = maxPage
		}
	}
	return limit, after
}

// cursorText makes a place in a list opaque: clients must not build one.
func cursorText(c commerce.InfluencerCursor) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.CreatedAt.UnixMicro(), 36) + "." + c.InfluencerID))
}

func readCursor(text string) (commerce.InfluencerCursor, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	micros, id, found := strings.Cut(string(raw), ".")
	if err != nil || !found || !isUUID(id) {
		return commerce.InfluencerCursor{}, false
	}
	at, err := strconv.ParseInt(micros, 36, 64)
	if err != nil || at < 0 || at > maxCursorMicros {
		return commerce.InfluencerCursor{}, false
	}
	return commerce.InfluencerCursor{CreatedAt: time.UnixMicro(at).UTC(), InfluencerID: id}, true
}

// maxCursorMicros is the year 9999: beyond it Postgres's and Go's times part ways.
const maxCursorMicros = 253402300799 * 1_000_000

// isUUID takes the plain form only: Postgres does not take all that uuid does.
func isUUID(text string) bool { return len(text) == 36 && uuid.Validate(text) == nil }
