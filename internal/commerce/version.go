package commerce

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Version is what a form showed of one thing: how often it had been changed. A change that
// is made by a form of an older version is refused (StaleError), so that nobody overwrites
// what they have not seen.
type Version struct {
	Subject string // of the audit log: an influencer's id, an order's, a company's …
	Changes int64  // of the subject and of its parts that the audit log has
}

// String writes a version as a form has it: "12.<subject>".
func (v Version) String() string { return strconv.FormatInt(v.Changes, 10) + "." + v.Subject }

// ParseVersion reads what String wrote.
func ParseVersion(text string) (v Version, err error) {
	changes, subject, _ := strings.Cut(text, ".")
	v.Subject = subject
	if v.Changes, err = strconv.ParseInt(changes, 10, 64); err != nil || v.Changes < 0 || !IsID(subject) {
		return Version{}, fmt.Errorf("%.40q is no version", text)
	}
	return v, nil
}

type versionKey struct{}

// WithVersion says of every change below ctx which version it is made from.
func WithVersion(ctx context.Context, v Version) context.Context {
	return context.WithValue(ctx, versionKey{}, v)
}

// VersionOf returns what WithVersion set, and false where a change is made from none: it is
// not checked then.
func VersionOf(ctx context.Context) (v Version, ok bool) {
	v, ok = ctx.Value(versionKey{}).(Version)
	return v, ok
}

// StaleError refuses a change that is made from an older version. It is an ErrConflict.
type StaleError struct{ CompanyID, Subject string }

// Error implements error.
func (e *StaleError) Error() string { return e.Subject + " was changed meanwhile" }

// Unwrap returns the kind of the error.
func (e *StaleError) Unwrap() error { return ErrConflict }
