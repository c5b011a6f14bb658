package mail

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// A shop that is not read for a moment is no mail, one that flaps is one in six hours, and one that is not read in the end is told.
func TestAShopThatFlapsIsOneMail(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`delete from membership where role <> 'owner'`)
	s.must(s.db.EnsureMail(t.Context()))
	s.exec(`insert into connection (company_id, connection_id, platform, shop_name, state, since, created_at, poll_seconds)
		values ($1, 'con_1', 'shopify', 'Loja', 'failing', now(), now(), 60)`, s.company)
	fails := func() commerce.Event {
		return commerce.Event{Type: commerce.ConnectionFails, Key: "connection:con_1", At: time.Now().Truncate(time.Microsecond),
			Data: commerce.ConnectionTold{ConnectionID: "con_1", Platform: "shopify", Reason: commerce.ShopLimited}}
	}
	for range 3 {
		s.tell(fails())
	}
	if s.count(`select count(*) from outgoing where due_at > now() + interval '29 minutes'`) != 1 ||
		s.count(`select count(*) from outgoing`) != 1 {
		t.Fatal("it is not one mail that waits for half an hour")
	}
	s.exec(`update connection set state = 'live'`)
	s.due()
	stop := s.run()
	s.wait("it is not looked at", func() bool { return s.settled() })
	s.exec(`update connection set state = 'failing'`)
	s.tell(fails())
	s.due()
	s.wait("it is not told", func() bool { return len(s.inbox.got()) == 1 && s.settled() })
	s.tell(fails())
	s.due()
	s.wait("it is told again", func() bool {
		return s.count(`select count(*) from outgoing where state = 'waiting' and due_at > now() + interval '5 hours'`) == 1
	})
	stop()
	if n := len(s.inbox.got()); n != 1 {
		t.Errorf("%d mails", n)
	}
}
