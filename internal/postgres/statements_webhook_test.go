package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// webhookStatements sends what leaves by webhooks, and what its pages send. The endpoint stays: the leaks of the company are told too.
func webhookStatements(t *testing.T, db *merchant.Store, opened *postgres.DB, author commerce.Author) {
	must, ctx := mustOf(t), t.Context()
	e := commerce.Endpoint{ID: "whe_1", Name: "ERP", URL: "https://erp.example.com", Types: commerce.EventTypes, Active: true}
	must(db.AddEndpoint(ctx, author, e, commerce.SealedSecret{KeyID: "k", Sealed: []byte{1}}))
	must(db.RotateSecret(ctx, author, e.ID, commerce.SealedSecret{KeyID: "k", Sealed: []byte{1}}))
	_, err := db.Endpoints(ctx, author.CompanyID)
	must(err)
	_, err = db.Endpoint(ctx, author.CompanyID, e.ID)
	must(err)
	must(opened.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
			select $1, $2, -n, 'k', 'payout.changed', now(), '', '{}', 'infinity' from generate_series(1, $3::int) n`,
			author.CompanyID, e.ID, commerce.MaxWaiting); err != nil {
			return err
		}
		return postgres.Tell(ctx, tx, author.CompanyID, func() ([]commerce.Event, error) {
			return []commerce.Event{{Type: commerce.CouponLeaking, Key: "coupon:A", At: time.Now(), Data: commerce.LeakTold{}}}, nil
		})
	}))
	must(db.ChangeEndpoint(ctx, author, e.ID, func(e *commerce.Endpoint) error {
		e.Active = true
		return nil
	}))
	if _, err := opened.Pool().Exec(ctx, `delete from outgoing where company_id = $1 and number < 0`, author.CompanyID); err != nil {
		t.Fatal(err)
	}
	_, err = db.ReplayEndpoint(ctx, author, e.ID, time.Now().Add(-time.Hour), time.Now())
	must(err)
	l := commerce.ConnectLease{Holder: "one", For: time.Minute}
	list, err := db.LeaseDestinations(ctx, []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	if must(err); len(list) != 1 {
		t.Fatalf("%d endpoints are due", len(list))
	}
	_, _, err = db.DueMessages(ctx, l, list[0], time.Now(), 10)
	must(err)
	messages, err := db.Messages(ctx, author.CompanyID, e.ID, "", 0, 10)
	must(err)
	number := messages[0].Number
	must(db.StoreSent(ctx, l, list[0], []commerce.Sent{{Number: number, State: commerce.MessageDelivered, Try: commerce.Try{At: time.Now()}}},
		commerce.DestinationHealth{}))
	must(db.ReleaseDestination(ctx, l, list[0], time.Now(), time.Now().Add(time.Hour)))
	must(db.ResendMessage(ctx, author, e.ID, number))
	_, err = db.TestEndpoint(ctx, author, e.ID)
	must(err)
	other := e
	other.ID = "whe_2"
	must(db.AddEndpoint(ctx, author, other, commerce.SealedSecret{}))
	must(db.RemoveEndpoint(ctx, author, other.ID))
	if _, err := opened.Pool().Exec(ctx, `insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		values ($1, 'whe_gone', 1, 'k', 'payout.changed', now(), '', '{}', 'infinity')`, author.CompanyID); err != nil {
		t.Fatal(err)
	}
	must(db.PruneMessages(ctx, time.Now()))
	n := commerce.Network{Endpoint: commerce.Endpoint{ID: "net_1", Kind: commerce.ToMeta, Name: "Meta", Active: true},
		Account: commerce.NetworkAccount{ID: "12345"}}
	must(db.AddNetwork(ctx, author, n, commerce.SealedSecret{}))
	_, err = db.Networks(ctx, author.CompanyID)
	must(err)
	c := commerce.ToldConversion{Network: n.Kind, Account: "12345", OrderID: "told", BegunAt: time.Now(), SentAt: time.Now()}
	if _, err := opened.Pool().Exec(ctx, `insert into orders (company_id, order_id, created_at, processed_at, day, status, currency,
		total_minor, body) values ($1, $2, now(), now(), current_date, 0, 'BRL', 0, '')`, author.CompanyID, c.OrderID); err != nil {
		t.Fatal(err)
	}
	_, err = db.BeginConversion(ctx, commerce.LeasedDestination{CompanyID: author.CompanyID, ID: n.ID, URL: n.Stored().URL,
		Types: n.Stored().Types}, c)
	must(err)
	must(db.StoreConversion(ctx, author.CompanyID, c))
	_, err = db.ToldConversion(ctx, author.CompanyID, c)
	must(err)
	_, _, err = db.ErasedConversions(ctx, author.CompanyID, "0195b2c0-51ce-7a37-9d42-7e8f01b3c6ab")
	must(err)
	must(db.RemoveEndpoint(ctx, author, n.ID))
}
