package merchant

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/postgres"
)

func invitationColumns(i *account.Invitation) postgres.Columns {
	return postgres.Columns{
		postgres.Into("i.invitation_id", &i.ID),
		postgres.Into("i.store_id", &i.StoreID),
		postgres.Into("s.name", &i.Store),
		postgres.Into("i.email", &i.Email),
		postgres.Into("coalesce(i.role, '')", &i.Role),
		postgres.Into("coalesce(i.person_id::text, '')", &i.PersonID),
		postgres.Into("i.made_by is null", &i.ByCLI),
		postgres.Into("i.created_at", &i.CreatedAt),
		postgres.Into("i.expires_at", &i.ExpiresAt),
	}
}

type madeInvitation struct {
	account.Invitation
	madeBy string
}

func madeInvitationColumns(i *madeInvitation) postgres.Columns {
	return append(invitationColumns(&i.Invitation), postgres.Into("coalesce(i.made_by::text, '')", &i.madeBy))
}

var selectInvitations = `select ` + postgres.List(invitationColumns) + ` from invitation i join store s using (store_id)`

// Invitations lists a store's links that can still be used at an instant, the
// newest first.
func (s *Store) Invitations(ctx context.Context, storeID string, at time.Time) ([]account.Invitation, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(invitationColumns),
		selectInvitations+` where i.store_id = $1 and i.expires_at > $2 order by i.created_at desc, i.invitation_id limit $3`, storeID, at,
		account.MaxInvitations)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: invitations")
}

