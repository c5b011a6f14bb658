package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of a task: somebody waits.
const (
	tasksAtOnce  = 5
	taskTime     = 90 * time.Second
	previewTime  = 40 * time.Second // for counting, of which a part is shown too
	previewPages = 10
	previewDays  = 30
	previewCodes = 50
)

// tasks does what a merchant asked, and answers. What a task found wrong is its answer.
func (v *visit) tasks(ctx context.Context) (bool, error) {
	list, err := v.Database.TakeTasks(ctx, v.lease, v.c.CompanyID, v.c.ID, tasksAtOnce)
	if err != nil {
		return false, err
	}
	did := false
	for _, t := range list {
		if v.comparing(t) {
			continue // it is answered when it ends
		}
		did = true
		limited, cancel := context.WithTimeout(ctx, taskTime)
		answer, err := v.task(limited, t)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return true, ctx.Err()
		case late:
			err = &platform.Error{Reason: commerce.ShopUnavailable, Detail: "no answer in time"}
		case t.Kind == commerce.TaskCompare && err == nil:
			continue
		}
		if err := v.finish(ctx, t, answer, err); err != nil {
			return true, err
		}
	}
	return did, nil
}

// comparing tells that a task's comparison goes on.
func (v *visit) comparing(t commerce.ConnectTask) bool {
	return v.compared != nil && slices.ContainsFunc(v.compared.tasks, func(other commerce.ConnectTask) bool { return other.ID == t.ID })
}

// finish stores a task's answer, or why it failed. An error that is neither the shop's nor the admin API's is returned.
func (v *visit) finish(ctx context.Context, t commerce.ConnectTask, answer any, err error) error {
	var shop *platform.Error
	var ours *apiError
	switch {
	case errors.As(err, &shop):
		t.Reason, t.Detail = shop.Reason, cut(shop.Detail)
	case errors.As(err, &ours):
		t.Reason, t.Detail = commerce.ShopOrderRefused, cut(ours.Error())
	case errors.Is(err, commerce.ErrShopConnected):
		t.Reason, t.Detail = commerce.ShopOtherShop, "this shop is connected already"
	case err != nil:
		return err
	case answer != nil:
		if t.Answer, err = json.Marshal(answer); err != nil {
			return err
		}
	}
	t.DoneAt = v.Now()
	return v.Database.FinishTask(ctx, v.lease, t)
}

func (v *visit) task(ctx context.Context, t commerce.ConnectTask) (answer any, err error) {
	if t.Kind == commerce.TaskInstall {
		if err := v.install(ctx, t); err != nil {
			return nil, err
		}
		return v.preview(ctx)
	}
	if err := v.open(); err != nil {
		return nil, err
	}
	switch t.Kind {
	case commerce.TaskTest:
		return v.preview(ctx)
	case commerce.TaskStart:
		_, err := v.start(ctx)
		return nil, err
	case commerce.TaskRetry:
		return nil, v.retryAside(ctx)
	case commerce.TaskCoupon:
		var asked commerce.ShopCoupon
		if err := json.Unmarshal(t.Question, &asked); err != nil {
			return nil, err
		}
		return v.createCoupon(ctx, asked)
	case commerce.TaskCompare:
		return nil, v.compareFor(t)
	case commerce.TaskEnd:
		return nil, v.shop.Unsubscribe(ctx, v.noticeURL())
	case commerce.TaskBackfill:
		var asked commerce.BackfillAsked
		if err := json.Unmarshal(t.Question, &asked); err != nil {
			return nil, err
		}
		return nil, v.backfillAgain(ctx, asked.Days)
	}
	return nil, &platform.Error{Reason: commerce.ShopNoService, Detail: "this service does not know what was asked"}
}

// compareFor begins a comparison that answers a task when it ends. While nothing is read there is nothing to compare.
func (v *visit) compareFor(t commerce.ConnectTask) error {
	if v.c.State != commerce.ConnectionLive && v.c.State != commerce.ConnectionBackfilling {
		return &platform.Error{Reason: cmp.Or(v.c.Reason, commerce.ShopUnavailable), Detail: v.c.Detail}
	}
	v.compareAll(commerce.ReconciledDays)
	v.compared.tasks = append(v.compared.tasks, t)
	return nil
}

