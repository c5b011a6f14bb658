package merchant_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// shop is what tests of connections start from.
type shop struct {
	t      *testing.T
	db     *merchant.Store
	store  commerce.Store
	dsn    string
	author commerce.Author
	ids    int
}

func newShop(t *testing.T) *shop {
	t.Helper()
	db, store, dsn := newStore(t)
	return &shop{t: t, db: db, store: store, dsn: dsn,
		author: commerce.Author{CompanyID: store.Live.CompanyID, Actor: "cli", At: time.Now()}}
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) want(err, target error) {
	s.t.Helper()
	if !errors.Is(err, target) {
		s.t.Fatalf("got %v, want %v", err, target)
	}
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	s.must(err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(s.t.Context(), sql, args...)
	s.must(err)
}

// draft adds a connection that was tested.
func (s *shop) draft(author commerce.Author, shopID string) string {
	s.t.Helper()
	s.ids++
	id := fmt.Sprintf("connection%016d", s.ids)
	s.must(s.db.AddConnection(s.t.Context(), author, commerce.NewConnection{ID: id, Platform: "nuvemshop", Sealed: []byte("sealed"),
		KeyID: "k1"}))
	_, err := s.db.AddConnectTask(s.t.Context(), author, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskTest})
	s.must(err)
	l := lease("tester")
	c := s.lease(l, id)
	s.must(s.db.SetConnectionState(s.t.Context(), l, author.CompanyID, id, commerce.ConnectStateChange{Shop: shopID, ShopName: "Loja",
		ShopURL: "https://loja.example.com", Currency: "BRL"}))
	tasks, err := s.db.TakeTasks(s.t.Context(), l, author.CompanyID, id, 10)
	s.must(err)
	for _, task := range tasks {
		task.Answer = json.RawMessage(`{"shop": "1"}`)
		s.must(s.db.FinishTask(s.t.Context(), l, task))
	}
	s.must(s.db.ReleaseConnection(s.t.Context(), l, c, time.Time{}))
	return id
}

func (s *shop) start(author commerce.Author, id string) error {
	return s.db.StartConnection(s.t.Context(), author, commerce.ConnectionStart{ID: id, Days: 60, CommissionsFrom: time.Now(), KeyID: "k1",
		SealKey: func(apiKey string) ([]byte, error) { return []byte(apiKey), nil }})
}

// connected adds a connection that was started.
func (s *shop) connected(shopID string) string {
	s.t.Helper()
	id := s.draft(s.author, shopID)
	s.must(s.start(s.author, id))
	return id
}

func lease(holder string) commerce.ConnectLease {
	return commerce.ConnectLease{Holder: holder, For: time.Minute}
}

// lease takes all that is due, and returns the one of an id.
func (s *shop) lease(l commerce.ConnectLease, id string) commerce.LeasedConnection {
	s.t.Helper()
	list, err := s.db.LeaseConnections(s.t.Context(), l, time.Now(), 100)
	s.must(err)
	for _, c := range list {
		if c.ID == id {
			return c
		}
	}
	s.t.Fatalf("%s was not taken: %d others were", id, len(list))
	return commerce.LeasedConnection{}
}

