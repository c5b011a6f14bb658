package shops

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/shop"
)

// On is an installation that shops are connected to.
type On struct {
	Rules *merchant.Store
	DB    *postgres.DB
	Say   func(format string, args ...any)
	Alive func() error // an error if a service ended by itself
}

// Connected is a fake shop and the store that it is connected to.
type Connected struct {
	On
	name   string // of the platform
	fake   *fakes.Shop
	author commerce.Author
	id     string // of the connection

	outcome Outcome
}

// New is a fake shop of a platform that is not connected yet: AddStore and Join connect it.
func New(on On, platform string, fake *fakes.Shop) *Connected {
	return &Connected{On: on, name: platform, fake: fake}
}

// Outcome is what became of it so far.
func (c *Connected) Outcome() Outcome { return c.outcome }

// Outcome is what became of one shop.
type Outcome struct {
	Orders, Refunds, Cancelled int
	Requests, Beyond           int
	Notices, Forged, Replayed  int
	NoticesOn                  bool
	WithNotices, Polled        []time.Duration
	Problems                   []string
}

func (o *Outcome) wrong(format string, args ...any) {
	const most = 10
	if len(o.Problems) < most {
		o.Problems = append(o.Problems, fmt.Sprintf(format, args...))
	}
}

// codes are the influencer's, and the shop's.
var codes = []string{"ANA10", "ANA5"}

