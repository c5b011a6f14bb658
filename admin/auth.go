package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/throttle"
)

// A revoked key is refused within keyFresh: an entry older than that is looked
// up again before it is used. Run renews all entries in use every keyRenew, in
// one query, so that requests seldom wait for a look-up.
const (
	keyFresh    = 4 * time.Second
	keyRenew    = 1500 * time.Millisecond
	keyIdle     = time.Minute // an entry not used for so long is dropped
	maxKeys     = 20000       // entries; keys beyond it are looked up for each request
	usedFlush   = 10 * time.Second
	maxBearer   = 256
	usedTimeout = 5 * time.Second
)

// keyCache holds the keys in use, by hash. Unknown hashes are kept too, so that
// a wrong key that is sent again and again puts no load on Postgres.
type keyCache struct {
	db      keys
	hasher  *identity.Hasher
	now     func() time.Time
	timeout time.Duration // of a look-up
	guesses *throttle.Guesses
	flight  singleflight.Group

	mu      sync.Mutex
	entries map[[32]byte]*keyEntry
	used    map[string]time.Time // key id → last use, not yet stored
}

type keyEntry struct {
	key       account.APIKey
	known     bool
	keys      identity.Keys // of the key's company; made once, since deriving its secret takes time
	checkedAt time.Time
	usedAt    time.Time
}

func newKeyCache(db keys, hasher *identity.Hasher, now func() time.Time, timeout time.Duration) *keyCache {
	return &keyCache{db: db, hasher: hasher, now: now, timeout: timeout, guesses: throttle.NewGuesses(), entries: map[[32]byte]*keyEntry{},
		used: map[string]time.Time{}}
}

// find returns the entry of a key's text, or commerce.ErrNotFound. Entries are
// looked up by hash, so that the time it takes says nothing about the text. A
// network that has shown too many unknown keys is refused before the look-up.
func (r *keyCache) find(ctx context.Context, text, network string) (keyEntry, error) {
	if _, err := account.KeyEnvironment(text); err != nil {
		return keyEntry{}, commerce.ErrNotFound
	}
	hash := account.KeyHash(text)
	now := r.now()
	r.mu.Lock()
	entry := r.entries[hash]
	if entry != nil && now.Sub(entry.checkedAt) < keyFresh {
		entry.usedAt = now
		found := *entry
		r.mu.Unlock()
		return found.orNotFound()
	}
	guessed := entry == nil || !entry.known
	r.mu.Unlock()
	// Other requests of the network with this key wait for the answer too. Together they
	// are one guess.
	value, err, _ := r.flight.Do(string(hash[:])+network, func() (any, error) {
		if !guessed {
			return r.lookUp(ctx, hash, now)
		}
		if got := r.guesses.Begin(network, now); !got.OK {
			return keyEntry{}, &problem{status: http.StatusTooManyRequests, code: codeRateLimit, retryAfter: got.Wait,
				message: "too many unknown API keys came from this network; come back after Retry-After seconds"}
		}
		found, err := r.lookUp(ctx, hash, now)
		if err != nil || found.known {
			r.guesses.Known(network)
		}
		return found, err
	})
	if err != nil {
		return keyEntry{}, err
	}
	found, _ := value.(keyEntry)
	return found.orNotFound()
}

// lookUp reads a key and keeps what it finds. It does not end with the request that asked
// first, since others may wait for it.
func (r *keyCache) lookUp(ctx context.Context, hash [32]byte, now time.Time) (keyEntry, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	key, err := r.db.APIKeyByHash(ctx, hash)
	if err != nil && !errors.Is(err, commerce.ErrNotFound) {
		return keyEntry{}, err
	}
	return r.keep(hash, key, err == nil, true, now), nil
}

func (e keyEntry) orNotFound() (keyEntry, error) {
	if !e.known {
		return e, commerce.ErrNotFound
	}
	return e, nil
}

// keep stores what was looked up at an instant. used: for a request, not to renew.
func (r *keyCache) keep(hash [32]byte, key account.APIKey, known, used bool, at time.Time) keyEntry {
	entry := keyEntry{key: key, known: known, checkedAt: at, usedAt: at}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.entries[hash]; old != nil && !used {
		entry.usedAt = old.usedAt
	}
	switch old := r.entries[hash]; {
	case old != nil && old.known && old.key.Country == key.Country:
		entry.keys = old.keys
	case known:
		entry.keys = r.hasher.Company(key.CompanyID, key.Country)
	}
	if len(r.entries) < maxKeys || r.entries[hash] != nil {
		r.entries[hash] = &entry
	}
	return entry
}

// renew looks up every entry in use again and drops the idle ones.
func (r *keyCache) renew(ctx context.Context) error {
	now := r.now()
	var hashes [][32]byte
	r.mu.Lock()
	for hash, entry := range r.entries {
		if now.Sub(entry.usedAt) > keyIdle || !entry.known && now.Sub(entry.checkedAt) > keyFresh {
			delete(r.entries, hash)
			continue
		}
		if entry.known {
			hashes = append(hashes, hash)
		}
	}
	r.mu.Unlock()
	if len(hashes) == 0 {
		return nil
	}
	keys, err := r.db.APIKeysByHash(ctx, hashes)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		key, known := keys[hash]
		r.keep(hash, key, known, false, now)
	}
	return nil
}

// touch notes a key's use; Run stores it later.
func (r *keyCache) touch(keyID string, at time.Time) {
	r.mu.Lock()
	r.used[keyID] = at
	r.mu.Unlock()
}

// flush stores the noted uses. On an error they are kept for the next call.
func (r *keyCache) flush(ctx context.Context) error {
	r.mu.Lock()
	used := r.used
	r.used = map[string]time.Time{}
	r.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, usedTimeout)
	defer cancel()
	err := r.db.TouchAPIKeys(ctx, used)
	if err != nil {
		r.mu.Lock()
		for id, at := range used {
			if r.used[id].Before(at) {
				r.used[id] = at
			}
		}
		r.mu.Unlock()
	}
	return err
}

// authenticate finds who calls, and refuses keys that are missing, unknown,
// expired, revoked or of the other environment, all with the same status and code, and
// those of an archived company with another.
func (s *Server) authenticate(r *http.Request, environment string) (keyEntry, error) {
	text, err := bearer(r.Header)
	if err != nil {
		return keyEntry{}, err
	}
	entry, err := s.keys.find(r.Context(), text, throttle.Network(s.config.ClientIP(r)))
	switch {
	case errors.Is(err, commerce.ErrNotFound):
		return entry, unauthorized("the API key is not known")
	case err != nil:
		return entry, err
	case !entry.key.ActiveAt(s.now()):
		return entry, unauthorized("the API key is expired or revoked")
	case entry.key.Environment != environment:
		return entry, unauthorized("the API key is of the other environment: live keys work under /admin/v1, sandbox keys under " +
			"/sandbox/admin/v1")
	case !entry.key.ArchivedAt.IsZero():
		return entry, archived()
	}
	s.keys.touch(entry.key.KeyID, s.now())
	return entry, nil
}

func bearer(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", unauthorized("send the header Authorization: Bearer <API key>")
	}
	scheme, text, found := strings.Cut(values[0], " ")
	text = strings.TrimSpace(text)
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || text == "" || len(text) > maxBearer {
		return "", unauthorized("the Authorization header must be: Bearer <API key>")
	}
	return text, nil
}

func unauthorized(message string) *problem {
	return &problem{status: http.StatusUnauthorized, code: codeUnauthorized, message: message,
		header: http.Header{"Www-Authenticate": {`Bearer realm="tributary"`}}}
}
