package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/copied"
)

// A store sends a history by POST /orders; another one, whose orders are in the same partition, sells meanwhile.
const (
	bulkOrders  = 20_000
	bulkLines   = 500                    // of a request
	bulkBetween = 250 * time.Millisecond // two orders of the other store
)

// The goals (the issue of the connectors): orders a second that are acknowledged, credited beside what the processor does alone,
// and how soon the other store's orders are credited.
const (
	bulkIntake = 1700
	bulkShare  = 0.8
	bulkMedian = time.Second
	bulkWorst  = 3 * time.Second
)

// bulkName is the name of this measurement, for -only.
const bulkName = "orders in bulk"

// bulked is what was measured of a history.
type bulked struct {
	alone    float64         // orders a second that a processor credits of the same records, sent one by one, with nothing beside it
	intake   float64         // … that were acknowledged
	credited float64         // … from the first request until all were credited
	other    []time.Duration // from the answer until the other store's order was credited
}

// measureBulk measures the history beside the same orders in the topic of a processor that has nothing else to do.
func (b *bench) measureBulk(ctx context.Context) (m bulked, err error) {
	one := *b
	one.partitions = 1 // which both stores have
	if m.alone, err = one.creditedAlone(ctx); err != nil {
		return m, fmt.Errorf("alone: %w", err)
	}
	return m, one.sendBulk(ctx, &m)
}

// creditedAlone is how many orders a second the processor credits that wait in its topic, each as it is sent alone.
func (b *bench) creditedAlone(ctx context.Context) (perSecond float64, err error) {
	dsn, err := b.migrated(ctx, "bulk_alone")
	if err != nil {
		return 0, err
	}
	at, stop, err := b.openPlace(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r := &attack{bench: b, place: at, now: time.Now().UTC().Truncate(time.Millisecond)}
	var list [][]byte
	for i := range bulkOrders {
		value, err := order(at.company, i, r.now)
		if err != nil {
			return 0, err
		}
		list = append(list, value)
	}
	if err := r.send(ctx, wire.TopicCommerce, list...); err != nil {
		return 0, err
	}
	var of measured
	of.units = bulkOrders
	if err := b.runProcessor(ctx, at.db, at.broker.Addr(), dsn, bulkOrders, &of); err != nil {
		return 0, err
	}
	return float64(time.Second) / float64(of.processor.wall), nil
}

// sendBulk sends the history to an admin while a processor runs, and the other store's orders.
func (b *bench) sendBulk(ctx context.Context, m *bulked) (err error) {
	dsn, err := b.migrated(ctx, "bulk_sent")
	if err != nil {
		return err
	}
	secret := []byte(strings.Repeat("bench", 8))
	keys, err := sellers(ctx, dsn, secret)
	if err != nil {
		return err
	}
	broker, _, stopBroker, err := b.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	db, err := copied.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	_, end, err := b.startProcessor(ctx, broker.Addr(), dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	url, endAdmin, err := b.startAdmin(ctx, broker.Addr(), dsn, secret)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endAdmin()) }()
	if _, err := creditedAfter(ctx, url, keys[1], "warm"); err != nil { // caches are warm
		return err
	}
	selling, sold := context.WithCancel(ctx)
	var both errgroup.Group
	both.Go(func() error {
		for n := 0; selling.Err() == nil; n++ {
			took, err := creditedAfter(ctx, url, keys[1], fmt.Sprint("live-", n))
			if err != nil {
				return err
			}
			m.other = append(m.other, took)
			background.Sleep(selling, bulkBetween)
		}
		return nil
	})
	err = b.history(ctx, db, url, keys[0], m)
	sold()
	return errors.Join(err, both.Wait())
}

