// Package visits is the browser SDK's part of `make prove`: pages of a shop that are left,
// closed, crashed and killed right after an event, in a real Chromium. Each event must
// arrive, and hardly any twice.
//
// What may enter: a collector that takes events as the edge does, a shop, the ways in which a
// visit ends, and the browsers. The tests of sdk-js run a short form, `make test-browsers` one in
// Firefox and WebKitGTK too.
package visits

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind is a way in which a visit ends.
type Kind struct {
	Name, Title string
	kills       bool // the whole browser
	end         func(ctx context.Context, r *run, t tab, visit int) error
}

// Kinds are all of them, in Chromium.
func Kinds() []Kind {
	return append(Leaving(),
		Kind{Name: "crash", Title: "the renderer crashes", end: crash},
		Kind{Name: "kill", Title: "the browser is killed (SIGKILL) once the mirror is written", end: mirrored, kills: true},
	)
}

// Leaving are those in which a visitor leaves: they are the same in each browser.
func Leaving() []Kind {
	return []Kind{
		{Name: "same-site", Title: "a link to another page of the shop", end: leave("/next")},
		{Name: "cross-site", Title: "a link to another site", end: leave("elsewhere")},
		{Name: "close", Title: "the tab is closed", end: closeTab},
	}
}

// Offline are visits without a network: a tab is closed before it is back, another stays.
func Offline() Kind {
	return Kind{Name: "offline", Title: "the network goes and comes back", end: offline}
}

// Bounds of a run.
const (
	patience = 2 * time.Minute // for anything that must come
	together = 25              // visits between two pages that stay: what is stored is bounded
	openTabs = 10              // … of a browser that is killed
)

// Outcome is what became of the visits' events.
type Outcome struct {
	Visits, Lost int
	Copies       float64 // on the wire, for each event
	Beacons      int     // events that a page asked about, and found known
}

// Good tells whether it holds: nothing lost, at most 1.05 copies.
func (o Outcome) Good() bool { return o.Lost == 0 && o.Copies <= 1.05 }

type run struct {
	collector *collector
	open      Opener
	browser   browser
	shop      string // its URL
	elsewhere string // another site's
}

// Do makes n visits that end in one way. dist has a build of sdk-js.
func Do(ctx context.Context, kind Kind, n int, dist string, open Opener) (o Outcome, err error) {
	r := &run{open: open, collector: newCollector(dist)}
	defer r.collector.close()
	r.shop, r.elsewhere = r.collector.shop()
	if r.browser, err = open(ctx); err != nil {
		return o, err
	}
	defer func() { r.browser.end() }()
	for done := 0; done < n; {
		batch := min(together, n-done)
		if kind.kills {
			batch = min(openTabs, n-done)
		}
		for i := range batch {
			if err := r.visit(ctx, kind, done+i); err != nil {
				return o, fmt.Errorf("visit %d: %w", done+i+1, err)
			}
		}
		done += batch
		if kind.kills {
			r.browser.end()
			if r.browser, err = open(ctx); err != nil {
				return o, err
			}
		}
		if err := r.settle(ctx); err != nil {
			return o, err
		}
	}
	o.Visits = n
	o.Lost, o.Copies, o.Beacons = r.collector.count(n)
	return o, nil
}

// named is the name of a visit's event.
func named(visit int) string { return fmt.Sprintf("VISIT_%d", visit) }

// track is a script that takes a visit's event.
func track(visit int) string {
	return fmt.Sprintf(`tributary.track(%q, {text: "é".repeat(40)})`, named(visit))
}

// visit opens a tab and ends it right after an event.
func (r *run) visit(ctx context.Context, kind Kind, i int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := r.tab(ctx, "/")
	if err != nil {
		return err
	}
	if err := kind.end(ctx, r, t, i); err != nil {
		return err
	}
	if kind.kills {
		return nil // the tab stays until the browser is killed
	}
	_ = t.close(ctx) // where the way of the visit has left one
	return nil
}

// tab opens a page in which the SDK has started.
func (r *run) tab(ctx context.Context, path string) (tab, error) {
	t, err := r.browser.tab(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.navigate(ctx, r.shop+path); err != nil {
		return nil, err
	}
	return t, t.eval(ctx, `() => new Promise((done) => {
		const look = () => (window.tributary && tributary.loaded ? done() : setTimeout(look, 2));
		look();
	})`)
}

func leave(to string) func(context.Context, *run, tab, int) error {
	return func(ctx context.Context, r *run, t tab, visit int) error {
		url := r.shop + to
		if to == "elsewhere" {
			url = r.elsewhere
		}
		return t.leave(ctx, track(visit), url)
	}
}

// closeTab closes the tab in the same task as the event.
func closeTab(ctx context.Context, _ *run, t tab, visit int) error {
	if err := t.eval(ctx, `() => { `+track(visit)+` }`); err != nil {
		return err
	}
	return t.close(ctx)
}

// offline takes the network away, then an event, and waits until it could not be sent. Every
// other tab is closed before the network is back; the others send when it is.
func offline(ctx context.Context, r *run, t tab, visit int) error {
	if err := t.eval(ctx, `() => new Promise((done) => {
		const look = () => (tributary._ ? setTimeout(look, 2) : done()); // the second file has connected itself
		look();
	})`); err != nil {
		return err
	}
	if err := r.network(ctx, false); err != nil {
		return err
	}
	sent := t.eval(ctx, `async () => { `+track(visit)+`; await tributary.flush() }`)
	closes := visit%2 == 1
	if sent == nil && closes {
		sent = t.close(ctx)
	}
	if err := r.network(ctx, true); err != nil || sent != nil || closes {
		return errors.Join(sent, err)
	}
	return t.eval(ctx, untilNoneStored)
}

// network takes the network away, or gives it back: in the browser where that can do it, else the
// collector hangs up.
func (r *run) network(ctx context.Context, there bool) error {
	err := r.browser.offline(ctx, !there)
	if errors.Is(err, errors.ErrUnsupported) {
		r.collector.away.Store(!there)
		return nil
	}
	return err
}

// untilNoneStored returns when all that localStorage has is acknowledged.
const untilNoneStored = `() => new Promise((done) => {
	const look = () => (Object.keys(localStorage).some((key) => key.startsWith("trb:")) ? setTimeout(look, 20) : done());
	look();
})`

// settle opens a page that stays until it has sent all that others left.
func (r *run) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := r.tab(ctx, "/stay")
	if err != nil {
		return err
	}
	defer func() { _ = t.close(ctx) }()
	if err := t.eval(ctx, `() => new Promise((done) => setTimeout(done, Math.max(0, 4000 - performance.now())))`); err != nil {
		return err
	}
	if err := t.eval(ctx, untilNoneStored); err != nil {
		return err
	}
	return t.eval(ctx, untilNoneMirrored)
}

// untilNoneMirrored returns when all that IndexedDB has is acknowledged: a killed browser may have left
// it there alone.
const untilNoneMirrored = `() => new Promise((done) => {
	const open = indexedDB.open("trb");
	open.onupgradeneeded = () => open.transaction.abort(); // this page has made it
	open.onerror = done;
	open.onsuccess = () => {
		const look = () => {
			const all = open.result.transaction("events").objectStore("events").getAllKeys();
			all.onsuccess = () => (all.result.length ? setTimeout(look, 20) : (open.result.close(), done()));
		};
		look();
	};
})`
