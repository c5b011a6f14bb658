// Package visits is the browser SDK's part of `make prove`: pages of a shop that are left,
// closed, crashed and killed right after an event, in a real Chromium. Each event must
// arrive, and hardly any twice.
//
// What may enter: a collector that takes events as the edge does, a shop, and the ways in
// which a visit ends. The tests of sdk-js run a short form.
package visits

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/launcher/flags"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/internal/prove"
)

// Kind is a way in which a visit ends.
type Kind struct {
	Name, Title string
	kills       bool // the whole browser
	end         func(r *run, page *rod.Page, name string) error
}

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{
		{Name: "same-site", Title: "a link to another page of the shop", end: navigate("/next")},
		{Name: "cross-site", Title: "a link to another site", end: navigate("elsewhere")},
		{Name: "close", Title: "the tab is closed", end: closeTab},
		{Name: "crash", Title: "the renderer crashes", end: crash},
		{Name: "kill", Title: "the browser is killed (SIGKILL) once the mirror is written", end: mirrored, kills: true},
	}
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
	profile   string
	browser   *rod.Browser
	end       func() // kills the browser
	shop      string // its URL
	elsewhere string // another site's
}

// Do makes n visits that end in one way. dist has a build of sdk-js; profile is an empty
// directory for the browser.
func Do(ctx context.Context, kind Kind, n int, dist, profile string) (o Outcome, err error) {
	r := &run{profile: profile, collector: newCollector(dist)}
	defer r.collector.close()
	r.shop, r.elsewhere = r.collector.shop()
	if err := r.open(ctx); err != nil {
		return o, err
	}
	defer func() { r.end() }()
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
			r.end()
			if err := r.open(ctx); err != nil {
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

// track takes an event of this name, a JavaScript text.
func track(name string) string { return `tributary.track(` + name + `, {text: "é".repeat(40)})` }

// visit opens a tab and ends it right after an event.
func (r *run) visit(ctx context.Context, kind Kind, i int) error {
	page, err := r.tab(ctx, "/")
	if err != nil {
		return err
	}
	if err := kind.end(r, page, fmt.Sprintf(`"VISIT_%d"`, i)); err != nil {
		return err
	}
	if kind.kills {
		return nil // the tab stays until the browser is killed
	}
	_ = page.Close() // where the way of the visit has left one
	return nil
}

// tab opens a page in which the SDK has started.
func (r *run) tab(ctx context.Context, path string) (*rod.Page, error) {
	page, err := r.browser.Page(proto.TargetCreateTarget{URL: "about:blank"})
	if err != nil {
		return nil, err
	}
	page = page.Context(ctx).Timeout(patience)
	if err := page.Navigate(r.shop + path); err != nil {
		return nil, err
	}
	_, err = page.Eval(`() => new Promise((done) => {
		const look = () => (window.tributary && tributary.loaded ? done() : setTimeout(look, 2));
		look();
	})`)
	return page, err
}

func navigate(to string) func(*run, *rod.Page, string) error {
	return func(r *run, page *rod.Page, name string) error {
		url := r.shop + to
		if to == "elsewhere" {
			url = r.elsewhere
		}
		left := page.WaitEvent(&proto.PageLoadEventFired{}) // the page that is left gets its turn before that
		if _, err := page.Eval(`(url) => { `+track(name)+`; location.href = url }`, url); err != nil {
			return err
		}
		left()
		return nil
	}
}

// closeTab closes the tab in the same task as the event.
func closeTab(_ *run, page *rod.Page, name string) error {
	if _, err := page.Eval(`() => { ` + track(name) + ` }`); err != nil {
		return err
	}
	return page.Close()
}

// crash waits until the event is stored, which it is in the next task, or for a new visitor
// once no other tab can make one too: what is only in a renderer's memory is lost with any program.
func crash(_ *run, page *rod.Page, name string) error {
	if _, err := page.Eval(`(name) => new Promise((done) => {
		`+track(name)+`;
		const look = () => (Object.values(localStorage).some((text) => text.includes(name)) ? setTimeout(done, 10) : setTimeout(look));
		look();
	})`, strings.Trim(name, `"`)); err != nil {
		return err
	}
	waiting := page.Timeout(150 * time.Millisecond) // it has no answer
	defer waiting.CancelTimeout()
	_ = proto.PageCrash{}.Call(waiting)
	return nil
}

// mirrored tracks an event and waits until IndexedDB has it.
func mirrored(_ *run, page *rod.Page, name string) error {
	if _, err := page.Eval(`() => { ` + track(name) + ` }`); err != nil {
		return err
	}
	_, err := page.Eval(`(name) => new Promise((done) => {
		const look = async () => {
			const again = () => setTimeout(look, 20);
			if (!(await indexedDB.databases()).some((db) => db.name == "trb")) return again(); // to open it would make it
			const open = indexedDB.open("trb");
			open.onerror = again;
			open.onsuccess = () => {
				const all = open.result.transaction("events").objectStore("events").getAll();
				all.onsuccess = () => { open.result.close(); all.result.some((text) => text.includes(name)) ? done() : again() };
			};
		};
		look();
	})`, name)
	return err
}

// settle opens a page that stays until it has sent all that others left.
func (r *run) settle(ctx context.Context) error {
	page, err := r.tab(ctx, "/stay")
	if err != nil {
		return err
	}
	defer func() { _ = page.Close() }()
	return page.Wait(rod.Eval(`() => performance.now() > 4000 && !Object.keys(localStorage).some((key) => key.startsWith("trb:"))`))
}

// open starts the browser on the run's profile.
func (r *run) open(ctx context.Context) (err error) {
	r.browser, r.end, err = Browser(ctx, r.profile)
	return err
}

// Browser starts a headless Chromium on a profile's directory. end kills it (SIGKILL), and
// returns when it is gone.
func Browser(ctx context.Context, profile string) (browser *rod.Browser, end func(), err error) {
	bin := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			bin = path
			break
		}
	}
	if bin == "" {
		return nil, nil, fmt.Errorf("%w: no Chromium", prove.ErrNotHere)
	}
	start := launcher.New().Context(ctx).Bin(bin).Leakless(false).NoSandbox(true).UserDataDir(profile).
		Set("headless", "new").Set("disable-gpu").Set("disable-quic").Set("no-first-run").Set("hide-crash-restore-bubble").
		Set("disable-background-networking").Set("disable-component-update").Set("disable-sync").
		Delete(flags.Flag("enable-automation"))
	control, err := start.Launch()
	if err != nil {
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	end = func() { kill(start.PID()) }
	browser = rod.New().Context(ctx).ControlURL(control).NoDefaultDevice()
	if err := browser.Connect(); err != nil {
		end()
		return nil, nil, fmt.Errorf("connect to Chromium: %w", err)
	}
	return browser, end, nil
}

// kill ends a browser at once, and waits until it is gone. (Launcher.Kill waits a second
// before it does anything.)
func kill(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // its process group; an error says that it is gone
	for range 1000 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
