// Package networks has servers of ad networks that take conversions, for tests of what sends to them: Meta's Conversions
// API, Google Analytics' Measurement Protocol, Google's Data Manager API and TikTok's Events API. They are made from the
// networks' documentation and from answers that others saw and published, never from our code that sends: who writes
// here does not read package connect/conversion.
//
//	meta := networks.NewMeta(networks.MetaAccount{Dataset: "1", Token: "t"}, clock)
//	server := httptest.NewServer(meta)   // stands for https://graph.facebook.com
//	meta.Events()                        // what the merchant sees counted, after the network's deduplication
//	meta.TestEvents()                    // what came as a test
//	meta.Repeats(), meta.Requests()      // events that the deduplication dropped; requests, failed ones included
//	meta.Complaints()                    // what the documentation does not have: a test wants none
//	meta.FailNext(3, networks.MetaThrottled); meta.SetLatency(time.Second)
//	meta.HangBefore(until)               // requests hang before they are read into the account
//	meta.HangAfter(until)                // requests count, and their answers hang
//
// A field that the documentation does not name, or of another type, would be dropped in silence by the real network. Here
// it is a complaint, and the request is refused. So is a documented duty that the real network is known not to enforce.
//
// A rule names its source in brackets; [unverified] means that no public source was found, or only for a part of it:
//
//	[meta …]    developers.facebook.com/documentation/ads-commerce/conversions-api/…
//	[graph]     developers.facebook.com/docs/graph-api/guides/error-handling
//	[ga4 …]     developers.google.com/analytics/devguides/collection/protocol/ga4/…
//	[dm …]      developers.google.com/data-manager/api/…; [dm rest]: the discovery document of datamanager v1, 2026-03-21
//	[oauth]     developers.google.com/identity/protocols/oauth2
//	[tiktok …]  ads.tiktok.com/help/article/…; [tiktok sdk]: tiktok/tiktok-business-api-sdk
//	[seen …]    an answer of the real network that the named public repository shows
package networks
