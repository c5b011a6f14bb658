package connect

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Waits of erasing all customers of a shop.
const (
	shopErasedIn   = 7 * 24 * time.Hour // then the merchant is told, while it goes on for commerce.ShopRequestLife
	shopAskedEvery = time.Hour          // until a shop that did not answer is asked again whether it removed the app
)

// eraseWait is how long to wait until it is looked whether a shop's customers are erased, and more are asked for: it grows, so that an
// order that never comes is asked for seldom.
func eraseWait(waited time.Duration) time.Duration {
	switch {
	case waited < time.Hour:
		return time.Minute
	case waited < 24*time.Hour:
		return 10 * time.Minute
	case waited < shopErasedIn:
		return time.Hour
	}
	return 24 * time.Hour
}

// subject is whom a privacy notice names, as POST /erasures takes it. It is kept sealed to this service.
type subject struct {
	Email      string `json:"email,omitempty"`
	Phone      string `json:"phone,omitempty"`
	CustomerID string `json:"customer_id,omitempty"`
}

// without clears a field that the API does not take.
func (p *subject) without(field string) (cleared bool) {
	for name, value := range map[string]*string{"email": &p.Email, "phone": &p.Phone, "customer_id": &p.CustomerID} {
		if name == field && *value != "" {
			*value, cleared = "", true
		}
	}
	return cleared
}

// kinds are the names of what is given.
func (p subject) kinds() []string {
	return commerce.DataSubject{Email: p.Email, Phone: p.Phone, CustomerID: p.CustomerID}.Kinds()
}

// privacy does what a platform asks in a person's name. It is done when the admin API took it, and in the audit log either way.
func (v *visit) privacy(ctx context.Context, n commerce.ShopNotice) (retryAt time.Time, err error) {
	var person subject
	if len(n.Sealed) > 0 {
		plain, err := v.Keys.Open(n.KeyID, v.bound(account.SealNotice), n.Sealed)
		if err == nil {
			err = json.Unmarshal(plain, &person)
		}
		if err != nil {
			v.Logger.Error("a privacy notice cannot be opened: put its key back into the key file", v.named("key", n.KeyID)...)
			return v.Now().Add(mostRetry), nil
		}
	}
	done, err := false, error(nil)
	switch {
	case n.Kind == platform.NoticeRedactShop:
		if done, retryAt, err = v.eraseShop(ctx, n); err != nil || !retryAt.IsZero() {
			return retryAt, err
		}
	case n.Kind == platform.NoticeRedact && len(person.kinds()) > 0 && v.key != "":
		if done, err = v.erase(ctx, person); err != nil {
			v.Logger.Warn("a privacy notice waits", v.named("error", err)...)
			return v.Now().Add(backOff(n.Attempts + 1)), nil
		}
	}
	// A person has to send the data of a customer, and to erase whom a connection that has ended could not: its API key has ended.
	if n.Kind == platform.NoticeDataRequest || n.Kind == platform.NoticeRedact && !done && v.c.State == commerce.ConnectionEnded {
		if err := v.tell(ctx, n, person.CustomerID); err != nil {
			return time.Time{}, err
		}
	}
	detail := map[string]any{"asked_at": n.At.UTC().Format(time.RFC3339), "kinds": person.kinds(), "done": done}
	return time.Time{}, v.Database.LogConnection(ctx, v.c.CompanyID, v.c.ID, "connection."+n.Kind, detail)
}

// tell has the merchant do what a notice asks for.
func (v *visit) tell(ctx context.Context, n commerce.ShopNotice, customer string) error {
	request := commerce.ShopRequest{ID: n.Key, Kind: n.Kind, Customer: customer, AskedAt: n.At}
	return v.Database.AddShopRequest(ctx, v.lease, v.c.CompanyID, v.c.ID, request)
}

// eraseShop asks to erase all customers of a shop that removed the app, until none is left. A shop that is connected is not erased:
// where orders do not come, it is asked whether it is.
func (v *visit) eraseShop(ctx context.Context, n commerce.ShopNotice) (done bool, retryAt time.Time, err error) {
	waited := v.Now().Sub(n.At)
	wait := eraseWait(waited)
	switch v.c.State {
	case commerce.ConnectionPaused, commerce.ConnectionFailing:
		err := v.uninstalled(ctx)
		if failed, asked := platform.Failed(err); !asked || failed.Reason == commerce.ShopUninstalled {
			return false, time.Time{}, err // it ends the connection, and the notice is due still
		}
		wait = shopAskedEvery
	case commerce.ConnectionEnded:
		left, err := v.Database.EraseShop(ctx, v.lease, v.c.CompanyID, v.c.ID)
		switch {
		case errors.Is(err, commerce.ErrShopConnected):
			return false, time.Time{}, nil
		case err != nil || !left:
			return err == nil, time.Time{}, err
		}
	default:
		return false, time.Time{}, nil
	}
	if waited >= shopErasedIn {
		if err := v.tell(ctx, n, ""); err != nil || waited >= commerce.ShopRequestLife {
			return false, time.Time{}, err
		}
	}
	return false, v.Now().Add(wait), nil
}

// erase asks to erase whom a notice names. What the API cannot read of it is left out. done is false where nothing is left: then
// nothing that we store can be of that person; and where the connection has ended and its API key does not count any more.
func (v *visit) erase(ctx context.Context, person subject) (done bool, err error) {
	for len(person.kinds()) > 0 {
		body, err := json.Marshal(person)
		if err != nil {
			return false, err
		}
		_, err = v.api.post(ctx, v.key, "/erasures", "application/json", body)
		var failed *apiError
		if errors.As(err, &failed) && failed.refused() && failed.fault != commerce.CodeTooMany && person.without(failed.field) {
			continue
		}
		if failed != nil && failed.keyRefused() && v.c.State == commerce.ConnectionEnded {
			return false, nil
		}
		return err == nil, err
	}
	return false, nil
}