// install turns what the platform's page gave back into credentials.
func (v *visit) install(ctx context.Context, t commerce.ConnectTask) error {
	p := v.platforms[v.c.Platform]
	installer, ok := p.(platform.Installer)
	app, registered := v.config.Apps[v.c.Platform]
	if !ok || !registered {
		return &platform.Error{Reason: commerce.ShopNoService, Detail: "the service has no app at this platform"}
	}
	plain, err := v.Keys.Open(t.KeyID, v.bound(account.SealInstall), t.Sealed)
	if err != nil {
		return &platform.Error{Reason: commerce.ShopNoService, Detail: "the service does not have the key of this code"}
	}
	var back commerce.InstallCode
	if err := json.Unmarshal(plain, &back); err != nil {
		return err
	}
	v.dial(p)
	secrets, err := installer.Exchange(ctx, app.App, back.Code, v.client)
	if err != nil {
		return err
	}
	if err := v.seal(ctx, secrets); err != nil {
		return err
	}
	if v.c.State == commerce.ConnectionInstalling {
		if err := v.change(ctx, commerce.ConnectStateChange{State: commerce.ConnectionDraft}); err != nil {
			return err
		}
	}
	v.opened = [32]byte{}
	return v.open()
}

// preview asks who the shop is and what would come.
func (v *visit) preview(ctx context.Context) (*commerce.ShopPreview, error) {
	about, err := v.shop.About(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.sameShop(about); err != nil {
		return nil, err
	}
	about.Currency = cmp.Or(about.Currency, v.c.StoreCurrency) // a shop without orders may tell none: each order is checked
	err = v.change(ctx, commerce.ConnectStateChange{
		Shop: about.ID, ShopName: cut(about.Name), ShopURL: cut(about.URL), Currency: about.Currency})
	if err != nil {
		return nil, err
	}
	found := &commerce.ShopPreview{Shop: about.ID, Name: about.Name, URL: about.URL, Currency: about.Currency, ProofKey: about.ProofKey,
		Lacks: about.Lacks, CanNotify: about.CanNotify}
	until, token, total, codes := time.Now().Add(previewTime), "", decimal.Zero, map[string]int64{}
	from, to := v.Now().AddDate(0, 0, -previewDays), v.Now()
	for n := 1; ; n++ {
		page, err := v.shop.Created(ctx, from, to, token)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			if item.Order == nil || item.Order.Test {
				continue
			}
			found.Orders++
			if amount, err := decimal.NewFromString(item.Order.TotalPrice.String()); err == nil && item.Order.Status == int(commerce.OrderApproved) {
				total = total.Add(amount)
			}
			for _, c := range item.Order.Codes {
				codes[c.Code]++
			}
		}
		if page.Next == "" || page.Next == token {
			break
		}
		if token = page.Next; n == previewPages || time.Now().After(until) {
			found.More = true
			break
		}
	}
	found.Total = total.String()
	found.Codes, err = v.previewCodes(ctx, codes)
	return found, err
}

// previewCodes says which of the codes of a shop's orders are ours.
func (v *visit) previewCodes(ctx context.Context, counted map[string]int64) ([]commerce.PreviewedCode, error) {
	list := make([]commerce.PreviewedCode, 0, len(counted))
	for code, orders := range counted {
		list = append(list, commerce.PreviewedCode{Code: code, Orders: orders})
	}
	slices.SortFunc(list, func(a, b commerce.PreviewedCode) int {
		return cmp.Or(cmp.Compare(b.Orders, a.Orders), cmp.Compare(a.Code, b.Code))
	})
	list = list[:min(len(list), previewCodes)]
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Code
	}
	known, err := v.Database.KnownCodes(ctx, v.c.CompanyID, names)
	for i := range list {
		list[i].Known = known[list[i].Code]
	}
	return list, err
}

// backfillAgain begins to read earlier orders, of so many days.
func (v *visit) backfillAgain(ctx context.Context, days int) error {
	now := v.Now()
	place := commerce.Backfill{Days: min(max(days, 1), commerce.MaxBackfillDays), To: now}
	place.From = now.AddDate(0, 0, -place.Days)
	place.At = place.From
	if err := v.store(ctx, commerce.ConnectPage{Backfill: &place}); err != nil || v.c.State != commerce.ConnectionLive {
		return err
	}
	return v.change(ctx, commerce.ConnectStateChange{State: commerce.ConnectionBackfilling})
}
