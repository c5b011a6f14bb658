package admin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// benchSetup names, in its environment, what the server process of a benchmark
// runs on. A process of its own, so that neither the client's CPU nor a
// broker's is counted as the server's.
const benchSetup = "TRIBUTARY_BENCH_SETUP"

type setup struct{ DSN, Broker, CompanyID string }

func TestMain(m *testing.M) {
	if text := os.Getenv(benchSetup); text != "" {
		if err := serveBench(text); err != nil {
			fmt.Fprintln(os.Stderr, "bench server:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveBench serves the admin API, the bare handlers beside it and the
// process's CPU time until its standard input ends.
func serveBench(text string) error {
	var with setup
	if err := json.Unmarshal([]byte(text), &with); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := postgres.Open(ctx, with.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{with.Broker}})
	if err != nil {
		return err
	}
	defer client.Close()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		return err
	}
	producer := kafka.NewProducer(client)
	batcher := produce.NewBatcher(producer, produce.Config{})
	defer batcher.Close(ctx)
	unlimited := admin.Rate{PerSecond: 1e9, Burst: 1e9}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com", RuleRate: unlimited, IngestRate: unlimited}, admin.Deps{
		Database: storesOf(db), Producer: batcher, Hasher: hasher, Resolver: everyNamePublic{},
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	ran := make(chan struct{})
	go func() { server.Run(ctx); close(ran) }()
	defer func() { cancel(); <-ran }() // before db closes: the relay holds a connection

	mux := http.NewServeMux()
	mux.Handle("/", server)
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, int64(cpuTime())) })
	// The bare handlers do what cannot be left out, and nothing else.
	produce := func(to interface {
		Produce(ctx context.Context, topic string, records ...wire.Record) error
	}) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = to.Produce(r.Context(), wire.TopicCommerce, wire.Record{Key: []byte(with.CompanyID), Value: body})
			}
			tell(w, err)
		}
	}
	mux.HandleFunc("/bare/produce/order", produce(producer))
	mux.HandleFunc("/bare/batched/order", produce(batcher))
	mux.HandleFunc("/bare/pgx/influencers", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Name string }
		err := json.NewDecoder(r.Body).Decode(&body)
		if err == nil {
			_, err = storesOf(db).RegisterInfluencer(r.Context(), commerce.Author{CompanyID: with.CompanyID, Actor: "cli", At: time.Now()},
				commerce.Registration{
					Name: body.Name, Links: []string{"https://loja.example.com/"},
					Coupons: []commerce.CouponTerms{{Code: strings.ToUpper(body.Name)}},
				}, rand.Reader)
		}
		tell(w, err)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent's end is ours
		_ = web.Close()
	}()
	fmt.Println(listener.Addr())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func tell(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(w, `{"success":true}`)
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// benchServer starts the server process on real parts and gives its origin and a key.
func benchServer(b *testing.B) (origin, key string) {
	b.Helper()
	dsn := devtest.Postgres(b)
	db, err := postgres.Open(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	stores := storesOf(db)
	store, err := stores.CreateStore(b.Context(),
		commerce.NewStore{Name: "Loja", Actor: "cli", KeyCheck: func(string) string { return "" }, Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	_, key, err = stores.CreateAPIKey(b.Context(),
		account.NewAPIKey{CompanyID: store.Live.CompanyID, Name: "bench", Scopes: account.Scopes, Actor: "cli", Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(setup{dsn, devtest.RealKafka(b).Addr, store.Live.CompanyID})
	if err != nil {
		b.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), benchSetup+"="+string(text))
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stdin.Close(); _ = child.Wait() })
	var addr string
	if _, err := fmt.Fscanln(stdout, &addr); err != nil {
		b.Fatal("the bench server told no address: ", err)
	}
	return "http://" + addr, key
}

// benchClients is how many connections send at a time; each waits for its answer.
const benchClients = 64

// BenchmarkPostOrder is POST /order beside bare handlers that read the body and
// produce it: each by itself, and through the same batcher. x-bare is the
// server's CPU as a multiple of the first's.
func BenchmarkPostOrder(b *testing.B) {
	origin, key := benchServer(b)
	body := func(n int64) string { return strings.Replace(order1001, `"1001"`, fmt.Sprintf(`"b-%d"`, n), 1) }
	compare(b, origin, key, body, []string{"/bare/produce/order", "/bare/batched/order", "/admin/v1/order"})
}

// BenchmarkPostInfluencers is POST /influencers, with one link and one coupon,
// beside a bare handler that runs the same transaction.
func BenchmarkPostInfluencers(b *testing.B) {
	origin, key := benchServer(b)
	body := func(n int64) string {
		return fmt.Sprintf(`{"name":"b%d","links":[{"url":"https://loja.example.com/"}],"coupons":[{"cupom":"B%d"}]}`, n, n)
	}
	compare(b, origin, key, body, []string{"/bare/pgx/influencers", "/admin/v1/influencers"})
}

func compare(b *testing.B, origin, key string, body func(n int64) string, paths []string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}
	defer client.CloseIdleConnections()
	var made atomic.Int64
	var bare float64
	send := func(path string) error {
		request, err := http.NewRequest("POST", origin+path, strings.NewReader(body(made.Add(1))))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err == nil && (response.StatusCode != 200 || !bytes.Contains(answer, []byte(`"success":true`))) {
			err = fmt.Errorf("%s: %d %s", path, response.StatusCode, answer)
		}
		return err
	}
	for _, path := range paths {
		b.Run(path, func(b *testing.B) {
			for range 200 { // connections, caches, partition counts
				if err := send(path); err != nil {
					b.Fatal(err)
				}
			}
			before := serverCPU(b, client, origin)
			b.SetParallelism(benchClients / 2) // of two cores
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := send(path); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.StopTimer()
			cpu := (serverCPU(b, client, origin) - before).Seconds() / float64(b.N)
			if strings.HasPrefix(path, "/bare") && (bare == 0 || path == paths[0]) {
				bare = cpu
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(cpu*1e6, "cpu-s/1M")
			b.ReportMetric(cpu/bare, "x-bare")
		})
	}
}

func serverCPU(b *testing.B, client *http.Client, origin string) time.Duration {
	b.Helper()
	response, err := client.Get(origin + "/cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	var nanoseconds int64
	if _, err := fmt.Fscan(response.Body, &nanoseconds); err != nil {
		b.Fatal(err)
	}
	return time.Duration(nanoseconds)
}
