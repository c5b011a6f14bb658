package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lenient"
)

const (
	answerKept = 24 * time.Hour

	// attemptLease is how long a key stays reserved when the process dies during
	// its request. It is longer than any request waits for Postgres and Kafka.
	attemptLease = 10 * time.Second

	// abandonTimeout is short, since the caller still waits for its answer.
	abandonTimeout = 150 * time.Millisecond
)

// runOnce runs a write that has an Idempotency-Key, or that repeatKept knows, at most
// once, and sends the stored answer when the same request comes again. Only successes
// are stored: a request that was refused changed nothing, so it may be corrected and
// sent again with its key. For other requests there is no query.
func (s *Server) runOnce(w http.ResponseWriter, r *http.Request, operation route, c caller) (answer, error) {
	keys := r.Header.Values("Idempotency-Key")
	kept := repeatKept(operation)
	if len(keys) == 0 && kept == 0 || !operation.writes() {
		return answered(w, r, operation, c)
	}
	key := ""
	if len(keys) > 0 {
		var err error
		if key, err = idempotencyKey(keys); err != nil {
			return answer{}, err
		}
		kept = answerKept
	}
	body, err := readBody(w, r)
	if err != nil {
		return answer{}, err
	}
	if operation.rate.ingests() {
		// One bound for Postgres and Kafka together: with one for each, a 503 would
		// take twice as long. Other writes look up names in between.
		ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	claim := account.Claim{CompanyID: c.companyID, Lease: attemptLease, Keep: kept}
	claim.Key, claim.Fingerprint = claimKey(c.keys, key, r, body)
	if former, rotates := c.keys.Former(); rotates { // by which a process that is not restarted yet knows the request
		claim.Former = &account.FormerClaim{}
		claim.Former.Key, claim.Former.Fingerprint = claimKey(former, key, r, body)
	}
	var claimed account.Claimed
	if key == "" {
		claimed, err = s.claimRepeat(r.Context(), claim)
	} else {
		claimed, err = s.claim(r.Context(), claim)
	}
	switch {
	case errors.Is(err, account.ErrKeyMismatch):
		return answer{}, &problem{status: http.StatusUnprocessableEntity, code: codeKeyMismatch,
			message: "this Idempotency-Key was used for another request; take a new key for a new request"}
	case errors.Is(err, account.ErrKeyInProgress):
		return answer{}, keyInProgress()
	case err != nil:
		return answer{}, err
	case claimed.Attempt == nil:
		w.Header().Set("Idempotent-Replayed", "true")
		return readKept(claimed.Answer)
	}
	// Deferred, so that the transaction does not stay open when the operation panics.
	defer s.abandon(r, claimed.Attempt)
	again := r.WithContext(claimed.Attempt.Within(r.Context()))
	again.Body, again.Header = io.NopCloser(bytes.NewReader(body)), r.Header.Clone()
	again.Header.Del("Content-Encoding") // the body is inflated already
	result, err := answered(w, again, operation, c)
	if err != nil {
		return answer{}, err
	}
	return result, s.finish(r, operation, claimed.Attempt, result)
}

// registrationKept is for how long the same registration, sent again, gets the first
// one's answer: a form sent twice registers no second set of links and costs.
const registrationKept = time.Minute

// repeatKept returns for how long the same request without an Idempotency-Key gets the
// first one's answer. Most operations have no such time: it is 0.
func repeatKept(operation route) time.Duration {
	if operation.method == http.MethodPost && operation.path == "/influencers" {
		return registrationKept
	}
	return 0
}

// repeatPause is how long a repeated request waits before it looks again whether the
// first one has its answer.
const repeatPause = 50 * time.Millisecond

// claimRepeat claims a request without an Idempotency-Key by its own fingerprint. While
// the same request is under way it waits for that one's answer, as long as for a
// dependency; then the error is account.ErrKeyInProgress.
func (s *Server) claimRepeat(ctx context.Context, c account.Claim) (account.Claimed, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	for {
		claimed, err := s.claim(ctx, c)
		if !errors.Is(err, account.ErrKeyInProgress) {
			return claimed, err
		}
		if !background.Sleep(ctx, repeatPause) {
			return claimed, err
		}
	}
}

func (s *Server) claim(ctx context.Context, c account.Claim) (account.Claimed, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	return s.deps.Database.ClaimKey(ctx, c)
}

// answered runs an operation, and adds the warnings about its body to its answer.
func answered(w http.ResponseWriter, r *http.Request, operation route, c caller) (answer, error) {
	result, err := operation.handle(w, r, c)
	if read := requestOf(r).notes; read != nil && err == nil {
		result.warnings = read.warnings
	}
	return result, err
}

// noData is the stored answer of an operation that succeeds without data.
var noData = []byte("null")

// keptAnswer is a stored answer with warnings. One without is its data alone, in which no
// field has this name.
type keptAnswer struct {
	Warnings []detail        `json:"$warnings"`
	Data     json.RawMessage `json:"data"`
}

// keep writes an answer as it is stored, and readKept reads it.
func keep(a answer) ([]byte, error) {
	sent := a.data
	if a.kept != nil {
		sent = a.kept
	}
	data, err := json.Marshal(sent)
	if err != nil || len(a.warnings) == 0 {
		return data, err
	}
	return json.Marshal(keptAnswer{a.warnings, data})
}

func readKept(stored []byte) (a answer, err error) {
	if bytes.HasPrefix(stored, []byte(`{"$warnings":`)) {
		var kept keptAnswer
		if err := json.Unmarshal(stored, &kept); err != nil {
			return answer{}, err
		}
		stored, a.warnings = kept.Data, kept.Warnings
	}
	if !bytes.Equal(stored, noData) {
		a.data = json.RawMessage(stored)
	}
	return a, nil
}

// finish stores the answer, in one commit with the change. An order is on Kafka
// already, so it succeeds also where its answer cannot be stored: sent again, it
// is the same version of the same order.
func (s *Server) finish(r *http.Request, operation route, attempt account.Attempt, result answer) error {
	data, err := keep(result)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	err = attempt.Finish(ctx, data)
	switch {
	case err == nil:
		background.Wake(s.wake)
	case operation.rate.ingests():
		s.log.WarnContext(r.Context(), "the idempotent answer of accepted orders was not stored", "request_id", requestOf(r).id, "error", err)
		return nil
	case errors.Is(err, account.ErrKeyInProgress):
		return keyInProgress()
	}
	return err
}

// abandon frees the key of an attempt that has no answer. Where that fails, the
// key is free when its lease ends.
func (s *Server) abandon(r *http.Request, attempt account.Attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), abandonTimeout)
	defer cancel()
	if err := attempt.Abandon(ctx); err != nil {
		s.log.WarnContext(r.Context(), "an idempotency key was not freed", "request_id", requestOf(r).id, "error", err)
	}
}

