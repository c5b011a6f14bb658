package commerce

import (
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"
)

// What stands against a write under an Idempotency-Key.
var (
	ErrKeyMismatch   = errors.New("the idempotency key was used for another request")
	ErrKeyInProgress = errors.New("a request with the idempotency key is under way")
)

// Claim asks for the right to do a write once.
type Claim struct {
	CompanyID   string
	Key         string        // the caller's Idempotency-Key
	Fingerprint [32]byte      // of the request: another one under the same key is ErrKeyMismatch
	Lease       time.Duration // how long others wait for an attempt whose process died
	Keep        time.Duration // how long the answer is replayed
}

// maxIdempotencyKey bounds an Idempotency-Key, in characters.
const maxIdempotencyKey = 255

// CheckIdempotencyKey tells every rule that an Idempotency-Key breaks.
func CheckIdempotencyKey(key string) (bad Violations) {
	if !utf8.ValidString(key) {
		bad.Add("Idempotency-Key", CodeInvalidCharacters, "is not UTF-8")
	}
	bad.filled(place{}, "Idempotency-Key", key, maxIdempotencyKey)
	return bad
}

// Claimed is a Claim that was heard: either Attempt, or, where the write was
// done before, Answer.
type Claimed struct {
	Attempt Attempt         // nil where the write was done before
	Answer  json.RawMessage // the data of the stored answer
}

// Attempt is the right to do a write once. It ends by Finish or Abandon. Not
// safe for concurrent use.
type Attempt interface {
	// Within is a context whose changes are not committed before Finish.
	Within(ctx context.Context) context.Context

	// Finish stores the answer, in one commit with the changes made Within. An
	// error undoes both, but for a lost connection at the commit: then a later
	// Claim tells whether they were stored.
	Finish(ctx context.Context, answer json.RawMessage) error

	// Abandon undoes the changes made Within and frees the key. After Finish
	// stored an answer it does nothing.
	Abandon(ctx context.Context) error
}
