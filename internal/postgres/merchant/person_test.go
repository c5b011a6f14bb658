package merchant_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/devtest"
)

func openPeople(t *testing.T) *merchant.Store {
	t.Helper()
	db, err := postgres.Open(context.Background(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return merchant.New(db)
}

func TestPersonIsFoundByEMailHoweverItIsTyped(t *testing.T) {
	t.Parallel()
	db, ctx := openPeople(t), t.Context()
	made, err := db.CreatePerson(ctx, " Ana@Loja.example ", "hash")
	if err != nil {
		t.Fatal(err)
	}
	found, err := db.PersonByEmail(ctx, "ANA@loja.example")
	if err != nil || found.ID != made.ID || found.PasswordHash != made.PasswordHash || found.Email != "ana@loja.example" {
		t.Fatalf("found %+v, %v; made %+v", found, err, made)
	}
	if _, err := db.CreatePerson(ctx, "ana@loja.example", "other"); !errors.Is(err, commerce.ErrConflict) {
		t.Errorf("second person of one e-mail: %v, want a conflict", err)
	}
	if _, err := db.PersonByEmail(ctx, "bia@loja.example"); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("unknown e-mail: %v, want not found", err)
	}
}

// A person whose membership cannot be stored is not stored: nobody would know the
// password that was made.
func TestAMemberIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	db, ctx := openPeople(t), t.Context()
	if _, err := db.CreateMember(ctx, "00000000-0000-0000-0000-000000000000", account.RoleOwner, "ana@loja.example", "hash"); err == nil {
		t.Fatal("a member of a store that does not exist was made")
	}
	if _, err := db.PersonByEmail(ctx, "ana@loja.example"); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("half of a member is stored: %v", err)
	}
	store, err := db.CreateStore(ctx, commerce.NewStore{Actor: "test", Name: "Loja", Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	made, err := db.CreateMember(ctx, store.StoreID, account.RoleAnalyst, "ana@loja.example", "hash")
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Accesses(ctx, made.ID)
	if err != nil || len(list) != 2 || list[0].Role != account.RoleAnalyst {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := db.CreateMember(ctx, store.StoreID, account.RoleOwner, "ana@loja.example", "hash"); !errors.Is(err, commerce.ErrConflict) {
		t.Errorf("a second log-in of one e-mail: %v", err)
	}
}

func TestRefreshTokens(t *testing.T) {
	t.Parallel()
	db, ctx := openPeople(t), t.Context()
	person, err := db.CreatePerson(ctx, "ana@loja.example", "hash")
	if err != nil {
		t.Fatal(err)
	}
	token := func(name string) [32]byte { return sha256.Sum256([]byte(name)) }
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	begin := func(name string) account.Session {
		t.Helper()
		s, err := db.StartSession(ctx, person.ID, "Chrome, Windows", token(name), start, start.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return s.Session
	}
	f := func(from, to string, after time.Duration, want error) {
		t.Helper()
		at := start.Add(after)
		s, err := db.RotateSession(ctx, account.SessionRotation{
			Token: token(from), Next: token(to), At: at, ExpiresAt: at.Add(time.Hour), Leeway: 10 * time.Second,
		})
		if !errors.Is(err, want) || (want == nil && s.PersonID != person.ID) {
			t.Errorf("%s → %s after %s: %+v, %v; want %v", from, to, after, s, err, want)
		}
	}
	begin("a0")
	f("a0", "a1", time.Minute, nil)
	f("a0", "a1", time.Minute+5*time.Second, nil) // a second tab: the same successor
	f("a1", "a2", 2*time.Minute, nil)
	f("a0", "a1", 2*time.Minute, commerce.ErrConflict) // stolen: long after
	f("a2", "a3", 3*time.Minute, commerce.ErrNotFound) // … and its family is gone

	begin("b0")
	f("b0", "b1", time.Minute, nil)
	f("b1", "b2", time.Minute+time.Second, nil)
	f("b0", "b1", time.Minute+2*time.Second, commerce.ErrConflict) // within the leeway, but b1 is spent
	f("b2", "b3", time.Minute+3*time.Second, commerce.ErrNotFound)

	begin("c0")
	f("c0", "c1", time.Hour, commerce.ErrNotFound) // expired
	f("never", "x", time.Minute, commerce.ErrNotFound)

	session := begin("d0")
	if err := db.EndSession(ctx, session.Family); err != nil {
		t.Fatal(err)
	}
	f("d0", "d1", time.Minute, commerce.ErrNotFound)

	begin("e0")
	if err := db.SetPassword(ctx, person.ID, "new"); err != nil {
		t.Fatal(err)
	}
	f("e0", "e1", time.Minute, commerce.ErrNotFound) // a new password ends every session
}

// Whoever uses a session every day logs in anew all the same, some day.
func TestASessionEndsHoweverItIsUsed(t *testing.T) {
	t.Parallel()
	db, ctx := openPeople(t), t.Context()
	person, err := db.CreatePerson(ctx, "ana@loja.example", "hash")
	if err != nil {
		t.Fatal(err)
	}
	const life = 14 * 24 * time.Hour
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	token := sha256.Sum256([]byte("first"))
	if _, err := db.StartSession(ctx, person.ID, "Chrome, Windows", token, start, start.Add(life)); err != nil {
		t.Fatal(err)
	}
	for after := 12 * time.Hour; ; after += 12 * time.Hour {
		at, next := start.Add(after), sha256.Sum256(token[:])
		_, err := db.RotateSession(ctx, account.SessionRotation{Token: token, Next: next, At: at, ExpiresAt: at.Add(life)})
		if after < account.LongestSession && err != nil || after >= account.LongestSession && !errors.Is(err, commerce.ErrNotFound) {
			t.Fatalf("after %v: %v", after, err)
		}
		if err != nil {
			return
		}
		token = next
	}
}

func TestFailedLogInsAreCountedUntilTheNextLogIn(t *testing.T) {
	t.Parallel()
	db, ctx := openPeople(t), t.Context()
	person, err := db.CreatePerson(ctx, "ana@loja.example", "hash")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for minute := range 3 {
		for _, email := range []string{" ANA@loja.example", "nobody@loja.example"} {
			if err := db.LogInFailed(ctx, email, start.Add(time.Duration(minute)*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := func(token byte, failures int64, last time.Time) {
		t.Helper()
		got, err := db.StartSession(ctx, person.ID, "", [32]byte{token}, start, start.Add(time.Hour))
		if err != nil || got.Failures != failures || !got.LastFailure.Equal(last) {
			t.Errorf("logged in: %+v, %v; want %d failures, the last at %s", got, err, failures, last)
		}
	}
	f(1, 3, start.Add(2*time.Minute))
	f(2, 0, time.Time{})
	if _, err := db.StartSession(ctx, "00000000-0000-0000-0000-000000000000", "", [32]byte{3}, start, start); !errors.Is(err,
		commerce.ErrNotFound) {
		t.Errorf("a session of nobody: %v", err)
	}
}
