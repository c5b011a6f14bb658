package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

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

func (s *slowStore) APIKeyByHash(ctx context.Context, _ [32]byte) (commerce.APIKey, error) {
	s.asked++
	select {
	case <-s.release:
		return commerce.APIKey{KeyID: "key_1", CompanyID: "c_1", Country: "BR"}, nil
	case <-ctx.Done():
		return commerce.APIKey{}, ctx.Err()
	}
}

func TestACallerThatHangsUpFailsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
		if err != nil {
			t.Fatal(err)
		}
		text, err := commerce.NewKeyText(rand.Reader, commerce.Live)
		if err != nil {
			t.Fatal(err)
		}
		store := &slowStore{release: make(chan struct{})}
		ring := newKeyRing(store, hasher, time.Now, time.Second)
		first, hangUp := context.WithCancel(t.Context())
		go ring.find(first, text)
		synctest.Wait() // it asks the store
		type result struct {
			entry keyEntry
			err   error
		}
		second := make(chan result, 1)
		go func() {
			entry, err := ring.find(t.Context(), text)
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

func TestALookUpOfAKeyEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, err := commerce.NewKeyText(rand.Reader, commerce.Live)
		if err != nil {
			t.Fatal(err)
		}
		ring := newKeyRing(&slowStore{release: make(chan struct{})}, nil, time.Now, time.Second)
		if _, err := ring.find(t.Context(), text); err == nil {
			t.Error("a store that does not answer gave a key")
		}
	})
}
