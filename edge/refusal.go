package edge

import (
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Code says why a request was refused. Codes are part of the interface: they
// do not change. A body that cannot be read is refused with one of core's codes.
type Code string

const (
	codeUnsupportedMediaType Code = "unsupported_media_type"
	codeUnsupportedEncoding  Code = "unsupported_encoding"
	codeInvalidEncoding      Code = "invalid_encoding"
	codePayloadTooLarge      Code = "payload_too_large"
	codeHeadersTooLarge      Code = "headers_too_large"
	codeInvalidRequest       Code = "invalid_request"
	codeRequestTimeout       Code = "request_timeout"
	codeMethodNotAllowed     Code = "method_not_allowed"
	codeNotFound             Code = "not_found"
	codeUnknownCompany       Code = "unknown_company"
	codeUnauthorized         Code = "unauthorized"
	codeOriginNotAllowed     Code = "origin_not_allowed"
	codeKeyInBrowser         Code = "key_in_browser"
	codeInsufficientScope    Code = "insufficient_scope"
	codeCompanyArchived      Code = "company_archived"
	codeRateLimitExceeded    Code = "rate_limit_exceeded"
	codeDirectoryNotFresh    Code = "directory_not_fresh"
	codeWrongHashingSecret   Code = "wrong_hashing_secret" //nolint:gosec // a code, no secret
	codeUnavailable          Code = "unavailable"
	codeInternalError        Code = "internal_error"
)

// Codes are all codes but core's.
func Codes() []Code {
	return []Code{
		codeUnsupportedMediaType, codeUnsupportedEncoding, codeInvalidEncoding, codePayloadTooLarge, codeHeadersTooLarge,
		codeInvalidRequest, codeRequestTimeout, codeMethodNotAllowed, codeNotFound, codeUnknownCompany, codeUnauthorized, codeOriginNotAllowed,
		codeKeyInBrowser, codeInsufficientScope, codeCompanyArchived,
		codeRateLimitExceeded, codeDirectoryNotFresh, codeWrongHashingSecret, codeUnavailable, codeInternalError,
	}
}

// refusal is a request answered as a whole with an error.
type refusal struct {
	status     int
	code       Code
	message    string // for people, English
	retryAfter time.Duration
}

// The refusals that say the same each time.
var (
	refusedMediaType = refusal{http.StatusUnsupportedMediaType, codeUnsupportedMediaType, "send application/json or text/plain", 0}
	refusedEncoding  = refusal{http.StatusUnsupportedMediaType, codeUnsupportedEncoding,
		"Content-Encoding may be gzip, deflate, br or zstd", 0}
	refusedBrokenEncoding = refusal{http.StatusBadRequest, codeInvalidEncoding, "the body is not what Content-Encoding says", 0}
	refusedTooLarge       = refusal{http.StatusRequestEntityTooLarge, codePayloadTooLarge, "the body is larger than allowed", 0}
	refusedHeaders        = refusal{http.StatusRequestHeaderFieldsTooLarge, codeHeadersTooLarge, "the headers are larger than 16 KiB", 0}
	refusedTwoLengths     = refusal{http.StatusBadRequest, codeInvalidRequest, "the request has Content-Length beside Transfer-Encoding", 0}
	refusedUnreadable     = refusal{http.StatusBadRequest, codeInvalidRequest, "the request cannot be read", 0}
	refusedTooSlow        = refusal{http.StatusRequestTimeout, codeRequestTimeout, "the request took too long to arrive", 0}
	refusedNotFound       = refusal{http.StatusNotFound, codeNotFound, "no such route", 0}
	refusedNoAsset        = refusal{http.StatusNotFound, codeNotFound, "the SDK has no such file", 0}
	refusedUnknownCompany = refusal{http.StatusUnauthorized, codeUnknownCompany, "companyId names no company of this installation", 0}
	refusedUnauthorized   = refusal{http.StatusUnauthorized, codeUnauthorized, "the API key is unknown, has ended, or is another company's", 0}
	refusedKeyInBrowser   = refusal{http.StatusForbidden, codeKeyInBrowser,
		"a page must not have an API key, since everybody can read it there: revoke it, and send without one", 0}
	refusedFetchMode = refusal{http.StatusForbidden, codeKeyInBrowser,
		"Sec-Fetch-Mode beside an API key: a page must not have one. If this is a server's fetch, send it without a User-Agent of your own, " +
			"or by another client", 0}
	refusedScope = refusal{http.StatusForbidden, codeInsufficientScope,
		"the API key needs the scope " + wire.ScopeWriteEvents + " or " + wire.ScopeImportEvents, 0}
	refusedArchived = refusal{http.StatusForbidden, codeCompanyArchived, "the company is archived: it takes no events any more", 0}
	refusedOrigin   = refusal{http.StatusForbidden, codeOriginNotAllowed, "the company does not list this page's origin", 0}
	refusedNotFresh = refusal{http.StatusServiceUnavailable, codeDirectoryNotFresh,
		"companies are being read; send the events again later", 2 * time.Second}
	refusedKeyNotFresh = refusal{http.StatusServiceUnavailable, codeDirectoryNotFresh,
		"API keys are being read; send the events again later", 2 * time.Second}
	refusedWrongSecret = refusal{http.StatusServiceUnavailable, codeWrongHashingSecret,
		"this edge is misconfigured; send the events again later", 30 * time.Second}
	refusedUnavailable = refusal{http.StatusServiceUnavailable, codeUnavailable,
		"events cannot be stored now; send them again later", 2 * time.Second}
	refusedBusy = refusal{http.StatusServiceUnavailable, codeUnavailable,
		"too many bytes of bodies arrive at once; send this one again later", 2 * time.Second}
	refusedPanic = refusal{http.StatusInternalServerError, codeInternalError, "the request failed; send it again later", 0}
)

// refusedBody is the refusal of a body that core cannot read.
func refusedBody(v *core.Violation) *refusal {
	return &refusal{http.StatusBadRequest, Code(v.Code), reason(v), 0}
}

// refusedRate tells when the company's bucket holds the request's events again.
func refusedRate(wait time.Duration) *refusal {
	return &refusal{http.StatusTooManyRequests, codeRateLimitExceeded,
		"too many events a second for this company; send them again later", wait}
}

func refusedMethod(allowed string) refusal {
	return refusal{http.StatusMethodNotAllowed, codeMethodNotAllowed, "this route takes " + allowed, 0}
}
