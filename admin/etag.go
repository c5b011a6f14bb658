package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// revalidated sets the ETag of what was read, and reports whether the caller has
// it already. The tag is weak: it covers data and pagination, while request_id
// and timestamp are different in each answer.
func revalidated(w http.ResponseWriter, r *http.Request, a answer) (bool, error) {
	covered := envelope{Data: a.data, Pagination: a.pagination}
	if a.tagged != nil {
		covered.Data = a.tagged
	}
	body, err := json.Marshal(covered)
	if err != nil {
		return false, err
	}
	if a.csv != nil {
		body = a.csv
	}
	sum := sha256.Sum256(body)
	opaque := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	header := w.Header()
	header.Set("ETag", "W/"+opaque)
	// A client may keep the answer for this key, and must ask before it uses it again.
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Authorization")
	return noneMatch(r.Header.Values("If-None-Match"), opaque), nil
}

// noneMatch is RFC 9110's weak comparison of If-None-Match with an opaque tag.
func noneMatch(values []string, opaque string) bool {
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == opaque {
				return true
			}
		}
	}
	return false
}