// Invite stores a one-time link by its token's SHA-256. Errors: commerce.ErrNotFound
// for a PersonID who is no member and for a MadeBy who is no owner, account.ErrElsewhere for one who is also in a
// store that MadeBy does not own, account.ErrTooManyInvitations.
func (s *Store) Invite(ctx context.Context, n account.NewInvitation, token [32]byte) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := postgres.Hit(ctx, tx, `select 1 from store where store_id = $1 for update`, n.StoreID); err != nil {
			return err
		}
		if n.MadeBy != "" {
			// The lock makes a change of the membership wait: it ends this link too.
			if err := postgres.Hit(ctx, tx, `select 1 from membership where store_id = $1 and person_id = $2 and role = 'owner' for share`,
				n.StoreID, n.MadeBy); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `delete from invitation where store_id = $1 and expires_at <= $2`, n.StoreID, n.At); err != nil {
			return err
		}
		// Of one e-mail the invitation that was made last works.
		if n.PersonID == "" {
			if _, err := tx.Exec(ctx, `delete from invitation where store_id = $1 and email = $2 and person_id is null`, n.StoreID,
				FoldEmail(n.Email)); err != nil {
				return err
			}
		}
		var open int
		if err := tx.QueryRow(ctx, `select count(*) from invitation where store_id = $1`, n.StoreID).Scan(&open); err != nil {
			return err
		}
		if open >= account.MaxInvitations {
			return account.ErrTooManyInvitations
		}
		action, detail := "person.invite", map[string]any{"role": n.Role}
		if n.PersonID != "" {
			var err error
			if n.Email, err = resettable(ctx, tx, n.StoreID, n.PersonID, n.MadeBy); err != nil {
				return err
			}
			action, detail = "person.reset_link", nil
		}
		id, err := uuid.NewV7FromReader(n.Random)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into invitation (invitation_id, token_sha256, store_id, email, role, person_id, made_by, created_at, expires_at)
			values (@invitation_id, @token_sha256, @store_id, @email, @role, @person_id, @made_by, @created_at, @expires_at)`,
			pgx.NamedArgs{"invitation_id": id.String(), "token_sha256": token[:], "store_id": n.StoreID, "email": FoldEmail(n.Email),
				"role": postgres.NullIfEmpty(n.Role), "person_id": postgres.NullIfEmpty(n.PersonID), "made_by": postgres.NullIfEmpty(n.MadeBy),
				"created_at": n.At, "expires_at": n.At.Add(n.Life)}); err != nil {
			return err
		}
		subject := n.PersonID
		if subject == "" {
			subject = id.String()
		}
		by := "cli"
		if n.MadeBy != "" {
			by = "user/" + n.MadeBy
		}
		return audit(ctx, tx, Change{CompanyID: n.CompanyID, Actor: by, Action: action, Subject: subject, Detail: detail})
	})
	return postgres.Wrapf(err, "postgres: invite")
}

// resettable returns the e-mail of a member whose password an owner may set anew:
// one who is in no store that the owner does not own. Else whoever owns one store
// could come into another.
func resettable(ctx context.Context, tx pgx.Tx, storeID, personID, ownerID string) (email string, err error) {
	var elsewhere bool
	if err := tx.QueryRow(ctx, `
		select p.email, exists (select 1 from membership o where o.person_id = m.person_id and not exists (
			select 1 from membership mine where mine.store_id = o.store_id and mine.person_id = $3 and mine.role = 'owner'))
		from membership m join person p using (person_id) where m.store_id = $1 and m.person_id = $2`,
		storeID, personID, ownerID).Scan(&email, &elsewhere); err != nil {
		return "", err
	}
	if elsewhere {
		return "", account.ErrElsewhere
	}
	return email, nil
}

// WithdrawInvitation makes a link useless; an unknown one is commerce.ErrNotFound.
func (s *Store) WithdrawInvitation(ctx context.Context, c account.MembershipChange, id string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := postgres.Hit(ctx, tx, `delete from invitation where store_id = $1 and invitation_id = $2`, c.StoreID, id); err != nil {
			return err
		}
		return audit(ctx, tx, Change{CompanyID: c.CompanyID, Actor: c.Actor, Action: "person.withdraw", Subject: id})
	})
	return postgres.Wrapf(err, "postgres: withdraw invitation")
}

// InvitationOf returns the link of a token's SHA-256; commerce.ErrNotFound where it
// was used, withdrawn or is expired.
func (s *Store) InvitationOf(ctx context.Context, token [32]byte, at time.Time) (account.Invitation, error) {
	i, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(invitationColumns),
		selectInvitations+` where i.token_sha256 = $1 and i.expires_at > $2`, token[:], at)
	return i, postgres.Wrapf(postgres.Translate(err), "postgres: invitation")
}

// UseInvitation uses a link, once: it makes the e-mail's person, with the password,
// a member, or sets a member's password and ends the sessions. An owner stays one. personID is the
// e-mail's person, where there is one already; their password stays, but by a link of the
// operator (Invitation.ByCLI) they get the new one, and their sessions end. It returns
// whose link it was. A link that was used meanwhile is commerce.ErrNotFound; errors
// of Invite are possible too.
func (s *Store) UseInvitation(ctx context.Context, token [32]byte, at time.Time, personID, passwordHash string) (string, error) {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		i, err := postgres.One(ctx, tx, postgres.Scan(madeInvitationColumns), `
			select `+postgres.List(madeInvitationColumns)+` from invitation i join store s using (store_id)
			where i.token_sha256 = $1 and i.expires_at > $2 for update of i`, token[:], at)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from invitation where invitation_id = $1`, i.ID); err != nil {
			return err
		}
		var live string
		if err := tx.QueryRow(ctx, `select company_id from company where store_id = $1 and environment = 'live'`,
			i.StoreID).Scan(&live); err != nil {
			return err
		}
		change := Change{CompanyID: live, Action: "person.join", Detail: map[string]any{"role": i.Role}}
		switch {
		case i.Reset():
			personID = i.PersonID
			change.Action, change.Detail = "person.password", nil
			// As when the link was made: the person may have come into another store.
			if _, err := resettable(ctx, tx, i.StoreID, personID, i.madeBy); err != nil {
				return err
			}
			if err := setPassword(ctx, tx, personID, passwordHash); err != nil {
				return err
			}
			if err := logInMade(ctx, tx, personID, at, i.madeBy); err != nil {
				return err
			}
		case personID == "":
			made, err := addPerson(ctx, tx, i.Email, passwordHash)
			if err != nil {
				return err
			}
			personID = made.ID
			if err := logInMade(ctx, tx, personID, at, i.madeBy); err != nil {
				return err
			}
			if err := addMembership(ctx, tx, i.StoreID, personID, i.Role, false); err != nil {
				return err
			}
		default:
			if i.ByCLI {
				if err := setPassword(ctx, tx, personID, passwordHash); err != nil {
					return err
				}
				if err := logInMade(ctx, tx, personID, at, ""); err != nil {
					return err
				}
			}
			if err := addMembership(ctx, tx, i.StoreID, personID, i.Role, false); err != nil {
				return err
			}
		}
		change.Actor, change.Subject = "user/"+personID, personID
		return audit(ctx, tx, change)
	})
	return personID, postgres.Wrapf(err, "postgres: use invitation")
}
