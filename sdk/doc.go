// Package sdk sends a merchant's site events to Tributary from a Go backend.
//
//	client, err := sdk.New(sdk.Config{CompanyID: "…", Endpoint: "https://t.example.com"})
//	err = client.Track(ctx, sdk.CheckoutCompleted, payload, sdk.Identity{Email: "ana@example.com"})
//	err = client.Close(ctx)
//
// Track checks the event at once, with the same core as the browser and the
// edge, and puts it into a bounded queue; one goroutine sends batches and
// retries what may be retried. An event is acknowledged, refused or given up
// exactly once, and Config.OnResult is told of each.
// docs/events.md has every name, field, bound and code.
//
// What may enter: the standard library and sdk/core, nothing else: whoever
// imports this package gets no dependency with it.
package sdk
