package processor

import (
	"fmt"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func (s *shop) refused(n int, at time.Time, origins ...wire.NoticeRefused) record {
	return s.record(s.notice(n, func(w *wire.Notice) { w.Origin, w.Agent, w.ReceivedAt, w.Refused = "", "", at, origins }))
}

func (s *shop) refusedOrigins() []string {
	return s.texts(`select concat_ws(' ', origin, own, events, to_char(last_at at time zone 'UTC', 'MM-DD HH24:MI'))
		from refused_origin order by 1`)
}

// TestRefusedOriginsAreKept: how many events of each, whether it is of the shop's own domain, and
// for thirty days. No event counts as received by it.
func TestRefusedOriginsAreKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`update company set origins = '{https://www.loja.com.br}', hosts = '{pay.example}'`)
	s.apply([]record{
		s.refused(1, noon, wire.NoticeRefused{Origin: "https://loja.com.br", Events: 12}, wire.NoticeRefused{Events: 3}),
		s.refused(2, noon.Add(time.Minute), wire.NoticeRefused{Origin: "https://loja.com.br", Events: 1},
			wire.NoticeRefused{Origin: "https://outra.com.br", Events: 5}, wire.NoticeRefused{Origin: "null", Events: 1},
			wire.NoticeRefused{Origin: "https://x.pay.example:8443", Events: 1},
			wire.NoticeRefused{Origin: "https://xn--lja-0na.com.br", Events: 1}),
		s.refused(3, noon.Add(time.Minute), wire.NoticeRefused{Origin: "no origin", Events: 1},
			wire.NoticeRefused{Origin: "https://x.example", Events: -5}),
	}, func() int { return 2 })
	wantTexts(t, "refused origins", s.refusedOrigins(),
		"https://loja.com.br t 13 03-10 12:01", "https://outra.com.br f 5 03-10 12:01", "https://x.example f 0 03-10 12:01",
		"https://x.pay.example:8443 t 1 03-10 12:01", "https://xn--lja-0na.com.br f 1 03-10 12:01",
		"null f 1 03-10 12:01", "other f 4 03-10 12:01")
	wantTexts(t, "the delivery ledger", s.ledger())

	late := s.refused(4, noon.AddDate(0, 0, 31), wire.NoticeRefused{Origin: "https://new.example", Events: 1})
	s.apply([]record{late}, func() int { return 1 })
	wantTexts(t, "a month later", s.refusedOrigins(), "https://new.example f 1 04-10 12:00")
}

// A stranger sends 10,000 origins: those of the shop's own domain stay.
func TestAStrangersOriginsDriveOutNoneOfTheShops(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`update company set origins = '{https://www.loja.com.br}'`)
	records := []record{s.refused(1, noon, wire.NoticeRefused{Origin: "https://loja.com.br", Events: 12})}
	for n := range 500 {
		var list []wire.NoticeRefused
		for k := range 25 {
			list = append(list, wire.NoticeRefused{Origin: fmt.Sprintf("https://s%d.example", 25*n+k), Events: 1 << 40})
		}
		records = append(records, s.refused(2+n, noon.Add(time.Duration(n+1)*time.Minute), list...))
	}
	s.apply(records, func() int { return 100 })
	if n := s.int(`select count(*) from refused_origin where origin <> 'other'`); n != 20 {
		t.Errorf("%d origins are kept", n)
	}
	if n := s.int(`select events from refused_origin where origin = 'https://loja.com.br' and own`); n != 12 {
		t.Errorf("the shop's own has %d", n)
	}
	for n := range 30 {
		own := wire.NoticeRefused{Origin: fmt.Sprintf("https://s%d.loja.com.br", n), Events: 1}
		s.apply([]record{s.refused(1000+n, noon.Add(time.Duration(1000+n)*time.Minute), own)}, func() int { return 1 })
	}
	wantTexts(t, "only the shop's own are left", s.texts(`select distinct own::text from refused_origin`), "true")
	if n := s.int(`select count(*) from refused_origin`); n != 20 {
		t.Errorf("%d origins are kept", n)
	}
}
