package postgres_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// mailStatements sends what is mailed, and what the page of mails sends. The destinations go: nothing else is to be told by mail.
func mailStatements(t *testing.T, db *merchant.Store, opened *postgres.DB, author commerce.Author, storeID string) {
	must, ctx := mustOf(t), t.Context()
	p, err := db.CreateMember(ctx, storeID, account.RoleOwner, rand.Text()+"@mails.example.com", "x")
	must(err)
	must(db.EnsureMail(ctx))
	own := commerce.MailPrefix + p.ID
	_, err = db.MailDestination(ctx, author.CompanyID, own)
	must(err)
	must(db.ChangeMail(ctx, author, commerce.MailDestination{ID: own, Types: account.MailTypes(account.RoleOwner), Language: "en"}))
	must(opened.InTx(ctx, func(tx pgx.Tx) error {
		return errors.Join(postgres.Tell(ctx, tx, author.CompanyID, func() ([]commerce.Event, error) {
			return []commerce.Event{{Type: commerce.PayoutReview, Key: "order:mail", At: time.Now(), Data: commerce.OrderTold{}}}, nil
		}), postgres.TellDisabled(ctx, tx, author.CompanyID, "whe_mail", commerce.EndpointGone))
	}))
	_, err = db.MailPerson(ctx, author.CompanyID, own)
	must(err)
	_, err = db.MailReviews(ctx, author.CompanyID, own, time.Now())
	must(err)
	_, err = db.MailPartners(ctx, author.CompanyID, []string{uuid.NewString()})
	must(err)
	for _, err := range []error{
		errorOf(db.MailStatement(ctx, author.CompanyID, uuid.NewString())), errorOf(db.MailShop(ctx, author.CompanyID, own, "none", time.Now())),
		errorOf(db.MailEndpoint(ctx, author.CompanyID, "none")),
	} {
		if !errors.Is(err, commerce.ErrNotFound) {
			t.Error(err)
		}
	}
	_, err = opened.Pool().Exec(ctx, `update destination set next_at = now() - interval '2 days' where kind = 'mail'`)
	must(err)
	must(db.EnsureMail(ctx)) // it gives up what waits there
	_, err = opened.Pool().Exec(ctx, `update membership set role = 'finance' where person_id = $1`, p.ID)
	must(err)
	must(db.EnsureMail(ctx)) // it stores the role
	_, err = opened.Pool().Exec(ctx, `delete from membership where person_id = $1`, p.ID)
	must(err)
	must(db.EnsureMail(ctx)) // it removes the person's
	_, err = opened.Pool().Exec(ctx, `delete from destination where kind = 'mail'`)
	must(err)
}

func errorOf[T any](_ T, err error) error { return err }
