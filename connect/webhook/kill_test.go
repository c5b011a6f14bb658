package webhook_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/connect/webhook"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// The variables of a test program that is a sender: where its database is, and the key file's text. killsVariable is how often senders
// are killed; `make prove` sets it.
const (
	senderVariable = "TRIBUTARY_TEST_SENDER"
	keysVariable   = "TRIBUTARY_TEST_SENDER_KEYS"
	killsVariable  = "TRIBUTARY_WEBHOOK_KILLS"
)

func TestMain(m *testing.M) { devtest.MainOr(m, senderVariable, beSender) }

// beSender sends until ctx ends.
func beSender(ctx context.Context, db *postgres.DB) error {
	keys, err := account.ParseSealKeys([]byte(os.Getenv(keysVariable)))
	if err != nil {
		return err
	}
	s, err := webhook.New(webhook.Config{AllowLocal: true, LookEvery: 20 * time.Millisecond, IdleLook: time.Second},
		webhook.Deps{Database: merchant.New(db), Keys: keys})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// receiver is a merchant's system: it fails now and then, and keeps what came first.
type receiver struct {
	mu       sync.Mutex
	secret   string
	failed   map[string]bool
	came     map[string]int64 // messages by endpoint and id: their sequence
	last     map[string]int64 // by endpoint and order: the sequence that came last
	problems []string
	repeated int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed
	}
	id := request.Header.Get("Webhook-Id")
	seconds, _ := strconv.ParseInt(request.Header.Get("Webhook-Timestamp"), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	want, err := webhook.Sign([]string{r.secret}, id, time.Unix(seconds, 0), body)
	var m struct {
		Type string
		Data struct {
			Sequence int64
			OrderID  string `json:"orderId"`
		}
	}
	if err = errors.Join(err, json.Unmarshal(body, &m)); err != nil || want != request.Header.Get("Webhook-Signature") {
		r.problems = append(r.problems, fmt.Sprintf("%s is not signed: %v", id, err))
	}
	message := request.URL.Path + " " + id
	if !r.failed[message] && mathrand.IntN(100) == 0 {
		r.failed[message] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if _, again := r.came[message]; again {
		r.repeated++
		return
	}
	order := request.URL.Path + " " + m.Data.OrderID
	if m.Data.Sequence <= r.last[order] {
		r.problems = append(r.problems, fmt.Sprintf("%s: %d came after %d", order, m.Data.Sequence, r.last[order]))
	}
	r.came[message], r.last[order] = m.Data.Sequence, m.Data.Sequence
}

// Two senders work side by side, and are killed at any moment while events are written: each reaches the receiver, in the order of its
// order.
func TestNothingIsLostWhileSendersAreKilled(t *testing.T) {
	t.Parallel()
	kills := 5
	if text := os.Getenv(killsVariable); text != "" {
		kills, _ = strconv.Atoi(text)
	}
	ctx, dsn := t.Context(), devtest.Postgres(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	opened, err := postgres.Open(ctx, dsn)
	must(err)
	t.Cleanup(opened.Close)
	db := merchant.New(opened)
	store, err := db.CreateStore(ctx, commerce.NewStore{Name: "Loja", Settings: commerce.Settings{Origins: []string{"https://a.example.com"}},
		Actor: "cli", KeyCheck: func(id string) string { return id }, Random: rand.Reader})
	must(err)
	keys, err := account.NewSealKeys()
	must(err)
	keyText, err := keys.Text()
	must(err)
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	r := &receiver{secret: secret, failed: map[string]bool{}, came: map[string]int64{}, last: map[string]int64{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	company := store.Live.CompanyID
	author := commerce.Author{CompanyID: company, Actor: "cli", At: time.Now()}
	endpoints := []string{"whe_a", "whe_b", "whe_c"}
	for _, id := range endpoints {
		sealed, keyID, err := keys.Seal(account.SealedFor{CompanyID: company, ConnectionID: id, Purpose: account.SealWebhook}, []byte(secret))
		must(err)
		e := commerce.Endpoint{ID: id, Name: id, URL: server.URL + "/" + id, Types: commerce.EventTypes, Active: true}
		must(db.AddEndpoint(ctx, author, e, commerce.SealedSecret{KeyID: keyID, Sealed: sealed}))
	}

	writing, stopWriting := context.WithCancel(ctx)
	var written int
	wrote := make(chan error, 1)
	go func() {
		for writing.Err() == nil {
			err := opened.InTx(ctx, func(tx pgx.Tx) error {
				return postgres.Tell(ctx, tx, company, func() (list []commerce.Event, err error) {
					for range 3 {
						order := fmt.Sprint(mathrand.IntN(40))
						total := commerce.Amount{Minor: mathrand.Int64N(1e12), Currency: "BRL"}
						list = append(list, commerce.Event{Type: commerce.PayoutChanged, Key: "order:" + order,
							At: time.Now().Truncate(time.Microsecond), Data: commerce.OrderTold{OrderID: order, Currency: "BRL", Total: total}})
					}
					return list, nil
				})
			})
			if err != nil {
				wrote <- err
				return
			}
			written += 3 * len(endpoints)
			time.Sleep(5 * time.Millisecond)
		}
		wrote <- nil
	}()
	start := func() (processes [2]*exec.Cmd) {
		for i := range processes {
			p := exec.CommandContext(ctx, os.Args[0])
			p.Env = append(os.Environ(), senderVariable+"="+dsn, keysVariable+"="+string(keyText))
			p.Stderr = os.Stderr
			must(p.Start())
			processes[i] = p
		}
		return processes
	}
	kill := func(processes [2]*exec.Cmd) {
		for _, p := range processes {
			must(p.Process.Kill())
			_ = p.Wait() // killed
		}
		// A minute later nobody holds what they held. What one of them was about to take it may hold for that minute.
		_, err := opened.Pool().Exec(ctx, `update destination set leased_until = now() where leased_until > now()`)
		must(err)
	}
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.came)
	}
	const patience = 2 * await.Long // a lease, and then what comes
	for killed := 0; killed < kills; killed += 2 {
		processes, before := start(), count()
		await.Until(t, patience, func() bool { return count() > before }, func() string { return "nothing comes" })
		time.Sleep(time.Duration(mathrand.IntN(600)) * time.Millisecond)
		kill(processes)
	}
	stopWriting()
	must(<-wrote)
	processes := start()
	for came := count(); came < written; came = count() { // on a busy machine many are left, and come one after the other
		await.Until(t, patience, func() bool { return count() > came }, func() string { return fmt.Sprintf("%d of %d came", came, written) })
	}
	waiting := func() (n int) {
		must(opened.Pool().QueryRow(ctx, `select count(*) from outgoing where state <> 'delivered'`).Scan(&n))
		return n
	}
	await.Until(t, patience, func() bool { return waiting() == 0 }, func() string { return fmt.Sprint(waiting(), " are not delivered") })
	kill(processes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.came) != written || len(r.problems) > 0 {
		t.Errorf("%d messages of %d, %d problems: %.10q", len(r.came), written, len(r.problems), r.problems)
	}
	t.Logf("%d kills, %d messages, %d came more than once, %d failed first", kills, written, r.repeated, len(r.failed))
}
