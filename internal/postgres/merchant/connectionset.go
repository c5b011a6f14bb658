package merchant

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// AddConnection stores a connection that brings nothing yet: a draft, or, with an InstallState, one that waits for the platform.
// ErrTooManyConnections beyond commerce.MaxConnections that have not ended.
func (s *Store) AddConnection(ctx context.Context, author commerce.Author, n commerce.NewConnection) error {
	state, life := commerce.ConnectionDraft, commerce.DraftLife
	var installState []byte
	if n.InstallState != [32]byte{} {
		state, life, installState = commerce.ConnectionInstalling, commerce.InstallLife, n.InstallState[:]
	}
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		var there int
		if err := tx.QueryRow(ctx, `select count(*) from connection where company_id = $1 and state <> 'ended'`,
			author.CompanyID).Scan(&there); err != nil {
			return err
		}
		if there >= commerce.MaxConnections {
			return commerce.ErrTooManyConnections
		}
		if _, err := tx.Exec(ctx, `
			insert into connection_turn (connection_id, company_id, next_at, expires_at) values ($1, $2, 'infinity', now() + $3::interval)`,
			n.ID, author.CompanyID, life); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into connection (company_id, connection_id, platform, state, since, created_at, install_state, sealed, key_id, poll_seconds)
			values (@company_id, @id, @platform, @state, now(), now(), @install_state, @sealed, @key_id, @poll_seconds)`,
			pgx.NamedArgs{"company_id": author.CompanyID, "id": n.ID, "platform": n.Platform, "state": state, "install_state": installState,
				"sealed": n.Sealed, "key_id": n.KeyID, "poll_seconds": int(commerce.DefaultPollEvery / time.Second)}); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, "connection.add", n.ID, map[string]any{"platform": n.Platform})
	})
	return postgres.Wrapf(err, "postgres: add connection")
}

// lockForConnections puts changes of a company's connections into one order. commerce.ErrArchived for an archived one.
func lockForConnections(ctx context.Context, tx pgx.Tx, companyID string) error {
	if err := lockCompany(ctx, tx, companyID); err != nil {
		return err
	}
	return refuseArchived(ctx, tx, companyID)
}

func auditConnection(ctx context.Context, tx pgx.Tx, author commerce.Author, action, id string, detail map[string]any) error {
	return audit(ctx, tx, Change{CompanyID: author.CompanyID, At: author.At, Actor: author.Actor, Action: action, Subject: id,
		Detail: detail})
}

// InstallBack takes what a platform gave back for an installation, once: a state that is unknown to the company, was used or is
// older than commerce.InstallLife is commerce.ErrInstallState. It gives the service a TaskInstall.
func (s *Store) InstallBack(ctx context.Context, author commerce.Author, b commerce.InstallBack) (connectionID, taskID string, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		var id string
		err := tx.QueryRow(ctx, `
			update connection set install_state = null, state = 'draft', since = now()
			where company_id = $1 and install_state = $2 and state = 'installing' and created_at > $3 returning connection_id`,
			author.CompanyID, b.StateHash[:], time.Now().Add(-commerce.InstallLife)).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return commerce.ErrInstallState
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update connection_turn set expires_at = now() + $3::interval where company_id = $1 and connection_id = $2`,
			author.CompanyID, id, commerce.DraftLife); err != nil {
			return err
		}
		connectionID = id
		taskID, err = addTask(ctx, tx, commerce.ConnectTask{CompanyID: author.CompanyID, ConnectionID: id, Kind: commerce.TaskInstall,
			Sealed: b.SealedCode, KeyID: b.KeyID})
		return err
	})
	return connectionID, taskID, postgres.Wrapf(err, "postgres: installation came back")
}

// ReplaceCredentials stores other credentials of a connection that has not ended, and has it tried at once.
func (s *Store) ReplaceCredentials(ctx context.Context, author commerce.Author, id string, sealed []byte, keyID string) error {
	return s.changeConnection(ctx, author, id, func(tx pgx.Tx, c commerce.Connection) error {
		if c.State == commerce.ConnectionEnded || c.State == commerce.ConnectionInstalling {
			return commerce.ErrConnectionState
		}
		if _, err := tx.Exec(ctx, `update connection set sealed = $3, key_id = $4 where company_id = $1 and connection_id = $2`,
			author.CompanyID, id, sealed, keyID); err != nil {
			return err
		}
		if c.State == commerce.ConnectionFailing {
			if err := wake(ctx, tx, author.CompanyID, id); err != nil {
				return err
			}
		}
		return auditConnection(ctx, tx, author, "connection.keys", id, map[string]any{"shop": c.ShopName})
	})
}

