package account

import (
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Why a write with an Idempotency-Key is not done.
var (
	ErrKeyMismatch   = errors.New("the idempotency key was used for another request")
	ErrKeyInProgress = errors.New("a request with the idempotency key is under way")
)

// RepeatKeyPrefix begins the keys of requests that came without an Idempotency-Key and
// are told by their content alone. Those of callers are keyed digests, which begin with
// their version. What ends or changes a rule forgets them: then the same request means
// something new.
const RepeatKeyPrefix = "repeat:"

// Claim asks to reserve an Idempotency-Key for one write.
type Claim struct {
	CompanyID   string
	Key         string        // a keyed digest of the caller's Idempotency-Key
	Fingerprint [32]byte      // of the request; another request with the same key is ErrKeyMismatch
	Lease       time.Duration // how long the key stays reserved when the process dies
	Keep        time.Duration // how long the answer is replayed

	Former *FormerClaim // reserved as well; nil: the hashing secret is not being rotated
}

// FormerClaim is what a claim is by the former hashing secret.
type FormerClaim struct {
	Key         string
	Fingerprint [32]byte
}

// maxIdempotencyKey bounds an Idempotency-Key, in characters.
const maxIdempotencyKey = 255

// CheckIdempotencyKey returns every rule that an Idempotency-Key breaks.
func CheckIdempotencyKey(key string) (bad commerce.Violations) {
	if !utf8.ValidString(key) {
		bad.Add("Idempotency-Key", commerce.CodeInvalidCharacters, "is not UTF-8")
	}
	bad.Filled("Idempotency-Key", key, maxIdempotencyKey)
	return bad
}

// Claimed is the result of a Claim: an Attempt, or the Answer of a write that was
// done before.
type Claimed struct {
	Attempt Attempt         // nil where the write was done before
	Answer  json.RawMessage // the data of the stored answer
}

// Attempt is a write whose key is reserved. End it with Finish or Abandon. It is
// not safe for concurrent use.
type Attempt interface {
	// Within returns a context. Changes made with it are committed by Finish.
	Within(ctx context.Context) context.Context

	// Finish stores the answer in one commit with the changes. After an error
	// neither is stored, unless the connection was lost during the commit: then a
	// later Claim shows whether they are.
	Finish(ctx context.Context, answer json.RawMessage) error

	// Abandon undoes the changes and frees the key. After Finish
	// stored an answer it does nothing.
	Abandon(ctx context.Context) error
}
