package commerce

import "errors"

// Error kinds. Adapters translate their drivers' errors into these, and services
// map them to their answers, each in one place.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
	// ErrNotOnKafka is of a change that is stored, and was not seen on Kafka in time. It will be sent; the same one may be made again.
	ErrNotOnKafka  = errors.New("stored, but not on Kafka yet")
	ErrUnavailable = errors.New("unavailable") // a dependency does not work at the moment: retry
)