// changeConnection calls change with a connection while it is locked. It takes it from the service that works on it, which then
// gets commerce.ErrLeaseLost for all that it would store.
func (s *Store) changeConnection(ctx context.Context, author commerce.Author, id string,
	change func(tx pgx.Tx, c commerce.Connection) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		// First the turn, as the service's writes do.
		if _, err := tx.Exec(ctx, `
			update connection_turn set holder = '', leased_until = null where company_id = $1 and connection_id = $2`,
			author.CompanyID, id); err != nil {
			return err
		}
		c, err := lockConnection(ctx, tx, author.CompanyID, id)
		if err != nil {
			return err
		}
		return change(tx, c)
	})
	return postgres.Wrapf(err, "postgres: connection %s", id)
}

// lockConnection locks a connection, and returns it as it is then. In two steps: Citus locks no row of a table that is read with others.
func lockConnection(ctx context.Context, tx pgx.Tx, companyID, id string) (commerce.Connection, error) {
	if err := postgres.Hit(ctx, tx, `select 1 from connection where company_id = $1 and connection_id = $2 for update`, companyID,
		id); err != nil {
		return commerce.Connection{}, err
	}
	return postgres.One(ctx, tx, postgres.Scan(connectionColumns), `
		select `+postgres.List(connectionColumns)+` from connection c where c.company_id = $1 and c.connection_id = $2`, companyID, id)
}

// StartConnection begins to take the orders of a draft that was tested. It makes the API key by which they are sent.
func (s *Store) StartConnection(ctx context.Context, author commerce.Author, start commerce.ConnectionStart) error {
	if start.Days < 0 || start.Days > commerce.MaxBackfillDays {
		return fmt.Errorf("postgres: start connection: %w: days must be between 0 and %d", commerce.ErrConflict, commerce.MaxBackfillDays)
	}
	company, err := s.Company(ctx, author.CompanyID)
	if err != nil {
		return err
	}
	return s.changeConnection(ctx, author, start.ID, func(tx pgx.Tx, c commerce.Connection) error {
		switch {
		case c.State != commerce.ConnectionDraft || c.Shop == "":
			return commerce.ErrConnectionState
		case start.Version != 0 && start.Version != c.Version:
			return &commerce.StaleError{CompanyID: author.CompanyID, Subject: c.ID}
		case c.Currency != company.Currency:
			return fmt.Errorf("%w: the shop's is %s, the store's is %s", commerce.ErrShopCurrency, c.Currency, company.Currency)
		}
		if err := endFailing(ctx, tx, author, c); err != nil {
			return err
		}
		key, err := newAPIKey(ctx, tx, account.NewAPIKey{CompanyID: author.CompanyID, Name: keyName(c), Type: account.Integration,
			Scopes: commerceScopes, Actor: author.Actor, Random: rand.Reader}, company.Environment)
		if err != nil {
			return err
		}
		sealed, err := start.SealKey(key.text)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			update connection set state = 'connecting', since = now(), reason = '', detail = '', commissions_from = @commissions_from,
				api_key_id = @api_key_id, sealed_api_key = @sealed, api_key_key_id = @key_id, backfill_days = @days::int,
				backfill_from = now() - make_interval(days => @days::int), backfill_to = now(), backfill_at = now() - make_interval(days => @days::int),
				backfill_ended = case when @days::int = 0 then @now::timestamptz end
			where company_id = @company_id and connection_id = @id`,
			pgx.NamedArgs{"company_id": author.CompanyID, "id": c.ID, "commissions_from": start.CommissionsFrom, "days": start.Days,
				"api_key_id": key.id, "sealed": sealed, "key_id": start.KeyID, "now": time.Now()})
		if isUnique(err) {
			return commerce.ErrShopConnected
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update connection_turn set expires_at = null where company_id = $1 and connection_id = $2`,
			author.CompanyID, c.ID); err != nil {
			return err
		}
		if err := wake(ctx, tx, author.CompanyID, c.ID); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, "connection.start", c.ID, map[string]any{"platform": c.Platform, "shop": c.ShopName,
			"days": start.Days, "commissions_from": start.CommissionsFrom.UTC()})
	})
}

// endFailing ends a connection of the same shop that fails, in whose place another one starts: the app was installed again.
func endFailing(ctx context.Context, tx pgx.Tx, author commerce.Author, c commerce.Connection) error {
	var id string
	err := tx.QueryRow(ctx, `
		select connection_id from connection where company_id = $1 and platform = $2 and shop = $3 and state = 'failing'`,
		author.CompanyID, c.Platform, c.Shop).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `update connection_turn set holder = '', leased_until = null where company_id = $1 and connection_id = $2`,
		author.CompanyID, id); err != nil {
		return err
	}
	return endAsked(ctx, tx, author, id, c)
}