func TestAnInstallationsStateIsUsedOnce(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	install := func(id, state string) commerce.InstallBack {
		hash := sha256.Sum256([]byte(state))
		s.must(s.db.AddConnection(ctx, s.author, commerce.NewConnection{ID: id, Platform: "nuvemshop", InstallState: hash}))
		return commerce.InstallBack{CompanyID: s.author.CompanyID, StateHash: hash, SealedCode: []byte("code"), KeyID: "k1"}
	}
	back := install("connection-a", "state a")
	refused := func(author commerce.Author, b commerce.InstallBack) {
		t.Helper()
		if id, task, err := s.db.InstallBack(ctx, author, b); !errors.Is(err, commerce.ErrInstallState) || id != "" || task != "" {
			t.Errorf("%q %q %v", id, task, err)
		}
	}
	stranger := s.author
	stranger.CompanyID = s.store.Sandbox.CompanyID
	refused(stranger, back)
	refused(s.author, commerce.InstallBack{CompanyID: s.author.CompanyID, StateHash: sha256.Sum256([]byte("guessed"))})
	refused(s.author, commerce.InstallBack{CompanyID: s.author.CompanyID})

	var took sync.Map
	var browsers sync.WaitGroup
	for n := range 8 {
		browsers.Go(func() {
			if id, _, err := s.db.InstallBack(ctx, s.author, back); err == nil {
				took.Store(n, id)
			}
		})
	}
	browsers.Wait()
	count := 0
	took.Range(func(_, id any) bool { count++; return id == "connection-a" })
	if count != 1 {
		t.Errorf("the state was used %d times", count)
	}
	c := s.lease(lease("one"), "connection-a")
	tasks, err := s.db.TakeTasks(ctx, lease("one"), s.author.CompanyID, "connection-a", 10)
	if err != nil || c.State != commerce.ConnectionDraft || len(tasks) != 1 || tasks[0].Kind != commerce.TaskInstall ||
		string(tasks[0].Sealed) != "code" || tasks[0].KeyID != "k1" || tasks[0].TakenBefore {
		t.Errorf("%+v %+v %v", c, tasks, err)
	}
	if again, err := s.db.TakeTasks(ctx, lease("one"), s.author.CompanyID, "connection-a", 10); err != nil || len(again) != 1 ||
		!again[0].TakenBefore {
		t.Errorf("%+v %v", again, err)
	}
	late := install("connection-b", "state b")
	s.exec(`update connection set created_at = $1 where connection_id = 'connection-b'`, time.Now().Add(-11*time.Minute))
	refused(s.author, late)
}

func TestAFloodOfNoticesOfOneOrderIsOneRow(t *testing.T) {
	t.Parallel()
	s, ctx, l, company := newShop(t), t.Context(), lease("one"), ""
	id := s.connected("1")
	company = s.author.CompanyID
	first, due := time.Now().Truncate(time.Millisecond), time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	var senders sync.WaitGroup
	for n := range 40 {
		senders.Go(func() {
			n := commerce.ShopNotice{Kind: "order", Key: "17", At: first, Due: due.Add(time.Duration(n) * time.Second)}
			if err := s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{n, n}); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	s.lease(l, id)
	list, err := s.db.DueNotices(ctx, l, company, id, time.Now(), 100)
	if err != nil || len(list) != 1 || list[0].Came != 40 || !list[0].Due.Equal(due) {
		t.Fatalf("%+v %v", list, err)
	}
	// One that comes while the order is fetched has it fetched again.
	s.must(s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{{Kind: "order", Key: "17", At: first, Due: first}}))
	s.must(s.db.DoneNotice(ctx, l, company, id, list[0], time.Time{}))
	s.must(s.db.DoneNotice(ctx, l, company, id, list[0], time.Now().Add(time.Hour)))
	if list, err = s.db.DueNotices(ctx, l, company, id, time.Now(), 100); err != nil || len(list) != 1 || list[0].Attempts != 0 {
		t.Fatalf("%+v %v", list, err)
	}
	s.must(s.db.DoneNotice(ctx, l, company, id, list[0], time.Now().Add(time.Hour)))
	if due, err := s.db.DueNotices(ctx, l, company, id, time.Now(), 100); err != nil || len(due) != 0 {
		t.Fatalf("%+v %v", due, err)
	}
	later := time.Now().Add(2 * time.Hour)
	if list, err = s.db.DueNotices(ctx, l, company, id, later, 100); err != nil || len(list) != 1 || list[0].Attempts != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	s.must(s.db.DoneNotice(ctx, l, company, id, list[0], time.Time{}))
	if list, err = s.db.DueNotices(ctx, l, company, id, later, 100); err != nil || len(list) != 0 {
		t.Fatalf("%+v %v", list, err)
	}
}

func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	id, company := s.connected("1"), s.author.CompanyID
	s.exec(`insert into connection_notice (company_id, connection_id, kind, key, at, due_at)
		select $1, $2, 'order', 'o' || n, now(), now() from generate_series(1, $3::int) n`, company, id, commerce.MaxNotices)
	s.must(s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{{Kind: "order", Key: "one more", At: time.Now(), Due: time.Now()}}))
	s.must(s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{{Kind: "redact", Key: "1", Sealed: []byte("x"), KeyID: "k1",
		At: time.Now(), Due: time.Now()}}))
	c := s.lease(lease("one"), id)
	if !c.PollNow || c.NoticeAt.IsZero() {
		t.Errorf("%+v", c)
	}
	list, err := s.db.DueNotices(ctx, lease("one"), company, id, time.Now(), 2)
	if err != nil || len(list) != 2 || list[0].Kind != "redact" || string(list[0].Sealed) != "x" {
		t.Errorf("%+v %v", list, err)
	}
	s.must(s.db.StorePage(ctx, lease("one"), company, id, commerce.ConnectPage{PolledAt: time.Now()}))
	if c, err := s.db.ConnectionByID(ctx, id); err != nil || c.PollNow || c.PolledAt.IsZero() {
		t.Errorf("%+v %v", c, err)
	}
	s.exec(`insert into connection_notice (company_id, connection_id, kind, key, at, due_at)
		select $1, $2, 'redact', 'r' || n, now(), now() from generate_series(1, $3::int) n`, company, id, commerce.MaxUrgentNotices-1)
	s.want(s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{{Kind: "redact", Key: "2", At: time.Now(), Due: time.Now()}}),
		commerce.ErrTooManyNotices)
	s.must(s.db.AddNotices(ctx, company, id, []commerce.ShopNotice{{Kind: "redact", Key: "1", At: time.Now(), Due: time.Now()}}))
	s.want(s.db.AddNotices(ctx, company, "unknown", nil), commerce.ErrNotFound)
}

