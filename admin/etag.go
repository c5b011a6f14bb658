package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// revalidated sets the ETag of what was read, and tells whether the caller has
// it already. The tag is weak: it is of data and pagination, while request_id
// and timestamp change with each answer.
func revalidated(w http.ResponseWriter, r *http.Request, a answer) (bool, error) {
	body, err := json.Marshal(envelope{Data: a.data, Pagination: a.pagination})
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(body)
	opaque := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	header := w.Header()
	header.Set("ETag", "W/"+opaque)
	// A client may keep it, must ask before it uses it, and only for this key.
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