// endAsked ends a connection of a shop, as an owner asked.
func endAsked(ctx context.Context, tx pgx.Tx, author commerce.Author, id string, of commerce.Connection) error {
	if err := endConnection(ctx, tx, author, id, "disconnected", "", time.Now()); err != nil {
		return err
	}
	if _, err := addTask(ctx, tx, commerce.ConnectTask{CompanyID: author.CompanyID, ConnectionID: id, Kind: commerce.TaskEnd}); err != nil {
		return err
	}
	return auditConnection(ctx, tx, author, "connection.end", id, map[string]any{"platform": of.Platform, "shop": of.ShopName})
}

// commerceScopes are what the service needs: orders, and what platforms' privacy notices ask for.
var commerceScopes = []account.Scope{account.WriteOrders, account.EraseCustomers}

func keyName(c commerce.Connection) string {
	name := []rune(c.Platform + " " + c.ShopName)
	return string(name[:min(len(name), account.MaxKeyName)])
}

// works are the states in which orders come, or are tried to.
var works = []commerce.ConnectionState{commerce.ConnectionConnecting, commerce.ConnectionBackfilling, commerce.ConnectionLive,
	commerce.ConnectionFailing}

// PauseConnection stops the reading of a shop until ResumeConnection.
func (s *Store) PauseConnection(ctx context.Context, author commerce.Author, id string) error {
	return s.moveConnection(ctx, author, id, "connection.pause", commerce.ConnectionPaused, works...)
}

// ResumeConnection goes on with a connection that was paused, from where it was; a failing one is tried at once.
func (s *Store) ResumeConnection(ctx context.Context, author commerce.Author, id string) error {
	return s.moveConnection(ctx, author, id, "connection.resume", commerce.ConnectionConnecting, commerce.ConnectionPaused,
		commerce.ConnectionFailing)
}

func (s *Store) moveConnection(ctx context.Context, author commerce.Author, id, action string, to commerce.ConnectionState,
	from ...commerce.ConnectionState) error {
	return s.changeConnection(ctx, author, id, func(tx pgx.Tx, c commerce.Connection) error {
		if !slices.Contains(from, c.State) {
			return commerce.ErrConnectionState
		}
		if _, err := tx.Exec(ctx, `
			update connection set state = $3, since = now(), reason = '', detail = '' where company_id = $1 and connection_id = $2`,
			author.CompanyID, id, to); err != nil {
			return err
		}
		if err := wake(ctx, tx, author.CompanyID, id); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, action, id, map[string]any{"shop": c.ShopName})
	})
}

// EndConnection disconnects a shop: its API key is revoked at once, the shop may be connected anew, and the service is asked to
// take the notices back. A draft is removed.
func (s *Store) EndConnection(ctx context.Context, author commerce.Author, id string) error {
	return s.changeConnection(ctx, author, id, func(tx pgx.Tx, c commerce.Connection) error {
		switch c.State {
		case commerce.ConnectionEnded:
			return commerce.ErrConnectionState
		case commerce.ConnectionDraft, commerce.ConnectionInstalling:
			if err := removeConnections(ctx, tx, author.CompanyID, []string{id}); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `delete from connection_turn where company_id = $1 and connection_id = $2`, author.CompanyID,
				id); err != nil {
				return err
			}
		default:
			return endAsked(ctx, tx, author, id, c)
		}
		return auditConnection(ctx, tx, author, "connection.end", id, map[string]any{"platform": c.Platform, "shop": c.ShopName})
	})
}

// endConnection ends a connection, whose key ends at keyEnds.
func endConnection(ctx context.Context, tx pgx.Tx, author commerce.Author, id, reason, detail string, keyEnds time.Time) error {
	keyID := ""
	if err := tx.QueryRow(ctx, `
		update connection set state = 'ended', since = now(), reason = $3, detail = $4, notices_on = false, poll_now = false
		where company_id = $1 and connection_id = $2 returning api_key_id`, author.CompanyID, id, reason, detail).Scan(&keyID); err != nil {
		return err
	}
	if keyID != "" {
		if _, err := revokeKey(ctx, tx, author.CompanyID, keyID, keyEnds, author.Actor); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `update connection_turn set expires_at = now() + $3::interval where company_id = $1 and connection_id = $2`,
		author.CompanyID, id, commerce.EndedLife); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `delete from connection_aside where company_id = $1 and connection_id = $2`, author.CompanyID, id)
	return err
}