func TestConnectionsAndTasksAreBounded(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	var ids []string
	for n := range commerce.MaxConnections {
		ids = append(ids, s.draft(s.author, fmt.Sprint(n)))
	}
	more := commerce.NewConnection{ID: "more", Platform: "nuvemshop"}
	s.want(s.db.AddConnection(ctx, s.author, more), commerce.ErrTooManyConnections)
	s.must(s.db.EndConnection(ctx, s.author, ids[0])) // a draft is removed
	s.must(s.db.AddConnection(ctx, s.author, more))
	task := commerce.ConnectTask{ConnectionID: ids[1], Kind: commerce.TaskTest}
	var taskID string
	for range commerce.MaxConnectTasks {
		var err error
		taskID, err = s.db.AddConnectTask(ctx, s.author, task)
		s.must(err)
	}
	_, err := s.db.AddConnectTask(ctx, s.author, task)
	s.want(err, commerce.ErrTooManyTasks)
	_, err = s.db.AddConnectTask(ctx, s.author, commerce.ConnectTask{ConnectionID: ids[1], Kind: commerce.TaskBackfill})
	s.want(err, commerce.ErrConnectionState)
	// What no service takes fails, and makes room.
	s.exec(`update connection_task set created_at = $1`, time.Now().Add(-3*time.Minute))
	got, err := s.db.ConnectTask(ctx, s.author.CompanyID, taskID)
	if err != nil || got.Reason != commerce.ShopNoService || got.DoneAt.IsZero() {
		t.Errorf("%+v %v", got, err)
	}
	_, err = s.db.AddConnectTask(ctx, s.author, task)
	s.must(err)
	s.lease(lease("one"), ids[1])
	if list, err := s.db.TakeTasks(ctx, lease("one"), s.author.CompanyID, ids[1], 100); err != nil || len(list) != 1 {
		t.Errorf("%d tasks, %v", len(list), err)
	}
}

