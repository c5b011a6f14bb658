package merchant_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

func TestTwoServicesNeverHoldOneConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for n := range 12 {
		s.connected(fmt.Sprint("shop", n))
	}
	s.exec(`update connection_turn set holder = '', leased_until = null`)
	var mu sync.Mutex
	holders := map[string]string{}
	var services sync.WaitGroup
	for n := range 6 {
		holder := fmt.Sprint("service", n)
		services.Go(func() {
			for range 10 {
				list, err := s.db.LeaseConnections(t.Context(), lease(holder), time.Now(), 3)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, c := range list {
					if other := holders[c.ID]; other != "" {
						t.Errorf("%s is held by %s and %s", c.ID, other, holder)
					}
					holders[c.ID] = holder
				}
				mu.Unlock()
			}
		})
	}
	services.Wait()
	if len(holders) != 12 {
		t.Errorf("%d of 12 were taken", len(holders))
	}
}

func TestALostLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	id, company := s.connected("1"), s.author.CompanyID
	short := commerce.ConnectLease{Holder: "first", For: 200 * time.Millisecond}
	c := s.lease(short, id)
	s.must(s.db.StorePage(ctx, short, company, id, commerce.ConnectPage{Orders: 1}))
	_, err := s.db.AddConnectTask(ctx, s.author, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskCompare})
	s.must(err)
	s.must(s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{{Kind: "order", Key: "1", At: time.Now(), Due: time.Now()}}))
	lost := func(l commerce.ConnectLease) {
		t.Helper()
		writes := map[string]error{
			"page":    s.db.StorePage(ctx, l, company, id, commerce.ConnectPage{Orders: 1, Cursor: time.Now()}),
			"state":   s.db.SetConnectionState(ctx, l, company, id, commerce.ConnectStateChange{From: "connecting", State: "live"}),
			"renew":   s.db.RenewLease(ctx, l, c),
			"release": s.db.ReleaseConnection(ctx, l, c, time.Now()),
			"finish":  s.db.FinishTask(ctx, l, commerce.ConnectTask{CompanyID: company, ConnectionID: id}),
			"day":     s.db.StoreDay(ctx, l, company, id, commerce.ConnectionDay{Day: "2026-01-01", ComparedAt: time.Now()}),
			"coupons": s.db.StoreCoupons(ctx, l, company, id, []commerce.ShopCoupon{{Code: "A"}}),
			"notice":  s.db.DoneNotice(ctx, l, company, id, commerce.ShopNotice{Kind: "order", Key: "1", Came: 1}, time.Time{}),
		}
		_, writes["tasks"] = s.db.TakeTasks(ctx, l, company, id, 1)
		_, writes["notices"] = s.db.DueNotices(ctx, l, company, id, time.Now(), 1)
		for what, err := range writes {
			if !errors.Is(err, commerce.ErrLeaseLost) {
				t.Errorf("%s by %q: %v", what, l.Holder, err)
			}
		}
		after, err := s.db.Connection(ctx, company, id)
		if err != nil || after.Orders != 1 || after.State != commerce.ConnectionConnecting || !after.Cursor.IsZero() {
			t.Errorf("%+v %v", after, err)
		}
	}
	lost(lease("stranger"))
	lost(commerce.ConnectLease{For: time.Minute})
	time.Sleep(250 * time.Millisecond)
	lost(short)
	second := s.lease(lease("second"), id)
	lost(short)
	if !second.Tasks || !second.Notices || second.Timezone == "" || second.StoreCurrency != "BRL" {
		t.Errorf("%+v", second)
	}
	// A change by the merchant takes it from the service.
	s.must(s.db.PauseConnection(ctx, s.author, id))
	s.want(s.db.StorePage(ctx, lease("second"), company, id, commerce.ConnectPage{Orders: 1}), commerce.ErrLeaseLost)
}

func TestWhatComesWhileAConnectionIsHeldIsLookedAtAfterwards(t *testing.T) {
	t.Parallel()
	s, ctx, l := newShop(t), t.Context(), lease("one")
	id := s.connected("1")
	c := s.lease(l, id)
	s.must(s.db.ReleaseConnection(ctx, l, c, time.Now().Add(time.Hour)))
	none := func() {
		t.Helper()
		if list, err := s.db.LeaseConnections(ctx, l, time.Now(), 10); err != nil || len(list) > 0 {
			t.Fatalf("%d were due, %v", len(list), err)
		}
	}
	none()
	notice := []commerce.ShopNotice{{Kind: "order", Key: "1", At: time.Now(), Due: time.Now()}}
	s.must(s.db.AddNotices(ctx, s.author.CompanyID, id, notice))
	c = s.lease(l, id)
	s.must(s.db.AddNotices(ctx, s.author.CompanyID, id, notice))
	none()
	s.must(s.db.ReleaseConnection(ctx, l, c, time.Now().Add(time.Hour)))
	c = s.lease(l, id)
	s.must(s.db.ReleaseConnection(ctx, l, c, time.Now().Add(time.Hour)))
	none()
}

func TestCompaniesTakeTurns(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	for n := range 10 {
		s.connected(fmt.Sprint("shop", n))
	}
	other, err := s.db.CreateStore(ctx, commerce.NewStore{Name: "Outra", Actor: "cli", Random: rand.Reader,
		KeyCheck: func(string) string { return "" }})
	s.must(err)
	small := commerce.Author{CompanyID: other.Live.CompanyID, Actor: "cli", At: time.Now()}
	id := s.draft(small, "small")
	s.must(s.start(small, id))
	s.exec(`update connection_turn set holder = '', leased_until = null`)
	list, err := s.db.LeaseConnections(ctx, lease("one"), time.Now(), 2)
	if err != nil || len(list) != 2 || list[0].CompanyID == list[1].CompanyID {
		t.Errorf("%+v %v", list, err)
	}
	// What is held counts: the next ones would be the large company's only since the small one has no more.
	s.must(s.db.PauseConnection(ctx, small, id))
	s.must(s.db.ResumeConnection(ctx, small, id))
	if list, err = s.db.LeaseConnections(ctx, lease("one"), time.Now(), 1); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("%+v %v", list, err)
	}
	_, _, err = s.db.Archive(ctx, commerce.Archiving{CompanyIDs: []string{s.author.CompanyID}, Actor: "cli"})
	s.must(err)
	if list, err = s.db.LeaseConnections(ctx, lease("two"), time.Now(), 20); err != nil || len(list) != 0 {
		t.Errorf("an archived company's: %+v %v", list, err)
	}
	s.want(s.db.ResumeConnection(ctx, s.author, "connection0000000000000001"), commerce.ErrArchived)
}