// ChangeConnection changes how often a shop is read, and from when on its orders earn commissions: that never moves to a later
// time, since orders may be credited already.
func (s *Store) ChangeConnection(ctx context.Context, author commerce.Author, change commerce.ConnectionChange) error {
	if change.PollEvery < commerce.MinPollEvery || change.PollEvery > commerce.MaxPollEvery {
		return fmt.Errorf("postgres: change connection: %w: it is read every %v to %v", commerce.ErrConflict, commerce.MinPollEvery,
			commerce.MaxPollEvery)
	}
	return s.changeConnection(ctx, author, change.ID, func(tx pgx.Tx, c commerce.Connection) error {
		if !slices.Contains(append(works, commerce.ConnectionPaused), c.State) {
			return commerce.ErrConnectionState
		}
		if change.CommissionsFrom.After(c.CommissionsFrom) && c.Orders > 0 {
			return fmt.Errorf("%w: orders came already, so commissions cannot begin later", commerce.ErrConflict)
		}
		if _, err := tx.Exec(ctx, `update connection set poll_seconds = $3, commissions_from = $4 where company_id = $1 and connection_id = $2`,
			author.CompanyID, c.ID, int(change.PollEvery/time.Second), change.CommissionsFrom); err != nil {
			return err
		}
		if err := wake(ctx, tx, author.CompanyID, c.ID); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, "connection.change", c.ID, map[string]any{"shop": c.ShopName,
			"poll_seconds": int(change.PollEvery / time.Second), "commissions_from": change.CommissionsFrom.UTC()})
	})
}

// AddConnectTask gives the service something to do, and returns its id. ErrTooManyTasks beyond commerce.MaxConnectTasks of a
// company that wait. Only TaskTest can be done before a connection was started, and none after it ended.
func (s *Store) AddConnectTask(ctx context.Context, author commerce.Author, t commerce.ConnectTask) (id string, err error) {
	t.CompanyID = author.CompanyID
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, t.CompanyID); err != nil {
			return err
		}
		var state commerce.ConnectionState
		if err := tx.QueryRow(ctx, `select state from connection where company_id = $1 and connection_id = $2`, t.CompanyID,
			t.ConnectionID).Scan(&state); err != nil {
			return err
		}
		started := slices.Contains(works, state)
		switch t.Kind {
		case commerce.TaskTest:
			if !started && state != commerce.ConnectionDraft && state != commerce.ConnectionPaused {
				return commerce.ErrConnectionState
			}
		case commerce.TaskRetry, commerce.TaskCompare, commerce.TaskCoupon, commerce.TaskBackfill, commerce.TaskStart:
			if !started {
				return commerce.ErrConnectionState
			}
		default:
			return fmt.Errorf("%w: no such task: %q", commerce.ErrConflict, t.Kind)
		}
		if id, err = addTask(ctx, tx, t); err != nil {
			return err
		}
		switch t.Kind {
		case commerce.TaskBackfill, commerce.TaskCoupon:
			return auditConnection(ctx, tx, author, "connection."+t.Kind, t.ConnectionID, map[string]any{"question": t.Question})
		}
		return nil
	})
	return id, postgres.Wrapf(err, "postgres: task of connection %s", t.ConnectionID)
}

// taskKept is how long tasks that are done can be read.
const taskKept = 24 * time.Hour

// addTask stores a task. The caller holds the company's row.
func addTask(ctx context.Context, tx pgx.Tx, t commerce.ConnectTask) (string, error) {
	now := time.Now()
	if _, err := tx.Exec(ctx, `delete from connection_task where company_id = $1 and (done_at < $2 or kind = any($3) and created_at < $2)`,
		t.CompanyID, now.Add(-taskKept), []string{commerce.TaskTest, commerce.TaskInstall, commerce.TaskCoupon}); err != nil {
		return "", err
	}
	waiting, err := postgres.Collect(ctx, tx, postgres.Scan(taskColumns), `
		select `+postgres.List(taskColumns)+` from connection_task where company_id = $1 and done_at is null limit $2`, t.CompanyID,
		10*commerce.MaxConnectTasks)
	if err != nil {
		return "", err
	}
	waiting = slices.DeleteFunc(waiting, func(w commerce.ConnectTask) bool { return w.Late(now) })
	if len(waiting) >= commerce.MaxConnectTasks && t.Kind != commerce.TaskEnd {
		return "", commerce.ErrTooManyTasks
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, `
		insert into connection_task (company_id, connection_id, task_id, kind, question, sealed, key_id, created_at)
		values (@company_id, @connection_id, @task_id, @kind, @question, @sealed, @key_id, @now)`,
		pgx.NamedArgs{"company_id": t.CompanyID, "connection_id": t.ConnectionID, "task_id": id.String(), "kind": t.Kind,
			"question": jsonArg(t.Question), "sealed": t.Sealed, "key_id": t.KeyID, "now": now}); err != nil {
		return "", err
	}
	return id.String(), wake(ctx, tx, t.CompanyID, t.ConnectionID)
}

// wake has a connection looked at now, also where a service works on it.
func wake(ctx context.Context, tx pgx.Tx, companyID, id string) error {
	_, err := tx.Exec(ctx, `
		update connection_turn set next_at = least(next_at, now()), woken = true where company_id = $1 and connection_id = $2`, companyID, id)
	return err
}

// isUnique reports whether a unique index refused a row (SQLSTATE 23505).
func isUnique(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}
