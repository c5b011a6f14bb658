package merchant

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// FoldEmail returns an e-mail address in the form in which it is stored and looked up.
func FoldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// CreatePerson adds someone who may log in; a known e-mail is
// commerce.ErrConflict. The hash is a PHC string (login.HashPassword).
// A person sees a store's data only with a membership: see CreateMember and
// SetMembership.
func (s *Store) CreatePerson(ctx context.Context, email, passwordHash string) (p account.Person, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		p, err = addPerson(ctx, tx, email, passwordHash)
		return err
	})
	return p, postgres.Wrapf(err, "postgres: create person")
}

// CreateMember is CreatePerson and SetMembership: both are stored, or nothing.
func (s *Store) CreateMember(ctx context.Context, storeID, role, email, passwordHash string) (p account.Person, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if p, err = addPerson(ctx, tx, email, passwordHash); err != nil {
			return err
		}
		return addMembership(ctx, tx, storeID, p.ID, role, true)
	})
	return p, postgres.Wrapf(err, "postgres: create member")
}

func addPerson(ctx context.Context, tx pgx.Tx, email, passwordHash string) (account.Person, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return account.Person{}, err
	}
	p := account.Person{ID: id.String(), Email: FoldEmail(email), PasswordHash: passwordHash}
	if p.Email == "" {
		return account.Person{}, errors.New("no e-mail given")
	}
	_, err = tx.Exec(ctx, `insert into person (person_id, email, password_hash) values ($1, $2, $3)`, p.ID, p.Email, p.PasswordHash)
	return p, err
}

// SetPassword replaces a person's password. It ends all of the person's sessions, and
// the links that would set the password anew.
func (s *Store) SetPassword(ctx context.Context, personID, passwordHash string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error { return setPassword(ctx, tx, personID, passwordHash) })
	return postgres.Wrapf(err, "postgres: set password")
}

func setPassword(ctx context.Context, tx pgx.Tx, personID, passwordHash string) error {
	if err := postgres.Hit(ctx, tx, `update person set password_hash = $2 where person_id = $1`, personID, passwordHash); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `delete from invitation where person_id = $1`, personID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `delete from person_session where person_id = $1`, personID)
	return err
}

// SetMembership makes a person a member of a store with a role, or changes the role;
// that of the last owner stays: account.ErrLastOwner.
func (s *Store) SetMembership(ctx context.Context, storeID, personID, role string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := keepAnOwner(ctx, tx, storeID, personID, role); err != nil {
			return err
		}
		return addMembership(ctx, tx, storeID, personID, role, true)
	})
	return postgres.Wrapf(err, "postgres: set membership")
}

// addMembership gives a person a role in a store. An owner who is there already becomes
// an analyst only with demote.
func addMembership(ctx context.Context, tx pgx.Tx, storeID, personID, role string, demote bool) error {
	_, err := tx.Exec(ctx, `insert into membership as m (store_id, person_id, role) values ($1, $2, $3)
		on conflict (store_id, person_id) do update set role = excluded.role where $4 or m.role <> 'owner'`, storeID, personID, role, demote)
	return err
}

// PersonByEmail returns the person with an e-mail address; commerce.ErrNotFound
// where there is none.
func (s *Store) PersonByEmail(ctx context.Context, email string) (account.Person, error) {
	p, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(personColumns),
		`select `+postgres.List(personColumns)+` from person where email = $1`, FoldEmail(email))
	return p, postgres.Wrapf(postgres.Translate(err), "postgres: person by e-mail")
}

func personColumns(p *account.Person) postgres.Columns {
	return postgres.Columns{
		postgres.Into("person_id", &p.ID),
		postgres.Into("email", &p.Email),
		postgres.Into("password_hash", &p.PasswordHash),
		postgres.Into("second_factor", &p.SecondFactor),
		postgres.Into("cardinality(recovery_codes)", &p.CodesLeft),
	}
}

