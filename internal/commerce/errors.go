package commerce

import "errors"

// Error kinds. An adapter translates its driver's errors into these once; a
// service maps them once to its own answers.
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")
	ErrUnavailable = errors.New("unavailable") // a dependency cannot take it now: retry
)
