// Package sdk sends a merchant's site events to Tributary from a Go backend.
//
//	import "github.com/tributary-io/tributary/sdk"
//
//	client, err := sdk.New(sdk.Config{
//		CompanyID: "YOUR_COMPANY_ID",
//		Endpoint:  "https://collect.your-shop.com",
//		APIKey:    os.Getenv("TRIBUTARY_KEY"),   // trusted more than what anybody can send
//		QueueDir:  "/var/lib/shop/tributary",    // survives a crash
//	})
//	err = client.Track(ctx, sdk.CheckoutCompleted, payload, sdk.Identity{Email: "ana@example.com"})
//	err = client.Close(ctx)
//
// Track checks the event at once, with the same code as the browser and the
// edge, and puts it into a bounded queue, in memory or, with Config.QueueDir, on
// disk. One goroutine sends batches and retries them where that may help. Each
// event ends exactly once as acknowledged, refused or given up, and
// Config.OnResult is called with that.
//
// # Errors
//
// Track returns an *Invalid for an event that the edge would refuse, and
// ErrQueueFull. Flush and Close return a *Failed if events were not delivered: they
// were refused, or the edge could not be reached. An unknown company, a key that
// is refused and an Endpoint without an edge are ErrUnknownCompany, ErrUnauthorized
// and ErrWrongEndpoint for errors.Is: the client sends nothing more then, and Track
// returns them too. Each reason is logged once, to slog.Default or Config.Logger.
//
// docs/events.md has every name, field, bound and code, docs/sdk.md more on
// backends.
//
// What may enter: the standard library, sdk/core and internal/seglog only, so that
// a program that imports this package gets no other dependency.
package sdk
