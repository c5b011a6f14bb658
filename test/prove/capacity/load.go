package capacity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/background"
)

// Load is what is sent: visits of new visitors, to the stores in turn.
type Load struct {
	Name       string
	Stores     int
	Visits     int
	Requests   int           // of a visit
	Events     int           // of a request
	Text       int           // bytes of text in an event's payload
	OrderOf    int           // one visit in so many buys at its end; 0: none does
	ClickOf    int           // one visit in so many begins by the influencer's short link; 0: none does
	Over       time.Duration // in which it is sent
	Represents time.Duration // over which the events' own times are spread
}

// step is how many visits later the next request of a visit is sent: the requests of a visit do not follow each other at once.
const step = 25

// sender sends a load to a stand.
type sender struct {
	Load
	*stand
	run    string    // tells the visitors of two loads apart
	origin time.Time // of the first event
	client *http.Client
	bytes  atomic.Int64 // of the events' bodies
	orders atomic.Int64
	clicks atomic.Int64
}

// connections that are open at the same time, at most.
const connections = 16

// errRefused is of an answer that does not say yes.
var errRefused = errors.New("refused")

// send sends all of it at an even pace, and returns what was sent. An error of one request ends it.
func (l Load) send(ctx context.Context, s *stand, run string) (t Traffic, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	x := &sender{Load: l, stand: s, run: run, origin: time.Now().Add(-l.Represents).UTC().Truncate(time.Millisecond),
		client: &http.Client{Timeout: 30 * time.Second, Transport: transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan [2]int)
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for w := range work {
				if err := x.request(ctx, w[0], w[1]); err != nil {
					stop(err)
				}
			}
		})
	}
	began := time.Now()
	slots := l.Visits + l.Requests*step
	for slot := range slots {
		background.Sleep(ctx, time.Until(began.Add(time.Duration(slot)*l.Over/time.Duration(slots))))
		for n := range l.Requests + 1 {
			if visit := slot - n*step; visit >= 0 && visit < l.Visits && ctx.Err() == nil {
				work <- [2]int{visit, n}
			}
		}
	}
	close(work)
	all.Wait()
	requests := l.Visits * l.Requests
	return Traffic{Seconds: time.Since(began).Seconds(), Stores: l.Stores, Visits: float64(l.Visits), Requests: float64(requests),
		Events: float64(requests * l.Events), EventBytes: float64(x.bytes.Load()), Orders: float64(x.orders.Load()),
		Clicks: float64(x.clicks.Load())}, context.Cause(ctx)
}

// request sends the nth request of a visit; the last one is its order, where it has one.
func (x *sender) request(ctx context.Context, visit, n int) error {
	at := x.origin.Add(time.Duration(int64(x.Represents) / int64(x.Visits+x.Requests*step) * int64(visit+n*step)))
	store := x.stores[visit%x.Stores]
	if n == x.Requests {
		if x.OrderOf == 0 || visit/x.Stores%x.OrderOf != 0 {
			return nil
		}
		x.orders.Add(1)
		return x.do(ctx, visit, http.MethodPost, "http://"+x.addrs["admin"]+"/admin/v1/order", store.key, x.order(visit, at))
	}
	if n == 0 && x.ClickOf != 0 && visit/x.Stores%x.ClickOf == 0 {
		x.clicks.Add(1)
		if err := x.do(ctx, visit, http.MethodGet, "http://"+x.addrs["edge"]+"/s/"+store.link, "", nil); err != nil {
			return err
		}
	}
	body, size, err := x.events(visit, n, at, store.company)
	if err != nil {
		return err
	}
	x.bytes.Add(int64(size))
	return x.do(ctx, visit, http.MethodPost, "http://"+x.addrs["edge"]+"/v1/events", "", body)
}

// do sends a request, and again where the answer is to try again later.
func (x *sender) do(ctx context.Context, visit int, method, url, key string, body []byte) (err error) {
	const tries = 5
	for range tries {
		if err = x.once(ctx, visit, method, url, key, body); !errors.Is(err, errLater) || !background.Sleep(ctx, time.Second) {
			break
		}
	}
	return err
}

// errLater is of an answer that says to send the same again.
var errLater = errors.New("not now")