// history sends the orders, 500 in a request, one request after the other as the import does, and waits until all are credited.
func (b *bench) history(ctx context.Context, db *copied.Database, url, key string, m *bulked) error {
	began := time.Now()
	for first := 0; first < bulkOrders; first += bulkLines {
		var body bytes.Buffer
		for i := range bulkLines {
			body.WriteString(bulkLine(first+i, began))
		}
		var answer struct{ Data struct{ Accepted int } }
		if err := call(ctx, http.MethodPost, url+"/orders", key, "application/x-ndjson", &body, &answer); err != nil {
			return err
		}
		if answer.Data.Accepted != bulkLines {
			return fmt.Errorf("%d of %d lines were taken", answer.Data.Accepted, bulkLines)
		}
	}
	m.intake = bulkOrders / time.Since(began).Seconds()
	for {
		progress, err := db.Progress(ctx)
		if err != nil {
			return err
		}
		if progress.Records >= bulkOrders && progress.Queued == 0 {
			m.credited = bulkOrders / time.Since(began).Seconds()
			return nil
		}
		if !background.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// bulkLine is an order as order makes it, as a line.
func bulkLine(i int, now time.Time) string {
	return fmt.Sprintf(`{"orderId":"order-%08[1]d","number":%[1]d,"orderStatus":0,"createdAt":%[2]q,"updatedAt":%[2]q,"totalPrice":250.00,`+
		`"shippingPrice":20.00,"currency":"BRL","paymentMethod":1,"installments":3,"provinceCode":"SP","countryCode":"BR","userId":%[3]q,`+
		`"browserIp":"%[4]s","source":0,"customer":{"customerId":"%[1]d","name":"Maria Souza","email":"maria%[1]d@example.com",`+
		`"phone":"+55119%08[1]d"},"items":[{"item_id":"1","productId":"vestido","variantId":"vestido-m","quantity":1,"price":230.00}]}`+"\n",
		i, now.UTC().Format(time.RFC3339), visitorID(i), fmt.Sprintf("%d.%d.%d.9", 100+i>>16, i>>8&255, i&255))
}

// sellers makes two stores, and returns an API key of each.
func sellers(ctx context.Context, dsn string, secret []byte) (keys []string, err error) {
	hasher, err := identity.NewHasher(secret)
	if err != nil {
		return nil, err
	}
	companies, err := createStores(ctx, dsn, 2, hasher.Check)
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, company := range companies {
		_, text, err := merchant.New(db).CreateAPIKey(ctx, account.NewAPIKey{CompanyID: company, Name: "bench", Actor: "cli",
			Scopes: []account.Scope{account.WriteOrders, account.ReadInfluencers}, Random: rand.Reader})
		if err != nil {
			return nil, err
		}
		keys = append(keys, text)
	}
	return keys, nil
}

// startAdmin starts the built admin with rates that bound nothing here. end ends it and waits for it.
func (b *bench) startAdmin(ctx context.Context, broker, dsn string, secret []byte) (url string, end func() error, err error) {
	file := filepath.Join(b.dir, "secret")
	if err := os.WriteFile(file, secret, 0o600); err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := listener.Addr().String()
	_ = listener.Close() // the admin listens there next
	//nolint:gosec // built by us
	command := exec.CommandContext(ctx, b.binary, "admin", "--kafka-brokers", broker, "--addr", addr, "--log-level", "error", "--short-base",
		"go.example.com/s", "--hashing-secret-file", file, "--token-secret-file", file, "--bulk-rate", "1000", "--bulk-burst", "1000",
		"--rule-rate", "1000", "--rule-burst", "1000")
	command.Env, command.Stderr = append(os.Environ(), "TRIBUTARY_POSTGRES="+dsn), os.Stderr
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	end = func() error {
		_ = command.Process.Signal(syscall.SIGTERM)
		return command.Wait()
	}
	for {
		if err = call(ctx, http.MethodGet, "http://"+addr+"/readyz", "", "", nil, nil); err == nil {
			return "http://" + addr + "/admin/v1", end, nil
		}
		if !background.Sleep(ctx, pause) {
			return "", nil, errors.Join(err, end())
		}
	}
}

// creditedAfter sends one order and returns how long after its answer it was credited.
func creditedAfter(ctx context.Context, url, key, id string) (took time.Duration, err error) {
	line := strings.Replace(bulkLine(0, time.Now()), "order-00000000", id, 1)
	if err := call(ctx, http.MethodPost, url+"/order", key, "application/json", strings.NewReader(line), nil); err != nil {
		return 0, err
	}
	began := time.Now()
	for call(ctx, http.MethodGet, url+"/order/"+id+"/attribution", key, "", nil, nil) != nil {
		if !background.Sleep(ctx, pause) {
			return 0, fmt.Errorf("%s is not credited: %w", id, ctx.Err())
		}
	}
	return time.Since(began), nil
}

// call makes a request and reads its answer into one that is not nil. Another status than 200 is an error.
func call(ctx context.Context, method, url, key, media string, body io.Reader, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if media != "" {
		request.Header.Set("Content-Type", media)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %.300s", method, url, answer.Status, text)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// print writes what was measured, beside the goals.
func (m bulked) print(to io.Writer) {
	slices.Sort(m.other)
	word := func(met bool) string {
		if met {
			return "met"
		}
		return "missed"
	}
	middle, worst := m.other[len(m.other)/2], m.other[len(m.other)-1]
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s (%d, %d in a request)\t\tgoal\t\n", bulkName, bulkOrders, bulkLines)
	fmt.Fprintf(w, "acknowledged, orders a second\t%.0f\t≥ %d, %s\t\n", m.intake, bulkIntake, word(m.intake >= bulkIntake))
	fmt.Fprintf(w, "the processor alone, orders a second\t%.0f\t\t\n", m.alone)
	fmt.Fprintf(w, "credited from the first request on, orders a second\t%.0f\t\t\n", m.credited)
	fmt.Fprintf(w, "… of the processor alone\t%.2f\t≥ %.1f, %s\t\n", m.credited/m.alone, bulkShare, word(m.credited >= bulkShare*m.alone))
	fmt.Fprintf(w, "another store's order credited meanwhile, median of %d\t%s\t≤ %s, %s\t\n", len(m.other), middle.Round(time.Millisecond),
		bulkMedian, word(middle <= bulkMedian))
	fmt.Fprintf(w, "… worst\t%s\t≤ %s, %s\t\n", worst.Round(time.Millisecond), bulkWorst, word(worst <= bulkWorst))
	_ = w.Flush()
}
