// Package sdk sends a merchant's site events to Tributary from a Go backend.
//
//	client, err := sdk.New(sdk.Config{CompanyID: "…", Endpoint: "https://t.example.com"})
//	err = client.Track(ctx, sdk.CheckoutCompleted, payload, sdk.Identity{Email: "ana@example.com"})
//	err = client.Close(ctx)
//
// Track checks the event at once, with the same code as the browser and the
// edge, and puts it into a bounded queue. One goroutine sends batches and
// retries them where that may help. Each event ends exactly once as
// acknowledged, refused or given up, and Config.OnResult is called with that.
// docs/events.md has every name, field, bound and code.
//
// What may enter: the standard library, sdk/core and internal/seglog only, so that a program that
// imports this package gets no other dependency.
package sdk
