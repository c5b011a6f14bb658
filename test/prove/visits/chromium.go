package visits

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/launcher/flags"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/test/prove"
)

// chromium is a headless Chromium.
type chromium struct {
	browser *rod.Browser
	kill    func()
}

// InChromium starts a headless Chromium on a profile's directory, each time on the same.
func InChromium(profile string) Opener {
	return func(ctx context.Context) (browser, error) {
		b, end, err := Browser(ctx, profile)
		if err != nil {
			return nil, err
		}
		return &chromium{b, end}, nil
	}
}

func (c *chromium) tab(ctx context.Context) (tab, error) {
	page, err := c.browser.Context(ctx).Page(proto.TargetCreateTarget{URL: "about:blank"})
	if err != nil {
		return nil, err
	}
	return &chromiumTab{page}, nil
}

// offline is not there: it is a setting of one page.
func (c *chromium) offline(context.Context, bool) error { return errors.ErrUnsupported }

func (c *chromium) end() { c.kill() }

type chromiumTab struct{ page *rod.Page }

func (t *chromiumTab) navigate(ctx context.Context, url string) error {
	return t.page.Context(ctx).Navigate(url)
}

func (t *chromiumTab) eval(ctx context.Context, function string) error {
	_, err := t.page.Context(ctx).Eval(function)
	return err
}

// leave waits for the other page's own load: that of the page that is left may come late.
func (t *chromiumTab) leave(ctx context.Context, script, url string) error {
	page := t.page.Context(ctx)
	there := false
	left := page.EachEvent(
		func(e *proto.PageFrameNavigated) { there = there || e.Frame.ParentID == "" && e.Frame.URL == url },
		func(*proto.PageLoadEventFired) bool { return there },
	)
	if _, err := page.Eval(`(url) => { `+script+`; location.href = url }`, url); err != nil {
		return err
	}
	left()
	return ctx.Err()
}

func (t *chromiumTab) close(ctx context.Context) error { return t.page.Context(ctx).Close() }

// crash waits until the event is stored, which it is in the next task, or for a new visitor
// once no other tab can make one too: what is only in a renderer's memory is lost with any program.
func crash(ctx context.Context, _ *run, t tab, visit int) error {
	page := t.(*chromiumTab).page.Context(ctx)
	if _, err := page.Eval(`(name) => new Promise((done) => {
		`+track(visit)+`;
		const look = () => (Object.values(localStorage).some((text) => text.includes(name)) ? setTimeout(done, 10) : setTimeout(look));
		look();
	})`, named(visit)); err != nil {
		return err
	}
	waiting := page.Timeout(150 * time.Millisecond) // it has no answer
	defer waiting.CancelTimeout()
	_ = proto.PageCrash{}.Call(waiting)
	return nil
}

// mirrored tracks an event and waits until IndexedDB has it.
func mirrored(ctx context.Context, _ *run, t tab, visit int) error {
	if err := t.eval(ctx, `() => { `+track(visit)+` }`); err != nil {
		return err
	}
	return t.eval(ctx, `() => new Promise((done) => {
		const look = async () => {
			const again = () => setTimeout(look, 20);
			if (!(await indexedDB.databases()).some((db) => db.name == "trb")) return again(); // to open it would make it
			const open = indexedDB.open("trb");
			open.onerror = again;
			open.onsuccess = () => {
				const all = open.result.transaction("events").objectStore("events").getAll();
				all.onsuccess = () => { open.result.close(); all.result.some((text) => text.includes("`+named(visit)+`")) ? done() : again() };
			};
		};
		look();
	})`)
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
