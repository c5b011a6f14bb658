package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// fleet is the three services in processes of their own, on a real Apache Kafka
// and a real PostgreSQL, as operators run them.
type fleet struct {
	env                    []string
	dsn                    string
	broker                 *devtest.Broker
	companyID, key         string
	edgeURL                string
	adminURL               string
	edge, processor, admin *process
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	return startFleetOn(t, devtest.Postgres(t))
}

// startFleetOn is startFleet on a database that there is.
func startFleetOn(t *testing.T, dsn string) *fleet {
	t.Helper()
	broker := devtest.RealKafka(t)
	f := &fleet{dsn: dsn, broker: broker}
	f.env = []string{
		"TRIBUTARY_KAFKA_BROKERS=" + broker.Addr, "TRIBUTARY_POSTGRES=" + f.dsn,
		"TRIBUTARY_HASHING_SECRET=" + strings.Repeat("h", 48), "TRIBUTARY_TOKEN_SECRET=" + strings.Repeat("t", 48),
		"TRIBUTARY_INGEST_RATE=100000", "TRIBUTARY_INGEST_BURST=100000",
	}
	made := f.run(t, "company", "create", "Fault")
	match := regexp.MustCompile(`(?m)^live\s+(\S+)`).FindStringSubmatch(made)
	if match == nil {
		t.Fatalf("company create printed no live company:\n%s", made)
	}
	f.companyID = match[1]
	f.key = regexp.MustCompile(`trb_live_\S+`).FindString(f.run(t, "keys", "create", "--company", f.companyID, "fault"))
	if f.key == "" {
		t.Fatal("keys create printed no key")
	}

	edgeAddr, adminAddr := freeAddr(t), freeAddr(t)
	f.edgeURL, f.adminURL = "http://"+edgeAddr, "http://"+adminAddr+"/admin/v1"
	f.admin = startIn(t, f.env, "admin", "--addr", adminAddr, "--short-base", edgeAddr+"/s")
	f.startEdge(t)
	f.startProcessor(t)
	f.waitReady(t, "http://"+adminAddr+"/readyz")
	f.waitReady(t, f.edgeURL+"/readyz")
	return f
}

func (f *fleet) startEdge(t *testing.T) {
	t.Helper()
	f.edge = startIn(t, f.env, "edge", "--addr", strings.TrimPrefix(f.edgeURL, "http://"))
}

func (f *fleet) startProcessor(t *testing.T) {
	t.Helper()
	f.processor = startIn(t, f.env, "processor", "--addr", "127.0.0.1:0")
}

func (f *fleet) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(), args...)
	cmd.Env = append(os.Environ(), f.env...)
	out, status := finish(t, cmd)
	if status != 0 {
		t.Fatalf("tributary %v: exit status %d\n%s", args, status, out)
	}
	return out
}

func (f *fleet) waitReady(t *testing.T, url string) {
	t.Helper()
	await.Until(t, await.Long, func() bool {
		got, err := call(t.Context(), http.MethodGet, url, "", nil)
		return err == nil && got.status == http.StatusOK
	}, func() string { return url + " did not become ready" })
}

// freeAddr is a loopback address nobody listens on now.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// registerCoupon makes an influencer with the coupon ANA10 and 10 % commission. It
// writes to the database: outside of dev the admin API refuses a link whose host
// does not resolve, and this test must pass without a network.
func (f *fleet) registerCoupon(t *testing.T) {
	t.Helper()
	var made int
	queryOne(t, f.dsn, []any{&made}, `
		with i as (insert into influencer (company_id, influencer_id, name, name_folded, rev)
				values ($1, gen_random_uuid(), 'Ana Prado', 'ana prado', 1) returning influencer_id),
			c as (insert into campaign (company_id, campaign_id, influencer_id, name, name_folded, rev)
				select $1, 'cam_1', influencer_id, 'Inverno', 'inverno', 1 from i),
			k as (insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev)
				select $1, gen_random_uuid(), influencer_id, 'cam_1', 'ANA10', 'ANA10', daterange(null, null), 1 from i),
			f as (insert into cost (company_id, cost_id, influencer_id, var_fee, is_coupon_cost, start_date, rev)
				select $1, gen_random_uuid(), influencer_id, 10, true, '2016-01-01', 1 from i)
		select count(*) from i`, f.companyID)
}