// AddStore makes a store with an influencer who earns 10 % of the orders that have her codes.
func (c *Connected) AddStore(ctx context.Context) error {
	hasher, err := identity.NewHasher([]byte(strings.Repeat("h", 48)))
	if err != nil {
		return err
	}
	store, err := c.Rules.CreateStore(ctx,
		commerce.NewStore{Name: "Loja " + c.name, Actor: "cli", KeyCheck: hasher.Check, Random: rand.Reader})
	if err != nil {
		return err
	}
	c.author = commerce.Author{CompanyID: store.Live.CompanyID, Actor: "prove", At: time.Now()}
	terms := make([]commerce.CouponTerms, len(codes))
	for n, code := range codes {
		terms[n].Code = code
		if _, err := c.fake.AddCoupon(fakes.Coupon{Code: code, Kind: fakes.CouponPercent, Value: int64(1000 - 500*n)}); err != nil {
			return err
		}
	}
	_, err = c.Rules.RegisterInfluencer(ctx, c.author, commerce.Registration{Name: "Ana Prado", Campaign: "Inverno", Coupons: terms,
		Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2020-01-01"}}}, rand.Reader)
	return err
}

// until asks again and again until ok, for patience at most. An error of ok ends it.
func (o On) until(ctx context.Context, what string, ok func() (bool, error)) error {
	const pause = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		done, err := ok()
		if err == nil && !done {
			err = o.Alive()
		}
		if err != nil || done {
			return err
		}
		if !background.Sleep(ctx, pause) {
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
}

// Join connects the shop as the dashboard does: keys, test, start; and returns once it is live.
func (c *Connected) Join(ctx context.Context, poll time.Duration) error {
	var offer commerce.ConnectOffer
	if err := c.until(ctx, "connect offers platforms", func() (_ bool, err error) {
		offer, err = c.Rules.ConnectOffer(ctx)
		return !offer.SeenAt.IsZero(), err
	}); err != nil {
		return err
	}
	c.id = strings.ToLower(rand.Text())
	credentials, _ := fakes.Pasted(c.fake)
	plain, err := json.Marshal(credentials)
	if err != nil {
		return err
	}
	seal := func(purpose string, text []byte) ([]byte, error) {
		return account.Seal(offer.PublicKey, offer.KeyID,
			account.SealedFor{CompanyID: c.author.CompanyID, ConnectionID: c.id, Purpose: purpose}, text)
	}
	sealed, err := seal(account.SealCredentials, plain)
	if err != nil {
		return err
	}
	if err := c.Rules.AddConnection(ctx, c.author, commerce.NewConnection{ID: c.id, Platform: c.name, Sealed: sealed,
		KeyID: offer.KeyID}); err != nil {
		return err
	}
	if err := c.test(ctx); err != nil {
		return err
	}
	begin := time.Now().AddDate(0, 0, -1)
	if err := c.Rules.StartConnection(ctx, c.author, commerce.ConnectionStart{ID: c.id, Days: 2, CommissionsFrom: begin, KeyID: offer.KeyID,
		SealKey: func(key string) ([]byte, error) { return seal(account.SealAPIKey, []byte(key)) }}); err != nil {
		return err
	}
	if err := c.Rules.ChangeConnection(ctx, c.author,
		commerce.ConnectionChange{ID: c.id, PollEvery: poll, CommissionsFrom: begin}); err != nil {
		return err
	}
	return c.until(ctx, c.name+" is connected", func() (bool, error) {
		is, err := c.Rules.Connection(ctx, c.author.CompanyID, c.id)
		c.outcome.NoticesOn = is.NoticesOn
		return is.State == commerce.ConnectionLive || is.State == commerce.ConnectionBackfilling, err
	})
}

// test has the keys tried, again where the storm was in the way: so a merchant presses the button once more.
func (c *Connected) test(ctx context.Context) error {
	const tries = 5
	var got commerce.ConnectTask
	for range tries {
		id, err := c.Rules.AddConnectTask(ctx, c.author,
			commerce.ConnectTask{CompanyID: c.author.CompanyID, ConnectionID: c.id, Kind: commerce.TaskTest})
		if err != nil {
			return err
		}
		if err := c.until(ctx, "the keys are tried", func() (bool, error) {
			got, err = c.Rules.ConnectTask(ctx, c.author.CompanyID, id)
			return !got.DoneAt.IsZero(), err
		}); err != nil || got.Reason == "" {
			return err
		}
	}
	return fmt.Errorf("%s: the keys were not taken: %s %s", c.name, got.Reason, got.Detail)
}

// leastThatEarns is a total without its shipping of which 10 % are some hundredths, whatever was given back for which line.
const leastThatEarns = 10_00

// difference says what of the shop's orders is not so in the store; "": nothing.
func (c *Connected) difference(ctx context.Context) (string, error) {
	orders := c.fake.Find(func(shop.Order) bool { return true })
	truths, ids := make([]fakes.Truth, len(orders)), make([]string, len(orders))
	for n, o := range orders {
		truths[n] = c.fake.Truth(o)
		ids[n] = truths[n].ID
	}
	ours, err := c.Rules.OrderDigests(ctx, c.author.CompanyID, ids)
	if err != nil {
		return "", err
	}
	earned, err := c.earned(ctx)
	if err != nil {
		return "", err
	}
	status := map[string]int{fakes.StatusApproved: commerce.OrderApproved, fakes.StatusPending: commerce.OrderPending,
		fakes.StatusCancelled: commerce.OrderCancelled}
	for n, t := range truths {
		got, found := ours[t.ID]
		counts := t.Status == fakes.StatusApproved && len(t.Codes) > 0 && orders[n].Rest()-orders[n].Shipping > leastThatEarns
		switch {
		case !found:
			return "order " + t.ID + " is not there", nil
		case got.Status != status[t.Status]:
			return fmt.Sprintf("order %s has status %d and is %s", t.ID, got.Status, t.Status), nil
		case t.Status != fakes.StatusCancelled && got.Total != t.Total: // of a cancelled one no total counts
			return fmt.Sprintf("order %s has %s and is %s", t.ID, got.Total, t.Total), nil
		case counts && earned[t.ID] <= 0:
			return fmt.Sprintf("order %s with %v earns nothing", t.ID, t.Codes), nil
		case (t.Status != fakes.StatusApproved || len(t.Codes) == 0) && earned[t.ID] != 0:
			return fmt.Sprintf("order %s, %s, with %v, earns %d", t.ID, t.Status, t.Codes, earned[t.ID]), nil
		}
	}
	var stored int
	if err := c.DB.Pool().QueryRow(ctx, `select count(*) from orders where company_id = $1`, c.author.CompanyID).Scan(&stored); err != nil {
		return "", err
	}
	if stored != len(truths) {
		return fmt.Sprintf("%d orders are stored and %d are there", stored, len(truths)), nil
	}
	return "", nil
}

// earned is what is owed for each order, in hundredths.
func (c *Connected) earned(ctx context.Context) (map[string]int64, error) {
	rows, err := c.DB.Pool().Query(ctx, `select order_id, sum(amount_minor)::bigint from ledger_entry where company_id = $1 group by order_id`,
		c.author.CompanyID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sums := map[string]int64{}
	for rows.Next() {
		var id string
		var sum int64
		if err := rows.Scan(&id, &sum); err != nil {
			return nil, err
		}
		sums[id] = sum
	}
	return sums, rows.Err()
}

// looksPerWord is after how many looks it is said what differs.
const looksPerWord = 60

// AwaitEqual returns once the store has what the shop has; what differs after patience is a problem.
func (c *Connected) AwaitEqual(ctx context.Context, patience time.Duration) error {
	began, last := time.Now(), ""
	for n := 1; ; n++ {
		difference, err := c.difference(ctx)
		if err = errors.Join(err, c.Alive()); err != nil {
			return err
		}
		if last = difference; last == "" {
			c.Say("  %s: all is equal after %.0f s", c.name, time.Since(began).Seconds())
			return nil
		}
		if n%looksPerWord == 0 {
			c.Say("  %s: %s", c.name, last)
		}
		if time.Since(began) > patience {
			is, err := c.Rules.Connection(ctx, c.author.CompanyID, c.id)
			c.outcome.wrong("after %v %s; the connection is %s %s %s", patience, last, is.State, is.Reason, is.Detail)
			return err
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// sell sells n orders with a coupon, one after the other in a time, and returns how long each took from its payment to its credit.
func (c *Connected) sell(ctx context.Context, n int, over, patience time.Duration) (took []time.Duration, err error) {
	paid := map[string]time.Time{}
	began, sold := time.Now(), 0
	for sold < n || len(paid) > 0 {
		if sold < n && time.Since(began) >= over*time.Duration(sold)/time.Duration(n) {
			o, err := c.fake.Place(fakes.Cart{Lines: []fakes.CartLine{{Product: 0, Quantity: 2}}, Codes: codes[:1]})
			if err != nil {
				return took, err
			}
			paid[c.fake.Truth(o).ID] = time.Now()
			if err := c.fake.Pay(o.ID); err != nil {
				return took, err
			}
			sold++
		}
		earned, err := c.earned(ctx)
		if err = errors.Join(err, c.Alive()); err != nil {
			return took, err
		}
		for id, at := range paid {
			if earned[id] > 0 {
				took = append(took, time.Since(at))
				delete(paid, id)
			}
		}
		if time.Since(began) > over+patience {
			c.outcome.wrong("%d of %d orders had no credit %v after the last", len(paid), n, patience)
			break
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return took, err
		}
	}
	slices.Sort(took)
	return took, nil
}
