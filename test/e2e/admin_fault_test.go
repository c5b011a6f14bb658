package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// mortalPostgres is a durable PostgreSQL for one test, which may be killed.
type mortalPostgres struct {
	config devstack.PostgresConfig
	server *devstack.Postgres
	dsn    string
}

func startMortalPostgres(t *testing.T) *mortalPostgres {
	t.Helper()
	p := &mortalPostgres{config: devstack.PostgresConfig{Dir: dataDir(t)}}
	p.start(t)
	var err error
	if p.dsn, err = p.server.CreateDatabase(t.Context(), "tributary"); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), p.dsn); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if p.config.Port, err = strconv.Atoi(at.Port()); err != nil { // the same over restarts
		t.Fatal(err)
	}
	t.Cleanup(func() { p.server.Stop() })
	return p
}

func (p *mortalPostgres) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	server, err := devstack.StartPostgres(ctx, p.config)
	if err != nil {
		t.Fatal(err)
	}
	p.server = server
}

// kill is SIGKILL to the server, waited for.
func (p *mortalPostgres) kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(p.server.Pid(), syscall.SIGKILL); err != nil {
		t.Errorf("kill postgres: %v", err)
	}
	<-p.server.Done()
}

// overTheDeathOfPostgresAndKafka kills both in the middle of concurrent orders, half of them under an Idempotency-Key. What
// got 200 is on commerce.v1. Everything else was an error answer, and none took long. The services recover without a
// restart, and in the end each order is acknowledged. It returns how many there are.
func (f *fleet) overTheDeathOfPostgresAndKafka(t *testing.T, database *mortalPostgres) int64 {
	t.Helper()
	const (
		orders = 300
		// The admin promises an answer within 2 s. Ten times that is for the race
		// detector and hundreds of goroutines on a busy machine: what takes longer
		// has waited for Postgres or Kafka without a bound.
		longest = 20_000 // ms, in the admin's log
	)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: orders, MaxConnsPerHost: orders}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	bodies := make([][]byte, orders) // an order sent again is the same, byte for byte
	for n := range bodies {
		var err error
		if bodies[n], err = json.Marshal(order(fmt.Sprintf("o-%d", n), "10.00", "ANA10")); err != nil {
			t.Fatal(err)
		}
	}
	// send makes one attempt at an order. It fails the test for an answer that is neither 200 nor an expected error.
	send := func(n int) (accepted bool) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.adminURL+"/order", bytes.NewReader(bodies[n]))
		if err != nil {
			t.Error(err)
			return false
		}
		request.Header.Set("Authorization", "Bearer "+f.key)
		request.Header.Set("Content-Type", "application/json")
		if n%2 == 1 {
			request.Header.Set("Idempotency-Key", fmt.Sprintf("k-%d", n))
		}
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("order %d got no answer: %v", n, err)
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		var envelope struct {
			Success   bool
			Error     struct{ Code string }
			RequestID string `json:"request_id"`
		}
		if err == nil {
			err = json.Unmarshal(text, &envelope)
		}
		status := response.StatusCode
		clean := status == 200 && envelope.Success ||
			status == 503 && envelope.Error.Code == "unavailable" && response.Header.Get("Retry-After") != "" ||
			// Its first attempt could not release the key: PostgreSQL was down.
			status == 409 && envelope.Error.Code == "idempotency_in_progress" && response.Header.Get("Retry-After") != ""
		if err != nil || !clean || envelope.RequestID == "" {
			t.Errorf("order %d: %d, %v: %s", n, status, err, text)
		}
		return status == 200
	}

	accepted := make([]bool, orders)
	var answered atomic.Int64
	var traffic sync.WaitGroup
	for n := range orders {
		traffic.Go(func() {
			accepted[n] = send(n)
			answered.Add(1)
		})
	}
	reach := func(n int64) {
		await.Until(t, 2*await.Long, func() bool { return answered.Load() >= n || ctx.Err() != nil },
			func() string { return fmt.Sprintf("%d of %d orders were answered", answered.Load(), n) })
	}
	reach(orders / 10)
	database.kill(t)
	reach(orders / 5)
	f.broker.Kill()
	traffic.Wait()
	refused := 0
	for _, ok := range accepted {
		if !ok {
			refused++
		}
	}
	t.Logf("%d of %d orders were accepted, %d refused", orders-refused, orders, refused)
	if refused == 0 || refused == orders {
		t.Errorf("the deaths were not in the middle: %d of %d orders were refused", refused, orders)
	}

	late, told := 0, 0
	for _, line := range strings.Split(f.admin.output.String(), "\n") {
		if match := unavailableLine.FindStringSubmatch(line); match != nil {
			told++
			if ms, err := strconv.Atoi(match[1]); err != nil || ms > longest {
				late++
				t.Logf("late: %s", line)
			}
		}
	}
	if late > 0 || told == 0 {
		t.Errorf("%d of %d errors came too late", late, told)
	}

	database.start(t)
	f.broker.Restart()
	onTopic := f.orderIDs(ctx, t, f.broker.Addr)
	for n, ok := range accepted {
		if id := fmt.Sprintf("o-%d", n); ok && onTopic[id] == 0 {
			t.Errorf("%s got 200 and is not on commerce.v1", id)
		}
	}

	// The admin is not restarted. Refused orders are sent again.
	var healing sync.WaitGroup
	for n, ok := range accepted {
		if !ok {
			healing.Go(func() {
				if !again(ctx, func() bool { return send(n) }) {
					t.Errorf("order %d was never accepted", n)
				}
			})
		}
	}
	healing.Wait()
	return orders
}

// unavailableLine is a 503 in the admin's access log.
var unavailableLine = regexp.MustCompile(`status"?[=:]503.*duration_ms"?[=:](\d+)`)

// orderIDs counts the order records of the company on commerce.v1, by order, as
// it stands now.
func (f *fleet) orderIDs(ctx context.Context, t *testing.T, broker string) map[string]int {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}, ClientID: "fault-test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var found map[string]int
	// A broker that has just started again may not lead the partition yet.
	if !again(ctx, func() bool {
		found = map[string]int{}
		until, stop := context.WithTimeout(ctx, await.Long)
		defer stop()
		reached := false
		err = client.Follow(until, wire.TopicCommerce, kafka.PartitionFor([]byte(f.companyID), devtest.Partitions), kafka.FromFirst,
			func(_ int64, r kafka.Record) error {
				var c wire.Commerce
				if err := json.Unmarshal(r.Value, &c); err != nil {
					return err
				}
				if c.Kind == wire.KindOrder {
					found[c.ID]++
				}
				return nil
			}, func() { reached = true; stop() })
		return reached
	}) {
		t.Fatalf("the end of commerce.v1 was not reached: %v", err)
	}
	return found
}