// TestNothingAcknowledgedIsLostToSIGKILL kills each of the programs, with SIGKILL: the edge and the processor several times
// during events and orders, then PostgreSQL and Kafka in the middle of concurrent orders. The senders do as our SDK does:
// what was not acknowledged is sent again with the same id. In the end each event and each order is stored, and each order
// earns its commission, exactly once.
func TestNothingAcknowledgedIsLostToSIGKILL(t *testing.T) {
	database := startMortalPostgres(t)
	f := startFleetOn(t, database.dsn)
	f.registerCoupon(t)
	events, firstOrders := f.overKillsOfServices(t)
	orders := firstOrders + f.overTheDeathOfPostgresAndKafka(t, database)

	wantCount(t, f.dsn, "events", events, `select count(*) from event_fact where company_id = $1`, f.companyID)
	wantCount(t, f.dsn, "orders", orders, `select count(*) from orders where company_id = $1`, f.companyID)
	// Of the second orders some were refused after Kafka had taken them: they came again as another version.
	wantCount(t, f.dsn, "only versions", firstOrders,
		`select count(*) from orders where company_id = $1 and order_id like 'first-%' and accepted_at is not null`, f.companyID)
	wantCount(t, f.dsn, "commission in the ledger", orders*100,
		`select coalesce(sum(amount_minor), 0)::bigint from ledger_entry where company_id = $1`, f.companyID)
	wantCount(t, f.dsn, "ledger entries", orders, `select count(*) from ledger_entry where company_id = $1`, f.companyID)
	wantCount(t, f.dsn, "last-touch credit", orders*1000,
		`select coalesce(sum(last_minor), 0)::bigint from credit where company_id = $1`, f.companyID)
	if out := f.run(t, "verify"); !strings.Contains(out, fmt.Sprintf("Equal: %d orders.", orders)) {
		t.Errorf("tributary verify:\n%s", out)
	}

	f.edge.signal(syscall.SIGTERM)
	select {
	case <-f.edge.done:
		if f.edge.err != nil {
			t.Errorf("the edge ended with %v at SIGTERM, want exit status 0", f.edge.err)
		}
	case <-time.After(await.Long):
		t.Errorf("the edge did not drain within %v of SIGTERM", await.Long)
	}
}

// overKillsOfServices sends events and orders, and kills the edge and the processor meanwhile. It returns how many were
// acknowledged: all.
func (f *fleet) overKillsOfServices(t *testing.T) (allEvents, allOrders int64) {
	t.Helper()
	const (
		senders, batches, batchSize = 4, 30, 10
		orders                      = 100
		kills                       = 2
	)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var acknowledged atomic.Int64
	var traffic sync.WaitGroup
	for range senders {
		traffic.Go(func() {
			for range batches {
				if !f.sendBatch(ctx, batchSize) {
					return
				}
				acknowledged.Add(batchSize)
			}
		})
	}
	var ordered atomic.Int64
	traffic.Go(func() {
		for i := range orders {
			if !f.sendOrder(ctx, fmt.Sprintf("first-%d", i)) {
				return
			}
			ordered.Add(1)
		}
	})

	const total = senders * batches * batchSize
	for k := int64(1); k <= kills; k++ {
		await.Until(t, await.Long, func() bool { return acknowledged.Load() >= k*total/(kills+2) }, func() string {
			return fmt.Sprintf("traffic stalled at %d of %d events", acknowledged.Load(), total)
		})
		f.edge.kill(t)
		f.processor.kill(t)
		f.startEdge(t)
		f.startProcessor(t)
	}
	traffic.Wait()
	if acknowledged.Load() != total || ordered.Load() != orders {
		t.Fatalf("%d of %d events and %d of %d orders were acknowledged in time", acknowledged.Load(), total, ordered.Load(), orders)
	}
	return total, orders
}

// sendBatch sends new events until each is acknowledged.
func (f *fleet) sendBatch(ctx context.Context, n int) bool {
	events := make([]map[string]any, n)
	for i := range events {
		events[i] = map[string]any{
			"eventId": uuid.Must(uuid.NewV7()).String(), "event": "PAGE_VIEW", "visitorId": uuid.NewString(),
			"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		}
	}
	return again(ctx, func() bool {
		got, err := call(ctx, http.MethodPost, f.edgeURL+"/v1/events", "", map[string]any{"companyId": f.companyID, "events": events})
		if err != nil || got.status != http.StatusOK {
			return false
		}
		var reply struct{ Results []struct{ Status string } }
		if json.Unmarshal(got.body, &reply) != nil || len(reply.Results) != n {
			return false
		}
		for _, r := range reply.Results {
			if r.Status != "ok" && r.Status != "duplicate" {
				return false
			}
		}
		return true
	})
}

// sendOrder sends one order of 10.00 with the coupon until it is acknowledged.
func (f *fleet) sendOrder(ctx context.Context, id string) bool {
	body := order(id, "10.00", "ANA10")
	return again(ctx, func() bool {
		got, err := call(ctx, http.MethodPost, f.adminURL+"/order", f.key, body)
		return err == nil && got.status == http.StatusOK
	})
}

// again tries until it succeeds or ctx ends.
func again(ctx context.Context, try func() bool) bool {
	for !try() {
		if !background.Sleep(ctx, 100*time.Millisecond) {
			return false
		}
	}
	return true
}
