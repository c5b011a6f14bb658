// Package fakes starts believable servers of shop platforms, for tests of what connects to them. They are made from
// the platforms' documentation, never from the code of ours that reads it: who writes here does not read package
// connect. What the documentation leaves open is told in the comment of each platform's package, and done there in
// the way that is harder for a client.
//
// A shop has two sides. Its HTTP side is the platform's: API, sign-in, notices with signatures. Its Go side is the
// merchant's and the buyers':
//
//	s, err := fakes.Start(ctx, fakes.Options{Platform: "nuvemshop", Seed: 1, RetryScale: 1e-4})
//	defer s.Close()
//	s.URL()                  // stands for https://api.nuvemshop.com.br and https://www.nuvemshop.com.br alike
//	s.Keys()                 // what a merchant copies to connect: s.Key("access_token"), s.Key("client_secret") …
//	s.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000})
//	o, err := s.Place(fakes.Cart{Codes: []string{"ANA10"}, Landing: "https://loja.example/?ref=ana"})
//	s.Pay(o.ID); s.RefundPart(o.ID, 500); s.Edit(o.ID, 2); s.Cancel(o.ID); s.Deliver(o.ID)
//	s.Random(7)              // one random life
//	s.Live(ctx, 7, 1000, 0)  // a thousand, mixed with each other
//	s.Settle(ctx)            // until all notices are sent, tries again included
//	s.Orders()               // the truth: id, status, total after refunds as text, currency, codes, times
//	s.Stats()                // requests, those beyond the limit (0 for a good client), the longest burst, forged notices taken
//	s.SetFaults(fakes.Storm(7)); s.SetFaults(fakes.Faults{})
//	s.Suspend(); s.Resume(); s.Uninstall(); s.Forge("order/paid", o, fakes.ForgedKey)
//
// Shop.URL stands for these hosts, and Shop.Key gives these keys:
//
//	nuvemshop    api.nuvemshop.com.br, www.nuvemshop.com.br   store_id, app_id, client_secret, access_token, scope
//	shopify      {shop}.myshopify.com                         shop, client_id, client_secret, access_token, scope
//	vtex         {account}.vtexcommercestable.com.br          account, app_key, app_token
//	woocommerce  the shop's own                               url, consumer_key, consumer_secret
//	yampi        api.dooki.com.br                             alias, user_token, user_secret_key
//
// A platform's own steps are methods of its type: s.Platform().(*nuvemshop.Platform).RedactCustomer(s, o), after
// s.SetAddress("customers/redact", url); nuvemshop's Code gives what the click on "install" sends.
//
// Truth.Total of a cancelled order is what the platform goes on showing: a ledger has nothing there. Yampi documents
// neither partial refunds nor edits: RefundPart, RefundLine and Edit fail there with shop.ErrNotNow. VTEX and Yampi show
// one code of an order with several, the first; WooCommerce shows codes in lower case.
//
// Addresses for notices may be http on loopback unless Options.StrictURLs. The limit is the documented one:
// Options.LimitScale multiplies it, as a larger plan does. Options.RetryScale shortens the waits between attempts at a
// notice. Options.Storefront adds pages to buy on and the shop's admin; `go run ./test/fakes/fakeshop` starts such a
// shop for a person.
//
// What may enter: starting shops. What all platforms have in common is in test/fakes/shop, each platform in its folder.
package fakes
