package merchant_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

func TestAShopIsConnectedOnceAndFreeAfterItsEnd(t *testing.T) {
	t.Parallel()
	s, ctx, l := newShop(t), t.Context(), lease("one")
	company := s.author.CompanyID
	first := s.connected("7")
	held := s.lease(l, first)
	key, err := s.db.APIKeyByHash(ctx, account.KeyHash(string(held.SealedAPIKey)))
	if err != nil || !key.ActiveAt(time.Now()) || !key.HasAll([]account.Scope{account.WriteOrders, account.EraseCustomers}) {
		t.Fatalf("%+v %v", key, err)
	}
	second := "connection-again"
	s.must(s.db.AddConnection(ctx, s.author, commerce.NewConnection{ID: second, Platform: "nuvemshop", Sealed: []byte("s"), KeyID: "k1"}))
	s.want(s.start(s.author, second), commerce.ErrConnectionState) // it was not tested
	_, err = s.db.AddConnectTask(ctx, s.author, commerce.ConnectTask{ConnectionID: second, Kind: commerce.TaskTest})
	s.must(err)
	s.lease(l, second)
	s.want(s.db.SetConnectionState(ctx, l, company, second, commerce.ConnectStateChange{Shop: "7", Currency: "BRL"}),
		commerce.ErrShopConnected)
	// Also where both were tested before one was started.
	s.exec(`update connection set shop = '7', currency = 'BRL' where connection_id = $1`, second)
	s.want(s.start(s.author, second), commerce.ErrShopConnected)

	s.want(s.db.SetConnectionState(ctx, l, company, first, commerce.ConnectStateChange{From: "live", State: "failing"}),
		commerce.ErrConnectionState)
	s.must(s.db.EndConnection(ctx, s.author, first))
	if key, err = s.db.APIKeyByHash(ctx, account.KeyHash(string(held.SealedAPIKey))); err != nil || key.ActiveAt(time.Now()) {
		t.Errorf("the key works on: %+v %v", key, err)
	}
	s.want(s.db.EndConnection(ctx, s.author, first), commerce.ErrConnectionState)
	s.want(s.db.ResumeConnection(ctx, s.author, first), commerce.ErrConnectionState)
	s.must(s.start(s.author, second))
	ended := s.lease(l, first)
	tasks, err := s.db.TakeTasks(ctx, l, company, first, 10)
	if err != nil || ended.State != commerce.ConnectionEnded || ended.Reason != "disconnected" || len(tasks) != 1 ||
		tasks[0].Kind != commerce.TaskEnd || len(ended.Sealed) == 0 {
		t.Fatalf("%+v %+v %v", ended, tasks, err)
	}
	s.must(s.db.FinishTask(ctx, l, tasks[0]))
	if ended, err = s.db.ConnectionByID(ctx, first); err != nil || len(ended.Sealed) != 0 {
		t.Errorf("the credentials are kept: %+v %v", ended, err)
	}
}

func TestAnUninstalledShopsKeyWorksUntilItsPersonsAreErased(t *testing.T) {
	t.Parallel()
	s, ctx, l := newShop(t), t.Context(), lease("one")
	id, company := s.connected("7"), s.author.CompanyID
	held := s.lease(l, id)
	s.must(s.db.SetConnectionState(ctx, l, company, id, commerce.ConnectStateChange{From: commerce.ConnectionConnecting,
		State: commerce.ConnectionEnded, Reason: commerce.ShopUninstalled}))
	key, err := s.db.APIKeyByHash(ctx, account.KeyHash(string(held.SealedAPIKey)))
	if err != nil || !key.ActiveAt(time.Now().Add(49*time.Hour)) || key.ActiveAt(time.Now().Add(73*time.Hour)) {
		t.Errorf("%+v %v", key, err)
	}
	c, err := s.db.ConnectionByID(ctx, id)
	if err != nil || len(c.Sealed) != 0 || c.State != commerce.ConnectionEnded || c.Reason != commerce.ShopUninstalled {
		t.Errorf("%+v %v", c, err)
	}
}

