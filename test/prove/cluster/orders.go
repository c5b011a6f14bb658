package cluster

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
)

// orders are senders that sell until they are told to end, as a shop's own program does: each version of an order is sent
// again until it is acknowledged. Some orders are cancelled, or partly given back, after they were paid.
type orders struct {
	url     string
	stores  []store
	seed    uint64
	began   time.Time
	senders sync.WaitGroup
	ending  chan struct{} // closed: no new order
	cancel  context.CancelFunc

	acked, refused atomic.Int64 // versions; answers that are no 2xx

	mu   sync.Mutex
	sold []*order
	odd  []string
}

// order is one as its sender knows it.
type order struct {
	company, id string
	status      int
	total       int64 // hundredths, a multiple of ten: a tenth of it is whole
	coupon      bool
	sure        bool // all versions were acknowledged
}

const (
	sendersPerStore = 2
	meanPause       = time.Second // about six orders a second over all
)

func newOrders(url string, stores []store, seed uint64) *orders {
	return &orders{url: url, stores: stores, seed: seed, ending: make(chan struct{})}
}

// start begins to sell; end ends it.
func (o *orders) start(ctx context.Context) {
	ctx, o.cancel = context.WithCancel(ctx)
	o.began = time.Now()
	for n, one := range o.stores {
		for i := range sendersPerStore {
			random := rand.New(rand.NewPCG(o.seed, uint64(n*sendersPerStore+i))) //nolint:gosec // a load, repeatable
			o.senders.Go(func() { o.sell(ctx, one, fmt.Sprintf("o%d-%d", n, i), random) })
		}
	}
}

// end returns once all senders have ended: each sends what it began until it is acknowledged, for settle at most.
func (o *orders) end(settle time.Duration) {
	close(o.ending)
	bound := time.AfterFunc(settle, o.cancel)
	o.senders.Wait()
	bound.Stop()
	o.cancel()
}

// stop ends all at once.
func (o *orders) stop() {
	o.cancel()
	o.senders.Wait()
}

// known is how many orders are acknowledged in all of their versions.
func (o *orders) known() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, sale := range o.sold {
		if sale.sure {
			n++
		}
	}
	return n
}

// sell is one sender's life.
func (o *orders) sell(ctx context.Context, of store, prefix string, random *rand.Rand) {
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-o.ending:
			return
		case <-time.After(time.Duration(random.ExpFloat64() * float64(meanPause))):
		}
		sale := &order{company: of.company, id: fmt.Sprint(prefix, "-", n), status: commerce.OrderApproved,
			total: 10 * (100 + random.Int64N(5000)), coupon: random.IntN(2) == 0}
		o.mu.Lock()
		o.sold = append(o.sold, sale)
		o.mu.Unlock()
		created := time.Now().UTC().Truncate(time.Millisecond)
		versions := 1 + random.IntN(3)/2
		sure := true
		for v := range versions {
			if v > 0 && random.IntN(2) == 0 {
				sale.status = commerce.OrderCancelled
			} else if v > 0 {
				sale.total -= 10 * random.Int64N(sale.total/20) // partly given back
			}
			sure = o.send(ctx, client, of, sale, created, created.Add(time.Duration(v)*time.Second)) && sure
		}
		o.mu.Lock()
		sale.sure = sure
		o.mu.Unlock()
	}
}

// send sends a version until it is acknowledged; false: it was told to end before.
func (o *orders) send(ctx context.Context, client *http.Client, of store, sale *order, created, updated time.Time) bool {
	discount := "null"
	if sale.coupon {
		discount = `"` + code + `"`
	}
	const layout = "2006-01-02T15:04:05.000Z"
	body := fmt.Appendf(nil,
		`{"orderId":%q,"orderStatus":%d,"createdAt":%q,"updatedAt":%q,"totalPrice":%d.%02d,"currency":"BRL","discountCode":%s}`,
		sale.id, sale.status, created.Format(layout), updated.Format(layout), sale.total/100, sale.total%100, discount)
	for ctx.Err() == nil {
		status, err := o.post(ctx, client, of.key, body)
		switch {
		case err == nil && status/100 == 2:
			o.acked.Add(1)
			return true
		case err == nil && status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
			o.strange(fmt.Sprintf("order %s is answered %d", sale.id, status))
			return false
		default:
			o.refused.Add(1)
		}
		background.Sleep(ctx, 200*time.Millisecond)
	}
	return false
}

func (o *orders) post(ctx context.Context, client *http.Client, key string, body []byte) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+"/admin/v1/order", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// strange keeps the first few.
func (o *orders) strange(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const most = 5
	if len(o.odd) < most {
		o.odd = append(o.odd, what)
	}
}