func accessColumns(a *account.Access) postgres.Columns {
	return postgres.Columns{
		postgres.Into("s.store_id", &a.StoreID),
		postgres.Into("m.role", &a.Role),
		postgres.Into("c.company_id", &a.CompanyID),
		postgres.Into("c.environment", &a.Environment),
		postgres.Into("s.name", &a.Name),
		postgres.Into("c.timezone", &a.Timezone),
		postgres.Into("c.currency", &a.Currency),
		postgres.Into("c.archived_at", postgres.ZeroIfNull(&a.ArchivedAt)),
		postgres.Into("c.restored_at", postgres.ZeroIfNull(&a.RestoredAt)),
	}
}

// Accesses lists the companies that a person may look at: stores in the order
// they were made, live before sandbox, and archived companies after all others. At most 200.
func (s *Store) Accesses(ctx context.Context, personID string) ([]account.Access, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(accessColumns), `
		select `+postgres.List(accessColumns)+`
		from membership m join store s using (store_id) join company c using (store_id)
		where m.person_id = $1
		order by c.archived_at is not null, s.created_at, s.store_id, c.environment limit 200`, personID)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: accesses")
}

// SessionAccesses is Accesses for a request of a session. One that has ended is
// commerce.ErrNotFound: access ends with it.
func (s *Store) SessionAccesses(ctx context.Context, personID, family string) ([]account.Access, error) {
	var alive bool
	if err := s.db.Pool().QueryRow(ctx, `select exists (select 1 from person_session where family = $1 and person_id = $2)`,
		family, personID).Scan(&alive); err != nil {
		return nil, fmt.Errorf("postgres: session: %w", postgres.Translate(err))
	}
	if !alive {
		return nil, fmt.Errorf("postgres: session: %w", commerce.ErrNotFound)
	}
	return s.Accesses(ctx, personID)
}

// StartSession begins a family of refresh tokens and deletes the person's expired
// ones. browser says for people in which browser it is. It returns how many log-ins failed since the last session, and counts
// from zero again.
func (s *Store) StartSession(ctx context.Context, personID, browser string, token [32]byte, at, expires time.Time) (account.LogIn, error) {
	login := account.LogIn{Session: account.Session{PersonID: personID, Family: newFamily(at)}}
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `select failed_log_ins, last_failed_log_in from person where person_id = $1 for update`,
			personID).Scan(&login.Failures, postgres.ZeroIfNull(&login.LastFailure)); err != nil {
			return err
		}
		if !login.LastFailure.IsZero() {
			if _, err := tx.Exec(ctx, `update person set failed_log_ins = 0, last_failed_log_in = null where person_id = $1`, personID); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `delete from person_session where person_id = $1 and expires_at < $2`, personID, at); err != nil {
			return err
		}
		return insertToken(ctx, tx, token, login.Session, browser, at, expires)
	})
	return login, postgres.Wrapf(err, "postgres: start session")
}

