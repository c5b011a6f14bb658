package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Codes of errors. They are stable: clients branch on them.
const (
	codeValidation       = "validation_error"
	codeInvalidJSON      = "invalid_json"
	codeInvalidURL       = commerce.CodeInvalidURL
	codeInvalidDate      = commerce.CodeInvalidDate
	codeUnauthorized     = "unauthorized"
	codeScope            = "insufficient_scope"
	codeArchived         = "company_archived"
	codeNotFound         = "not_found"
	codeMethod           = "method_not_allowed"
	codeCouponConflict   = "coupon_period_conflict"
	codeNameTaken        = "name_taken"
	codePayloadTooLarge  = "payload_too_large"
	codeUnsupportedMedia = "unsupported_media_type"
	codeKeyMismatch      = "idempotency_key_mismatch"
	codeKeyInProgress    = "idempotency_in_progress"
	codeRateLimit        = "rate_limit_exceeded"
	codeUnavailable      = "unavailable"
	codeInternal         = "internal_error"

	messageInternal = "something failed on our side; the request id helps us find it"
)

// problem is an error as it is sent to the caller.
type problem struct {
	status     int
	code       string
	message    string // for people; never an internal text
	details    []detail
	data       any
	header     http.Header
	retryAfter time.Duration
}

func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.status, p.code, p.message) }

// causedProblem is a problem with its cause, which is logged and never sent.
type causedProblem struct {
	problem *problem
	cause   error
}

func (p *causedProblem) Error() string { return p.problem.Error() + ": " + p.cause.Error() }

func (p *causedProblem) Unwrap() []error { return []error{p.problem, p.cause} }

// nothingDeleted is the documented answer of DELETE operations that find nothing:
// an error, and data in the same shape as for a success.
func nothingDeleted(message string) *problem {
	p := notFound(message)
	p.data = outcomes{Message: message, Data: []outcome{{Message: message, Status: http.StatusNotFound}}}
	return p
}

// archived refuses every request for a company that is archived.
func archived() *problem {
	return &problem{status: http.StatusForbidden, code: codeArchived,
		message: "the store is archived: its API keys are refused, and it takes no orders and no changes. The dashboard still shows it"}
}

// missing is an error, or the problem of what it says is not there.
func missing(err error, none error) error {
	if errors.Is(err, commerce.ErrNotFound) {
		return none
	}
	return err
}

func notFound(message string) *problem {
	return &problem{status: http.StatusNotFound, code: codeNotFound, message: message}
}

// unavailable asks the caller to retry. Nothing was done in part. Where the
// connection to Postgres broke during a commit, all may have been done.
func unavailable() *problem {
	return &problem{status: http.StatusServiceUnavailable, code: codeUnavailable,
		message: "this cannot be taken just now; retry the same request", retryAfter: time.Second}
}

// problemOf returns the problem of an error. Only here error kinds are mapped to
// HTTP. The caller logs the cause of a 5xx.
func problemOf(err error) *problem {
	var p *problem
	var coupons *commerce.CouponConflictError
	var name *commerce.NameTakenError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &coupons):
		return couponConflict(coupons, "coupons[%d].cupom")
	case errors.As(err, &name):
		return nameTaken(name, "name")
	case errors.Is(err, commerce.ErrArchived): // since the key was looked up
		return archived()
	case errors.Is(err, commerce.ErrNotFound):
		return notFound("there is no such thing in this store")
	case errors.Is(err, commerce.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unavailable()
	}
	return &problem{status: http.StatusInternalServerError, code: codeInternal, message: messageInternal}
}

// brokenRules returns the problem of a request that breaks rules, nil where it
// breaks none. Its code is invalid_url or invalid_date where all violations have
// that code, else validation_error.
func brokenRules(bad *commerce.Violations) error {
	if !bad.Any() {
		return nil
	}
	code := bad.List[0].Code
	details := make([]detail, len(bad.List))
	for i, v := range bad.List {
		details[i] = detail{Field: v.Field, Code: v.Code, Message: v.Message}
		if v.Code != code {
			code = codeValidation
		}
	}
	if code != codeInvalidURL && code != codeInvalidDate {
		code = codeValidation
	}
	message := strings.TrimSpace(details[0].Field + " " + details[0].Message)
	if n := len(details) + bad.More; n > 1 {
		message = fmt.Sprintf("%d rules are violated; the first: %s", n, message)
	}
	return &problem{status: http.StatusBadRequest, code: code, message: message, details: details}
}