func TestAnotherCompanysConnectionIsNotFound(t *testing.T) {
	t.Parallel()
	s, ctx, l := newShop(t), t.Context(), lease("one")
	id := s.connected("1")
	s.lease(l, id)
	other := s.author
	other.CompanyID = s.store.Sandbox.CompanyID
	taskID, err := s.db.AddConnectTask(ctx, s.author, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskCompare})
	s.must(err)
	_, getErr := s.db.Connection(ctx, other.CompanyID, id)
	_, taskErr := s.db.ConnectTask(ctx, other.CompanyID, taskID)
	_, addErr := s.db.AddConnectTask(ctx, other, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskTest})
	for what, err := range map[string]error{
		"get": getErr, "task": taskErr, "add task": addErr, "start": s.start(other, id), "pause": s.db.PauseConnection(ctx, other, id),
		"end": s.db.EndConnection(ctx, other, id), "keys": s.db.ReplaceCredentials(ctx, other, id, nil, ""),
		"change":  s.db.ChangeConnection(ctx, other, commerce.ConnectionChange{ID: id, PollEvery: time.Minute}),
		"notices": s.db.AddNotices(ctx, other.CompanyID, id, []commerce.ShopNotice{{Kind: "order", Key: "1"}}),
	} {
		if !errors.Is(err, commerce.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.want(s.db.StorePage(ctx, l, other.CompanyID, id, commerce.ConnectPage{Orders: 5}), commerce.ErrLeaseLost)
	s.must(s.db.StorePage(ctx, l, s.author.CompanyID, id, commerce.ConnectPage{Orders: 2})) // the lease is still held
}

func TestAPageIsStoredWhole(t *testing.T) {
	t.Parallel()
	s, ctx, l := newShop(t), t.Context(), lease("one")
	id, company := s.connected("1"), s.author.CompanyID
	s.lease(l, id)
	now := time.Now().UTC().Truncate(time.Microsecond)
	aside := func(id string) commerce.AsideOrder {
		return commerce.AsideOrder{OrderID: id, Reason: commerce.ShopUnknownShape, Detail: "status", Fields: []string{"id", "sta,tus"}, At: now}
	}
	backfill := commerce.Backfill{Days: 60, From: now.Add(-time.Hour), To: now, At: now.Add(-time.Minute), Page: "p2", Done: 7, Total: 9}
	s.must(s.db.StorePage(ctx, l, company, id, commerce.ConnectPage{Cursor: now, Orders: 3, Tests: 1, LastOrderAt: now, Backfill: &backfill,
		Aside: []commerce.AsideOrder{aside("a"), aside("b"), aside("a")}}))
	s.must(s.db.StorePage(ctx, l, company, id, commerce.ConnectPage{Cursor: now.Add(-time.Hour), Mended: []string{"b"},
		Aside: []commerce.AsideOrder{aside("a")}}))
	c, err := s.db.Connection(ctx, company, id)
	if err != nil || !c.Cursor.Equal(now) || c.Orders != 3 || c.Tests != 1 || c.Backfill.Done != 7 || c.Backfill.Page != "p2" ||
		c.AsideCount != 1 || !c.Backfill.Ended.IsZero() {
		t.Errorf("%+v %v", c, err)
	}
	list, err := s.db.Aside(ctx, company, id, "", 10)
	if err != nil || len(list) != 1 || list[0].Attempts != 2 || len(list[0].Fields) != 2 || list[0].Fields[1] != "sta,tus" {
		t.Errorf("%+v %v", list, err)
	}
	var many []commerce.AsideOrder
	for n := range commerce.MaxAside + 5 {
		many = append(many, aside(fmt.Sprint("many", n)))
	}
	s.must(s.db.StorePage(ctx, l, company, id, commerce.ConnectPage{Aside: many}))
	if c, err = s.db.Connection(ctx, company, id); err != nil || c.AsideCount != commerce.MaxAside+6 {
		t.Errorf("%d %v", c.AsideCount, err)
	}
	if list, err = s.db.Aside(ctx, company, id, "", 2*commerce.MaxAside); err != nil || len(list) != commerce.MaxAside {
		t.Errorf("%d %v", len(list), err)
	}
}

func TestCommissionsNeverBeginLaterOnceOrdersCame(t *testing.T) {
	t.Parallel()
	s, ctx, l := newShop(t), t.Context(), lease("one")
	id, company := s.connected("1"), s.author.CompanyID
	c, err := s.db.Connection(ctx, company, id)
	s.must(err)
	change := commerce.ConnectionChange{ID: id, PollEvery: time.Minute, CommissionsFrom: c.CommissionsFrom.Add(time.Hour)}
	s.must(s.db.ChangeConnection(ctx, s.author, change))
	s.lease(l, id)
	s.must(s.db.StorePage(ctx, l, company, id, commerce.ConnectPage{Orders: 1}))
	change.CommissionsFrom = change.CommissionsFrom.Add(time.Hour)
	s.want(s.db.ChangeConnection(ctx, s.author, change), commerce.ErrConflict)
	change.CommissionsFrom = c.CommissionsFrom
	s.must(s.db.ChangeConnection(ctx, s.author, change))
	change.PollEvery = time.Second
	s.want(s.db.ChangeConnection(ctx, s.author, change), commerce.ErrConflict)
	c, err = s.db.Connection(ctx, company, id)
	if err != nil || c.PollEvery != time.Minute || !c.CommissionsFrom.Equal(change.CommissionsFrom) {
		t.Errorf("%+v %v", c, err)
	}
}