func idempotencyKey(values []string) (string, error) {
	bad := account.CheckIdempotencyKey(values[0])
	if len(values) > 1 {
		bad.Add("Idempotency-Key", commerce.CodeConflict, "is there %d times", len(values))
	}
	return values[0], brokenRules(&bad)
}

// claimKey is what a request is known by, by one hashing secret: its Idempotency-Key or, where
// that is empty, its own fingerprint.
func claimKey(keys identity.Keys, key string, r *http.Request, body []byte) (digest string, print [32]byte) {
	print = fingerprint(keys, r, body)
	if key == "" {
		return account.RepeatKeyPrefix + hex.EncodeToString(print[:]), print
	}
	return keys.IdempotencyKey(key), print
}

// fingerprint tells two requests apart. It is of a keyed digest: a body names the
// shopper, and is easy to guess from what is stored of it.
func fingerprint(keys identity.Keys, r *http.Request, body []byte) [32]byte {
	line := r.Method + " " + r.URL.Path
	if lenient.Handling(r.Header["Prefer"]...) == lenient.Strict { // its answer may differ
		line += " " + lenient.Strict
	}
	request := append([]byte(line+"\n"), body...)
	return sha256.Sum256([]byte(keys.Digest(request)))
}

func keyInProgress() *problem {
	return &problem{status: http.StatusConflict, code: codeKeyInProgress, retryAfter: time.Second,
		message: "a request with this Idempotency-Key, or this very request, is under way; retry for its answer"}
}

// How expired answers are removed.
const (
	forgetEvery   = time.Minute
	forgetAtATime = 500   // answers in a call
	forgetSteps   = 1_000 // calls in a round
)

// forgetAnswers removes expired answers company by company, in bounded
// steps. The next round removes what one leaves.
func (s *Server) forgetAnswers(ctx context.Context) error {
	after := ""
	for range forgetSteps {
		limited, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
		company, removed, err := s.deps.Database.ForgetAnswers(limited, after, forgetAtATime)
		cancel()
		if err != nil || company == "" {
			return err
		}
		if removed < forgetAtATime {
			after = company
		}
	}
	return nil
}
