package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// connectionStatements sends what the connect service and its pages send. Nothing else of the company's waits in the queue.
func connectionStatements(t *testing.T, db *merchant.Store, opened *postgres.DB, author commerce.Author) {
	must, ctx := mustOf(t), t.Context()
	company, err := db.Company(ctx, author.CompanyID)
	must(err)
	webhookStatements(t, db, opened, author)
	mailStatements(t, db, opened, author, company.StoreID)
	must(db.OfferConnect(ctx, commerce.ConnectOffer{KeyID: "k", PublicKey: []byte{1}}))
	_, err = db.ConnectOffer(ctx)
	must(err)
	_, err = db.CountConnections(ctx)
	must(err)
	for _, n := range []commerce.NewConnection{
		{ID: "draft", Platform: "nuvemshop", Sealed: []byte{1}, KeyID: "k"}, {ID: "removed", Platform: "nuvemshop"},
		{ID: "installing", Platform: "nuvemshop", InstallState: [32]byte{1}},
	} {
		must(db.AddConnection(ctx, author, n))
	}
	must(db.EndConnection(ctx, author, "removed"))
	_, task, err := db.InstallBack(ctx, author, commerce.InstallBack{CompanyID: author.CompanyID, StateHash: [32]byte{1}})
	must(err)
	_, err = db.ConnectTask(ctx, author.CompanyID, task)
	must(err)
	_, err = db.AddConnectTask(ctx, author, commerce.ConnectTask{ConnectionID: "draft", Kind: commerce.TaskTest})
	must(err)
	l := commerce.ConnectLease{Holder: "one", For: time.Minute}
	taken := func() (c commerce.LeasedConnection) {
		t.Helper()
		list, err := db.LeaseConnections(ctx, l, time.Now(), 10)
		must(err)
		for _, it := range list {
			if it.ID == "draft" {
				c = it
			}
		}
		return c
	}
	taken()
	must(db.SetConnectionState(ctx, l, author.CompanyID, "draft", commerce.ConnectStateChange{Shop: "1", Currency: company.Currency}))
	left, err := db.EraseShop(ctx, l, author.CompanyID, "draft")
	if must(err); left {
		t.Error("a shop without orders is to be erased")
	}
	must(db.ReplaceCredentials(ctx, author, "draft", []byte{2}, "k"))
	must(db.StartConnection(ctx, author, commerce.ConnectionStart{ID: "draft", Days: 1, CommissionsFrom: time.Now(), KeyID: "k",
		SealKey: func(string) ([]byte, error) { return []byte{3}, nil }}))
	must(db.PauseConnection(ctx, author, "draft"))
	must(db.ResumeConnection(ctx, author, "draft"))
	must(db.ChangeConnection(ctx, author, commerce.ConnectionChange{ID: "draft", PollEvery: time.Minute, CommissionsFrom: time.Now()}))
	c := taken()
	notice := commerce.ShopNotice{Kind: "order", Key: "1", At: time.Now(), Due: time.Now().Add(-time.Minute)}
	must(db.AddNotices(ctx, author.CompanyID, "draft", []commerce.ShopNotice{notice}))
	_, err = db.DueNotices(ctx, l, author.CompanyID, "draft", time.Now(), 10)
	must(err)
	must(db.DoneNotice(ctx, l, author.CompanyID, "draft", notice, time.Now()))
	must(db.AddShopRequest(ctx, l, author.CompanyID, "draft", commerce.ShopRequest{ID: "r", Kind: "redact", AskedAt: time.Now()}))
	must(db.AnswerShopRequest(ctx, author, "draft", "r"))
	must(db.DoneNotice(ctx, l, author.CompanyID, "draft", notice, time.Time{}))
	aside := make([]commerce.AsideOrder, commerce.MaxAside+1)
	for n := range aside {
		aside[n] = commerce.AsideOrder{OrderID: string(rune('a' + n)), At: time.Now()}
	}
	must(db.StorePage(ctx, l, author.CompanyID, "draft", commerce.ConnectPage{Backfill: &commerce.Backfill{}, Aside: aside,
		Mended: []string{"x"}, Sent: []commerce.SentOrder{{OrderID: "x", CreatedAt: time.Now()}}}))
	_, err = db.OrdersOfShop(ctx, author.CompanyID, "draft", time.Time{}, time.Now(), commerce.SentOrder{}, 10)
	must(err)
	must(db.StoreDay(ctx, l, author.CompanyID, "draft", commerce.ConnectionDay{Day: "2026-01-01", ComparedAt: time.Now()}))
	must(db.StoreCoupons(ctx, l, author.CompanyID, "draft", []commerce.ShopCoupon{{Code: "A"}}))
	must(db.LogConnection(ctx, author.CompanyID, "draft", "connection.redact", nil))
	tasks, err := db.TakeTasks(ctx, l, author.CompanyID, "draft", 10)
	must(err)
	for _, it := range tasks {
		it.Answer = json.RawMessage("{}")
		must(db.FinishTask(ctx, l, it))
	}
	must(db.FinishTask(ctx, l, commerce.ConnectTask{CompanyID: author.CompanyID, ConnectionID: "draft", ID: task, Kind: commerce.TaskEnd}))
	must(db.RenewLease(ctx, l, c))
	must(db.SetConnectionState(ctx, l, author.CompanyID, "draft", commerce.ConnectStateChange{From: c.State, State: commerce.ConnectionLive}))
	_, err = db.SentOrders(ctx, author.CompanyID, "draft", []string{"x"})
	must(err)
	_, err = db.OrderDigests(ctx, author.CompanyID, []string{"1"})
	must(err)
	_, err = db.KnownCodes(ctx, author.CompanyID, []string{"a"})
	must(err)
	_, err = db.CouponsToCompare(ctx, author.CompanyID, "", 10)
	must(err)
	must(db.SetConnectionState(ctx, l, author.CompanyID, "draft", commerce.ConnectStateChange{From: commerce.ConnectionLive,
		State: commerce.ConnectionEnded}))
	left, err = db.EraseShop(ctx, l, author.CompanyID, "draft")
	if must(err); !left {
		t.Error("no order is left")
	}
	must(db.ReleaseConnection(ctx, l, c, time.Now()))
	for _, read := range []func() error{
		func() error { _, err := db.Connections(ctx, author.CompanyID); return err },
		func() error { _, err := db.Connection(ctx, author.CompanyID, "draft"); return err },
		func() error { _, err := db.ConnectionByID(ctx, "draft"); return err },
		func() error { _, err := db.ConnectionsOfShop(ctx, "nuvemshop", "1"); return err },
		func() error { _, err := db.ConnectionDays(ctx, author.CompanyID, "draft"); return err },
		func() error { _, err := db.Aside(ctx, author.CompanyID, "draft", "", 10); return err },
		func() error { _, err := db.ConnectionCoupons(ctx, author.CompanyID, "draft"); return err },
		func() error { _, err := db.ShopRequests(ctx, author.CompanyID, "draft"); return err },
	} {
		must(read())
	}
	for _, id := range []string{"fails", "anew"} { // of one shop
		must(db.AddConnection(ctx, author, commerce.NewConnection{ID: id, Platform: "nuvemshop", Sealed: []byte{1}, KeyID: "k"}))
		_, err = db.AddConnectTask(ctx, author, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskTest})
		must(err)
		taken()
		must(db.SetConnectionState(ctx, l, author.CompanyID, id, commerce.ConnectStateChange{Shop: "2", Currency: company.Currency}))
		must(db.StartConnection(ctx, author, commerce.ConnectionStart{ID: id, Days: 1, CommissionsFrom: time.Now(), KeyID: "k",
			SealKey: func(string) ([]byte, error) { return []byte{3}, nil }}))
		if id == "fails" {
			taken()
			must(db.SetConnectionState(ctx, l, author.CompanyID, id,
				commerce.ConnectStateChange{From: commerce.ConnectionConnecting, State: commerce.ConnectionFailing}))
		}
	}
	_, err = opened.Pool().Exec(ctx, `update connection_turn set expires_at = now()`)
	must(err)
	must(db.OfferConnect(ctx, commerce.ConnectOffer{KeyID: "k", PublicKey: []byte{1}}))
}
