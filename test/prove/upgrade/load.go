package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/sdk"
)

// load sends events by the Go SDK, and orders as a shop does: one after the other, each again until it is acknowledged.
type load struct {
	company, key string
	edge, admin  string // URLs
	pace         time.Duration

	mu     sync.Mutex
	events []string // ids that were acknowledged
	orders []string
	odd    []string // what neither is nor may be

	client *sdk.Client
	wait   sync.WaitGroup
	stop   context.CancelFunc
	number int // of the next order
}

const (
	senders     = 2 // of orders
	mostOdd     = 10
	answerLasts = 30 * time.Second
	mostAnswer  = 1 << 20
)

// begin sends until end.
func (l *load) begin(ctx context.Context) (err error) {
	l.client, err = sdk.New(sdk.Config{ //nolint:contextcheck // the client lives until it is closed
		CompanyID: l.company, Endpoint: l.edge, APIKey: l.key, FlushInterval: l.pace, WaitWhenFull: true,
		OnResult: func(r sdk.Result) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if r.Status != sdk.Acknowledged && r.Status != sdk.Duplicate {
				l.wrong("event %s: %s %s %v", r.EventID, r.Status, r.Message, r.Err)
				return
			}
			l.events = append(l.events, r.EventID)
		}})
	if err != nil {
		return err
	}
	ctx, l.stop = context.WithCancel(ctx)
	l.wait.Go(func() {
		for n := 0; background.Sleep(ctx, l.pace); n++ {
			err := l.client.Track(ctx, "PAGE_VIEW", map[string]any{"url": fmt.Sprintf("https://loja.example.com/p/%d", n%50)},
				sdk.Identity{Email: fmt.Sprintf("p%d@example.com", n%20)})
			if err != nil && ctx.Err() == nil {
				l.mu.Lock()
				l.wrong("event: %v", err)
				l.mu.Unlock()
			}
		}
	})
	for range senders {
		l.wait.Go(func() {
			for background.Sleep(ctx, l.pace) {
				l.mu.Lock()
				l.number++
				id := fmt.Sprint("o", l.number)
				l.mu.Unlock()
				l.send(ctx, id)
			}
		})
	}
	return nil
}

// wrong notes what may not be; l.mu is held.
func (l *load) wrong(format string, args ...any) {
	if len(l.odd) < mostOdd {
		l.odd = append(l.odd, fmt.Sprintf(format, args...))
	}
}

// send sends an order until it is acknowledged.
func (l *load) send(ctx context.Context, id string) {
	at := time.Now().UTC().Format(time.RFC3339)
	body := fmt.Sprintf(`{"orderId":%q,"orderStatus":0,"createdAt":%q,"updatedAt":%q,"totalPrice":100.00,"shippingPrice":0,
		"currency":"BRL","discountCode":"ANA10","customer":{"customerId":%q,"email":"%s@example.com"},
		"items":[{"item_id":"v-1","productId":"p-1","variantId":"v-1","quantity":1,"price":100.00}]}`, id, at, at, "c-"+id, id)
	const tries = 20
	for range tries {
		err := l.post(ctx, "/admin/v1/order", body)
		l.mu.Lock()
		if err == nil {
			l.orders = append(l.orders, id)
			l.mu.Unlock()
			return
		}
		l.wrong("order %s: %v", id, err)
		l.mu.Unlock()
		time.Sleep(l.pace)
	}
}

// post sends a request to the admin API.
func (l *load) post(ctx context.Context, path, body string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLasts) // also while the load ends
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.admin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+l.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%w: %s %s", errRefused, response.Status, text)
	}
	return err
}

var errRefused = errors.New("refused")

// end ends it, and returns once each event is acknowledged or given up.
func (l *load) end(ctx context.Context) error {
	l.stop()
	l.wait.Wait()
	return l.client.Close(ctx)
}
