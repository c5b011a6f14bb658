package commerce

import "errors"

// Error kinds. Adapters translate their drivers' errors into these, and services
// map them to their answers, each in one place.
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")
	ErrUnavailable = errors.New("unavailable") // a dependency does not work at the moment: retry
)
