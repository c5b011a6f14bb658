package admin

import (
	"net/url"
	"strconv"

	"github.com/tributary-io/tributary/internal/commerce"
)

// maxPage bounds the query parameter limit, and how many a full list reads at once.
const maxPage = 100

// pageQuery reads limit and cursor of a list. A limit of 0 is the full list.
func pageQuery(query url.Values, bad *commerce.Violations) (limit int, after commerce.InfluencerCursor) {
	if query.Has("limit") {
		n, err := strconv.Atoi(query.Get("limit"))
		if err != nil || n < 1 || n > maxPage {
			bad.Add("limit", commerce.CodeOutOfRange, "must be an integer between 1 and %d", maxPage)
		}
		limit = n
	}
	if query.Has("cursor") {
		var err error
		if after, err = commerce.ParseInfluencerCursor(query.Get("cursor")); err != nil || after.IsZero() {
			bad.Add("cursor", commerce.CodeInvalidValue, "must be a next_cursor of an earlier page")
		}
		if limit == 0 {
			limit = maxPage
		}
	}
	return limit, after
}
