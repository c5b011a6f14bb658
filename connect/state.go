package connect

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// start begins a connection, and asks for one that fails whether it does not any more: it looks at who the shop is, and asks it for
// notices. A connection that fails is well again when its changes were read (poll.go).
func (v *visit) start(ctx context.Context) (bool, error) {
	if !v.runs() || v.c.State != commerce.ConnectionConnecting && v.c.State != commerce.ConnectionFailing || v.asked {
		return false, nil
	}
	if err := v.open(); err != nil {
		return false, err
	}
	about, err := v.shop.About(ctx)
	if err != nil {
		return false, err
	}
	if err := v.sameShop(about); err != nil {
		return false, err
	}
	change := commerce.ConnectStateChange{ShopName: cut(about.Name), ShopURL: cut(about.URL), Currency: about.Currency}
	on, err := v.subscribe(ctx, about)
	if err != nil {
		return false, err
	}
	change.NoticesOn = &on
	if v.c.Cursor.IsZero() {
		// What changed before comes by the backfill; what changes while that runs comes by polling.
		if err := v.store(ctx, commerce.ConnectPage{Cursor: v.Now()}); err != nil {
			return false, err
		}
	}
	if v.c.State == commerce.ConnectionConnecting {
		change.State = v.well()
	}
	v.asked = true
	return true, v.change(ctx, change)
}

// well is the state of a connection that works.
func (v *visit) well() commerce.ConnectionState {
	if v.backfills() {
		return commerce.ConnectionBackfilling
	}
	return commerce.ConnectionLive
}

// sameShop refuses a shop that is another one by now, or that sells in another currency than the store's.
func (v *visit) sameShop(about platform.About) error {
	switch {
	case v.c.Shop != "" && about.ID != v.c.Shop:
		return &platform.Error{Reason: commerce.ShopOtherShop, Detail: about.ID}
	case v.c.StoreCurrency != "" && about.Currency != "" && about.Currency != v.c.StoreCurrency: // a VTEX account without orders tells none
		return &platform.Error{Reason: commerce.ShopCurrency, Detail: about.Currency}
	}
	return nil
}

// subscribe asks the platform for notices, where it can send any and knows where to. Without them, orders come by polling alone.
func (v *visit) subscribe(ctx context.Context, about platform.About) (on bool, err error) {
	if v.config.PublicURL == "" || !about.CanNotify {
		return false, nil
	}
	secret, err := v.noticeSecret(ctx)
	if err != nil || secret == "" {
		return false, err
	}
	v.noticesAsked = v.Now()
	err = v.shop.Subscribe(ctx, v.noticeURL(), secret)
	failed, refused := platform.Failed(err, commerce.ShopLacksScope, commerce.ShopUnknownShape, commerce.ShopNotFound, commerce.ShopAddress)
	if refused {
		v.Logger.Warn("a shop sends no notices: it is polled alone", v.named("reason", failed.Reason)...)
		return false, nil
	}
	return err == nil, err
}

// keepNotices asks for notices again from time to time, and after each start of the process: platforms end a subscription whose
// address did not answer for some hours (Shopify after eight failures, WooCommerce after five), and tell nobody.
func (v *visit) keepNotices(ctx context.Context) (bool, error) {
	works := v.c.State == commerce.ConnectionLive || v.c.State == commerce.ConnectionBackfilling
	if !v.runs() || !works || !v.c.NoticesOn || v.Now().Before(v.noticesAsked.Add(askNoticesEvery)) {
		return false, nil
	}
	if err := v.open(); err != nil {
		return false, err
	}
	on, err := v.subscribe(ctx, platform.About{CanNotify: true})
	if err != nil || on {
		return false, err
	}
	return true, v.change(ctx, commerce.ConnectStateChange{NoticesOn: &on})
}

// askNoticesEvery is how long a subscription that the platform ended can be missing. It costs a request or two.
const askNoticesEvery = time.Hour

// noticeSecret is what the connection's notices are signed with; empty: nothing, and they cannot be asked for.
func (v *visit) noticeSecret(ctx context.Context) (string, error) {
	if signer, ok := v.platforms[v.c.Platform].(platform.Signer); ok {
		return signer.NoticeSecret(v.secrets), nil
	}
	return v.ownSecret(ctx)
}

// noticeURL is the address of the connection's notices.
func (v *visit) noticeURL() string {
	return v.config.PublicURL + "/connect/" + v.c.Platform + "/" + v.c.ID
}
