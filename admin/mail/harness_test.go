package mail

import (
	"context"
	"crypto/rand"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// The variables of a test program that is a sender: where its database and its SMTP server are.
const (
	senderVariable = "TRIBUTARY_TEST_MAILS"
	smtpVariable   = "TRIBUTARY_TEST_SMTP"
)

func TestMain(m *testing.M) { devtest.MainOr(m, senderVariable, beSender) }

// beSender sends until ctx ends.
func beSender(ctx context.Context, db *postgres.DB) error {
	server, err := ParseServer(os.Getenv(smtpVariable), "")
	if err != nil {
		return err
	}
	s, err := newSender(merchant.New(db), server)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

var tokenSecret = []byte(strings.Repeat("k", 32))

const origin = "https://painel.example.com"

func newSender(db *merchant.Store, server Server) (*Sender, error) {
	links, err := statementlink.NewSigner(tokenSecret, nil)
	if err != nil {
		return nil, err
	}
	return New(Config{Server: server, From: "Tributary <no-reply@example.com>", PublicURL: origin, LookEvery: 20 * time.Millisecond,
		IdleLook: 100 * time.Millisecond}, Deps{Database: db, Links: links})
}

// shop is a store with an owner, a person of finance and an analyst, and a server that takes its mails.
type shop struct {
	*testing.T
	inbox   *inbox
	opened  *postgres.DB
	db      *merchant.Store
	dsn     string
	storeID string
	company string
	people  map[string]string // by role
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t, inbox: newInbox(t, schemeInsecure, false), dsn: devtest.Postgres(t), people: map[string]string{}}
	var err error
	s.opened, err = postgres.Open(t.Context(), s.dsn)
	s.must(err)
	t.Cleanup(s.opened.Close)
	s.db = merchant.New(s.opened)
	store, err := s.db.CreateStore(t.Context(), commerce.NewStore{Name: "Loja\r\nBcc: x@example.com", Actor: "cli",
		KeyCheck: func(id string) string { return id }, Random: rand.Reader})
	s.must(err)
	s.storeID, s.company = store.StoreID, store.Live.CompanyID
	for _, role := range account.Roles {
		p, err := s.db.CreateMember(t.Context(), s.storeID, role, role+"@example.com", "x")
		s.must(err)
		s.people[role] = p.ID
	}
	s.must(s.db.EnsureMail(t.Context()))
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *shop) exec(sql string, args ...any) {
	s.Helper()
	_, err := s.opened.Pool().Exec(s.Context(), sql, args...)
	s.must(err)
}

func (s *shop) count(sql string, args ...any) (n int) {
	s.Helper()
	s.must(s.opened.Pool().QueryRow(s.Context(), sql, args...).Scan(&n))
	return n
}

func (s *shop) tell(events ...commerce.Event) {
	s.Helper()
	s.must(s.opened.InTx(s.Context(), func(tx pgx.Tx) error {
		return postgres.Tell(s.Context(), tx, s.company, func() ([]commerce.Event, error) { return events, nil })
	}))
}

// review lets an order wait for a decision, and tells it as the processor does.
func (s *shop) review(id string) {
	s.Helper()
	s.exec(`insert into payout (company_id, order_id, total_minor, base_minor, commission_minor, day, status, currency, state)
		values ($1, $2, 10000, 10000, 1234, '2026-11-01', 0, 'BRL', 'review')`, s.company, id)
	told := commerce.OrderTold{OrderID: id, Currency: "BRL", State: "review"}
	at := time.Now().Truncate(time.Microsecond)
	s.tell(commerce.Event{Type: commerce.PayoutChanged, Key: told.Key(), At: at, Data: told},
		commerce.Event{Type: commerce.PayoutReview, Key: told.Key(), At: at, Data: told})
}

// due lets what waits be sent now.
func (s *shop) due() {
	s.exec(`update outgoing set due_at = now() where state = 'waiting'`)
	s.exec(`update destination set next_at = now(), leased_until = null`)
}

// run runs a sender until the test, or stop, ends it.
func (s *shop) run() (stop func()) {
	s.Helper()
	sender, err := newSender(s.db, s.inbox.at(schemeInsecure, "", ""))
	s.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() { done <- sender.Run(ctx) }()
	var once atomic.Bool
	stop = func() {
		if once.CompareAndSwap(false, true) {
			cancel()
			if err := <-done; err != nil {
				s.Error(err)
			}
		}
	}
	s.Cleanup(stop)
	return stop
}

func (s *shop) wait(what string, until func() bool) {
	s.Helper()
	await.Until(s.T, await.Long, until, func() string { return what })
}

func (s *shop) settled() bool {
	return s.count(`select count(*) from outgoing where state = 'waiting'`) == 0
}

// to are the mails of one address.
func (s *shop) to(address string) (list []received) {
	for _, one := range s.inbox.got() {
		if slices.Contains(one.to, address) {
			list = append(list, one)
		}
	}
	return list
}

// partner adds an influencer, and statement a closed statement of one.
func (s *shop) partner(name, email string) (id string) {
	s.Helper()
	s.must(s.opened.Pool().QueryRow(s.Context(), `select gen_random_uuid()::text`).Scan(&id))
	s.exec(`insert into influencer (company_id, influencer_id, name, name_folded, rev) values ($1, $2, $3, $3, 1)`, s.company, id, name)
	s.exec(`insert into influencer_personal (company_id, influencer_id, email) values ($1, $2, $3)`, s.company, id, email)
	return id
}

func (s *shop) statement(partner string, number int, carried bool) (id string) {
	s.Helper()
	s.must(s.opened.Pool().QueryRow(s.Context(), `select gen_random_uuid()::text`).Scan(&id))
	s.exec(`insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor, closed_at,
		number, total_minor, carried) values ($1, $2, $3, $4, 'BRL', '2026-10-31', 0, now(), 'cli', now(), $3, 123456, $5)`, s.company, id,
		number, partner, carried)
	s.must(s.opened.InTx(s.Context(), func(tx pgx.Tx) error {
		return postgres.Tell(s.Context(), tx, s.company, func() ([]commerce.Event, error) {
			return postgres.StatementEvents(s.Context(), tx, s.company, []string{id}, commerce.StatementIsClosed)
		})
	}))
	return id
}