// LogInFailed counts a failed log-in of the person who has an e-mail; an
// unknown one is no error, and takes the same steps.
func (s *Store) LogInFailed(ctx context.Context, email string, at time.Time) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		// Not to wait for the disk: the time of the answer would tell whether the
		// e-mail is known. A crash may lose the last counts.
		if _, err := tx.Exec(ctx, `set local synchronous_commit = off`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update person set failed_log_ins = failed_log_ins + 1, last_failed_log_in = $2 where email = $1`,
			FoldEmail(email), at)
		return err
	})
	return postgres.Wrapf(err, "postgres: count a failed log-in")
}

// insertToken stores a refresh token of a session.
func insertToken(ctx context.Context, tx pgx.Tx, token [32]byte, session account.Session, browser string, at, expires time.Time) error {
	_, err := tx.Exec(ctx, `
		insert into person_session (token_sha256, family, person_id, browser, created_at, expires_at)
		values (@token_sha256, @family, @person_id, @browser, @created_at, @expires_at)`,
		pgx.NamedArgs{"token_sha256": token[:], "family": session.Family, "person_id": session.PersonID, "browser": browser, "created_at": at,
			"expires_at": expires})
	return err
}

type storedToken struct {
	account.Session
	expires, used time.Time // used: zero where it was not
	browser       string
}

// newFamily is the id of a session that begins at a time.
func newFamily(at time.Time) string {
	id := uuid.Must(uuid.NewV7()) // crypto/rand does not fail
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(at.UnixMilli()))
	copy(id[:6], millis[2:])
	return id.String()
}

// ends is when the session ends however it is used. One that began before families had a time ends when its token does.
func (t *storedToken) ends() time.Time {
	id, err := uuid.Parse(t.Family)
	if err != nil || id.Version() != 7 {
		return t.expires
	}
	return time.Unix(id.Time().UnixTime()).Add(account.LongestSession)
}

func tokenColumns(t *storedToken) postgres.Columns {
	return postgres.Columns{
		postgres.Into("person_id", &t.PersonID),
		postgres.Into("family", &t.Family),
		postgres.Into("expires_at", &t.expires),
		postgres.Into("browser", &t.browser),
		postgres.Into("used_at", postgres.ZeroIfNull(&t.used)),
	}
}

// RotateSession marks a refresh token as used and stores the next of its family.
// An unknown or expired token, and one of a session of account.LongestSession, is commerce.ErrNotFound. A token that was used
// before, outside the leeway, is commerce.ErrConflict: it may have been stolen,
// so its whole family is deleted, and the owner has to log in again.
func (s *Store) RotateSession(ctx context.Context, r account.SessionRotation) (account.Session, error) {
	var token storedToken
	reused := false
	err := s.db.InTx(ctx, func(tx pgx.Tx) (err error) {
		token, err = postgres.One(ctx, tx, postgres.Scan(tokenColumns),
			`select `+postgres.List(tokenColumns)+` from person_session where token_sha256 = $1 for update`, r.Token[:])
		if err != nil {
			return err
		}
		if !token.expires.After(r.At) || !token.ends().After(r.At) {
			return pgx.ErrNoRows
		}
		if token.used.IsZero() {
			if _, err := tx.Exec(ctx, `update person_session set used_at = $2 where token_sha256 = $1`, r.Token[:], r.At); err != nil {
				return err
			}
			return insertToken(ctx, tx, r.Next, token.Session, token.browser, r.At, r.ExpiresAt)
		}
		if r.At.Sub(token.used) <= r.Leeway {
			var fresh bool
			err := tx.QueryRow(ctx, `select used_at is null from person_session
				where token_sha256 = $1 and family = $2`, r.Next[:], token.Family).Scan(&fresh)
			if err == nil && fresh {
				return nil
			}
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		reused = true
		_, err = tx.Exec(ctx, `delete from person_session where family = $1`, token.Family)
		return err
	})
	if err != nil {
		return account.Session{}, fmt.Errorf("postgres: rotate session: %w", err)
	}
	if reused {
		return account.Session{}, fmt.Errorf("postgres: rotate session: refresh token used twice: %w", commerce.ErrConflict)
	}
	return token.Session, nil
}

// EndSession ends a family of refresh tokens; an unknown one is no error.
func (s *Store) EndSession(ctx context.Context, family string) error {
	_, err := s.db.Pool().Exec(ctx, `delete from person_session where family = $1`, family)
	return postgres.Wrapf(postgres.Translate(err), "postgres: end session")
}

// EndSessionOf ends the family that a refresh token belongs to, if any.
func (s *Store) EndSessionOf(ctx context.Context, token [32]byte) error {
	_, err := s.db.Pool().Exec(ctx, `delete from person_session where family =
		(select family from person_session where token_sha256 = $1)`, token[:])
	return postgres.Wrapf(postgres.Translate(err), "postgres: end session")
}