func TestDraftsExpire(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	draft, started := s.draft(s.author, "1"), s.connected("2")
	offer := commerce.ConnectOffer{KeyID: "k1", PublicKey: []byte{1}, Platforms: []commerce.OfferedPlatform{{Name: "nuvemshop"}}}
	if none, err := s.db.ConnectOffer(ctx); err != nil || !none.SeenAt.IsZero() || none.Runs(time.Now()) {
		t.Errorf("%+v %v", none, err)
	}
	s.must(s.db.OfferConnect(ctx, offer))
	if _, err := s.db.Connection(ctx, s.author.CompanyID, draft); err != nil {
		t.Error(err)
	}
	s.exec(`update connection_turn set expires_at = $1 where expires_at is not null`, time.Now().Add(-time.Hour))
	offer.KeyID = "k2"
	s.must(s.db.OfferConnect(ctx, offer))
	got, err := s.db.ConnectOffer(ctx)
	if err != nil || got.KeyID != "k2" || len(got.Platforms) != 1 || time.Since(got.SeenAt) > time.Minute {
		t.Errorf("%+v %v", got, err)
	}
	_, err = s.db.Connection(ctx, s.author.CompanyID, draft)
	s.want(err, commerce.ErrNotFound)
	list, err := s.db.Connections(ctx, s.author.CompanyID)
	if err != nil || len(list) != 1 || list[0].ID != started || list[0].Version == 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// What a platform asks in a person's name long after the end of a connection reaches the company. Of several connections to a shop the
// last one is kept, without what hung off it.
func TestTheShopOfAConnectionThatEndedIsKept(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	first := s.connected("7")
	s.must(s.db.EndConnection(ctx, s.author, first))
	last := s.connected("7")
	s.must(s.db.EndConnection(ctx, s.author, last))
	for i, id := range []string{first, last} {
		s.exec(`update connection set since = $1, shop_name = 'Loja', shop_url = 'https://loja.example.com' where connection_id = $2`,
			time.Now().AddDate(0, 0, -61).Add(time.Duration(i)*time.Second), id)
	}
	s.exec(`update connection_turn set expires_at = $1 where expires_at is not null`, time.Now().Add(-time.Hour))
	for range 2 {
		s.must(s.db.OfferConnect(ctx, commerce.ConnectOffer{KeyID: "k1", PublicKey: []byte{1}}))
	}
	_, err := s.db.Connection(ctx, s.author.CompanyID, first)
	s.want(err, commerce.ErrNotFound)
	_, err = s.db.ConnectionByID(ctx, first)
	s.want(err, commerce.ErrNotFound)
	kept, err := s.db.ConnectionByID(ctx, last)
	if err != nil || kept.ShopName != "Loja" || kept.ShopURL != "" || len(kept.Sealed)+len(kept.SealedAPIKey) > 0 {
		t.Errorf("of the last one stays: %+v, %v", kept, err)
	}
	if list, err := s.db.Connections(ctx, s.author.CompanyID); err != nil || len(list) != 0 {
		t.Errorf("%d are listed, %v", len(list), err)
	}
	if list, err := s.db.ConnectionsOfShop(ctx, "nuvemshop", "7"); err != nil || len(list) != 1 || list[0].ID != last {
		t.Fatalf("a notice finds %+v, %v", list, err)
	}
	notice := commerce.ShopNotice{Kind: "redact", Key: "n", At: time.Now(), Due: time.Now()}
	s.must(s.db.AddNotices(ctx, s.author.CompanyID, last, []commerce.ShopNotice{notice}))
	s.lease(lease("one"), last)
	request := commerce.ShopRequest{ID: "n", Kind: "redact", AskedAt: time.Now()}
	s.must(s.db.AddShopRequest(ctx, lease("one"), s.author.CompanyID, last, request))
	if list, err := s.db.Connections(ctx, s.author.CompanyID); err != nil || len(list) != 1 || list[0].ID != last {
		t.Errorf("what is to be done is not shown: %+v, %v", list, err)
	}
}

// While erasures of a shop wait, a look at how far they are waits for nobody who works at the company, and takes no lock.
func TestALookAtTheErasureOfAShopTakesNoLock(t *testing.T) {
	t.Parallel()
	s, l := newShop(t), lease("one")
	company, id := s.author.CompanyID, s.connected("7")
	s.must(s.db.EndConnection(t.Context(), s.author, id))
	s.exec(`insert into shop_order (company_id, platform, shop, order_id, created_at)
		select $1, 'nuvemshop', '7', n, now() from generate_series(1, 5500) n`, company)
	s.lease(l, id)
	erase := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		left, err := s.db.EraseShop(ctx, l, company, id)
		if err == nil && !left {
			t.Error("no order is left")
		}
		return err
	}
	s.must(erase())
	conn, err := pgx.Connect(t.Context(), s.dsn)
	s.must(err)
	defer conn.Close(context.Background())
	erasures := 0
	s.must(conn.QueryRow(t.Context(), `select count(*) from erasure where kinds = 'shop'`).Scan(&erasures))
	if erasures != 10 {
		t.Errorf("%d erasures wait", erasures)
	}
	tx, err := conn.Begin(t.Context())
	s.must(err)
	_, err = tx.Exec(t.Context(), `select 1 from company where company_id = $1 for update`, company)
	s.must(err)
	s.must(erase())
	s.must(tx.Rollback(t.Context()))
}
