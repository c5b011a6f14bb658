package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
)

// slowStore answers the question for a key when it is let, unless whoever asks
// gives up before.
type slowStore struct {
	Database
	release chan struct{}
	asked   int
}

func (s *slowStore) APIKeyByHash(ctx context.Context, _ [32]byte) (account.APIKey, error) {
	s.asked++
	select {
	case <-s.release:
		return account.APIKey{KeyID: "key_1", CompanyID: "c_1", Country: "BR"}, nil
	case <-ctx.Done():
		return account.APIKey{}, ctx.Err()
	}
}

// newRing makes a cache of a store's keys, and the text of a key.
func newRing(t *testing.T, store Database) (ring *keyCache, text string) {
	t.Helper()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	text, err = account.NewKeyText(rand.Reader, commerce.Live)
	if err != nil {
		t.Fatal(err)
	}
	return newKeyCache(store, hasher, time.Now, time.Second), text
}

func TestACallerThatHangsUpFailsNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{release: make(chan struct{})}
		ring, text := newRing(t, store)
		first, hangUp := context.WithCancel(t.Context())
		go func() { _, _ = ring.find(first, text, "203.0.113.0/24") }() // it hangs up
		synctest.Wait()                                                 // it asks the store
		type result struct {
			entry keyEntry
			err   error
		}
		second := make(chan result, 1)
		go func() {
			entry, err := ring.find(t.Context(), text, "203.0.113.0/24")
			second <- result{entry, err}
		}()
		synctest.Wait() // it waits for the first one's answer
		hangUp()
		synctest.Wait()
		close(store.release)
		if got := <-second; got.err != nil || got.entry.key.KeyID != "key_1" {
			t.Errorf("the other caller: %+v, %v", got.entry.key, got.err)
		}
		if store.asked != 1 {
			t.Errorf("the store was asked %d times, want once for both", store.asked)
		}
	})
}

// A shop's requests all come at once after a start, while the database is slow.
func TestManyRequestsWithOneNewKeyAreOneGuess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{release: make(chan struct{})}
		ring, text := newRing(t, store)
		const requests = 1000
		results := make(chan error, requests)
		for range requests {
			go func() {
				_, err := ring.find(t.Context(), text, "203.0.113.0/24")
				results <- err
			}()
		}
		synctest.Wait()
		close(store.release)
		for range requests {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestALookUpOfAKeyEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, text := newRing(t, &slowStore{release: make(chan struct{})})
		if _, err := ring.find(t.Context(), text, "203.0.113.0/24"); err == nil {
			t.Error("a store that does not answer gave a key")
		}
	})
}

// revocable knows one key, until it does not.
type revocable struct {
	Database
	revoked time.Time
}

func (s *revocable) APIKeyByHash(context.Context, [32]byte) (account.APIKey, error) {
	return account.APIKey{KeyID: "key_1", CompanyID: "c_1", Country: "BR", RevokedAt: s.revoked}, nil
}

func (s *revocable) APIKeysByHash(ctx context.Context, hashes [][32]byte) (map[[32]byte]account.APIKey, error) {
	keys := map[[32]byte]account.APIKey{}
	for _, hash := range hashes {
		keys[hash], _ = s.APIKeyByHash(ctx, hash)
	}
	return keys, nil
}

// A revocation is known within five seconds, whether the key is renewed in the
// background or, where that fails, looked up by a request.
func TestARevocationIsKnownWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	for _, renewing := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			db := &revocable{}
			ring, text := newRing(t, db)
			active := func() bool {
				t.Helper()
				entry, err := ring.find(t.Context(), text, "203.0.113.0/24")
				if err != nil {
					t.Fatal(err)
				}
				return entry.key.ActiveAt(time.Now())
			}
			if !active() {
				t.Fatal("the key is not active before it is revoked")
			}
			db.revoked = time.Now()
			asked := 0
			for time.Since(db.revoked) <= 5*time.Second {
				time.Sleep(100 * time.Millisecond) // of the test's own clock
				if asked++; renewing && asked%15 == 0 {
					if err := ring.renew(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if !active() {
					return
				}
			}
			t.Errorf("renewing %t: the key still works after 5 s", renewing)
		})
	}
}