func (x *sender) once(ctx context.Context, visit int, method, url, key string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("100.%d.%d.%d", 64+visit>>16&63, visit>>8&255, visit&255))
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := x.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if response.StatusCode == http.StatusServiceUnavailable {
		return errors.Join(err, fmt.Errorf("%w: %s %s: %s", errLater, method, url, text))
	}
	if err == nil && (response.StatusCode/100 > 3 || bytes.Contains(text, []byte(`"rejected"`))) {
		err = fmt.Errorf("%w: %s %s: %s %s", errRefused, method, url, response.Status, text)
	}
	return err
}

const userAgent = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 " +
	"Mobile/15E148 Safari/604.1"

// id is a UUID of version 4 that stands for a thing of a visit.
func (x *sender) id(kind string, visit int) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, fmt.Append(nil, kind, x.run, visit), 4).String()
}

// names are the events of a visit, over and over.
var names = []string{"PAGE_VIEW", "PAGE_VIEW", "PRODUCT_VIEW", "PAGE_VIEW", "ADD_TO_CART"}

// events is the body of a visit's nth request, and the bytes of its events.
func (x *sender) events(visit, n int, at time.Time, company string) (body []byte, size int, err error) {
	list := make([]json.RawMessage, x.Events)
	for i := range list {
		list[i], err = json.Marshal(x.event(visit, n*x.Events+i, at.Add(time.Duration(i)*time.Second)))
		if err != nil {
			return nil, 0, err
		}
		size += len(list[i])
	}
	body, err = json.Marshal(map[string]any{"companyId": company, "events": list})
	return body, size, err
}

// event is a visit's nth event, as a page sends it. The last one of a visit that buys says who the shopper is.
func (x *sender) event(visit, n int, at time.Time) map[string]any {
	var id uuid.UUID
	sum := sha256.Sum256(fmt.Append(nil, x.run, visit, n))
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	copy(id[6:], sum[:10])
	id[6], id[8] = 0x70|id[6]&0xf, 0x80|id[8]&0x3f
	page := fmt.Sprintf("https://loja.example.com/p/%d", sum[10])
	referrer := "https://loja.example.com/"
	if n == 0 {
		page, referrer = page+"?utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado&utm_content=Primavera", "https://www.instagram.com/"
	}
	e := map[string]any{
		"event": names[n%len(names)], "eventId": id.String(), "timestamp": at.Format("2006-01-02T15:04:05.000Z"),
		"visitorId": x.id("visitor", visit), "sessionId": x.id("session", visit), "consent": "granted",
		"stream": x.id("stream", visit), "seq": n + 1,
		"context": map[string]any{"page": map[string]any{"url": page, "referrer": referrer, "title": "Vestido de linho – Loja"},
			"library": map[string]any{"name": "sdk-js", "version": "1.0.0"}, "locale": "pt-BR", "screen": "390x844", "userAgent": userAgent},
	}
	payload := map[string]any{}
	if x.Text > 0 {
		payload["text"] = madeUp(sum, x.Text)
	}
	if n == x.Requests*x.Events-1 && x.OrderOf != 0 && visit/x.Stores%x.OrderOf == 0 {
		e["event"] = "CHECKOUT_COMPLETED"
		e["identity"] = map[string]any{"email": fmt.Sprintf("p%s%d@example.com", x.run, visit), "customer_id": fmt.Sprint(x.run, visit)}
	}
	if e["event"] != "PAGE_VIEW" {
		payload["items"] = []map[string]any{{"item_id": "v-1", "item_quantity": 1, "price": 230.00}}
	}
	e["payload"] = payload
	return e
}

// madeUp is words of so many bytes.
func madeUp(sum [32]byte, size int) string {
	words := []string{"linho", "vestido", "azul", "manga", "curta", "primavera", "tamanho", "oferta", "algodão", "bolsa", "couro", "verão"}
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(words[int(sum[i%32]+byte(i))%len(words)])
		b.WriteByte(' ')
	}
	return b.String()[:size]
}

// order is the order of a visit.
func (x *sender) order(visit int, at time.Time) []byte {
	stamp := at.Format(time.RFC3339)
	return fmt.Appendf(nil, `{"orderId":"%s-%d","orderStatus":0,"createdAt":%q,"updatedAt":%q,"totalPrice":250.00,"shippingPrice":20.00,
"currency":"BRL","visitorId":%q,"paymentMethod":1,"customer":{"customerId":"%s%d","name":"Maria Souza","email":"p%s%d@example.com"},
"items":[{"item_id":"v-1","productId":"p-1","variantId":"v-1","quantity":1,"price":230.00}]}`,
		x.run, visit, stamp, stamp, x.id("visitor", visit), x.run, visit, x.run, visit)
}
