package webdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-rod/rod/lib/cdp"
)

// quiet keeps Firefox from asking for anything of its own: updates, lists, experiments.
const quiet = `user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("app.update.disabledForTesting", true);
user_pref("nimbus.rollouts.enabled", false);
user_pref("messaging-system.rsexperimentloader.enabled", false);
user_pref("services.settings.server", "data:,#");
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("browser.topsites.contile.enabled", false);
user_pref("dom.push.connection.enabled", false);
`

// firefox is a Firefox that is driven over one web socket.
type firefox struct {
	process *process
	socket  *cdp.WebSocket
	calls   atomic.Int64
	read    chan struct{} // closed when nothing more comes

	mu      sync.Mutex
	waiting map[int64]chan answer
}

type answer struct {
	Type    string
	ID      int64
	Result  json.RawMessage
	Error   string
	Message string
}

// Firefox starts a headless Firefox with an empty profile in dir. private: all of its windows are
// private ones.
func Firefox(ctx context.Context, dir string, private bool) (_ Browser, err error) {
	prefs := quiet
	if private {
		prefs += `user_pref("browser.privatebrowsing.autostart", true);` + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "user.js"), []byte(prefs), 0o600); err != nil {
		return nil, fmt.Errorf("webdriver: profile: %w", err)
	}
	address := make(chan string, 1)
	line := func(text string) {
		if _, at, found := strings.Cut(text, "WebDriver BiDi listening on "); found {
			select {
			case address <- at:
			default:
			}
		}
	}
	process, err := start(line, nil, nil, "firefox-esr", "--headless", "--no-remote", "--profile", dir,
		"--remote-debugging-port", "0", "about:blank")
	if errors.Is(err, ErrNotHere) {
		process, err = start(line, nil, nil, "firefox", "--headless", "--no-remote", "--profile", dir,
			"--remote-debugging-port", "0", "about:blank")
	}
	if err != nil {
		return nil, err
	}
	f := &firefox{process: process, socket: &cdp.WebSocket{}, read: make(chan struct{}), waiting: map[int64]chan answer{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, process.stop())
		}
	}()
	at, err := await(ctx, process, address)
	if err != nil {
		return nil, err
	}
	if err := f.socket.Connect(ctx, at+"/session", nil); err != nil {
		return nil, fmt.Errorf("webdriver: connect to Firefox: %w", err)
	}
	go f.receive()
	if err := f.call(ctx, "session.new", map[string]any{"capabilities": map[string]any{}}, nil); err != nil {
		return nil, err
	}
	return f, nil
}

// receive hands answers to those who wait for them, until the socket is closed.
func (f *firefox) receive() {
	defer close(f.read)
	for {
		text, err := f.socket.Read()
		if err != nil {
			return
		}
		var got answer
		if json.Unmarshal(text, &got) != nil || got.Type == "event" {
			continue
		}
		f.mu.Lock()
		waiting := f.waiting[got.ID]
		delete(f.waiting, got.ID)
		f.mu.Unlock()
		if waiting != nil {
			waiting <- got // it has room for one
		}
	}
}

// call sends a command and stores its result in into, unless that is nil.
func (f *firefox) call(ctx context.Context, method string, params map[string]any, into any) error {
	id := f.calls.Add(1)
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	waiting := make(chan answer, 1)
	f.mu.Lock()
	f.waiting[id] = waiting
	err = f.socket.Send(text)
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case got := <-waiting:
		if got.Type != "success" {
			return fmt.Errorf("%s: %s: %s", method, got.Error, got.Message)
		}
		if into != nil {
			return json.Unmarshal(got.Result, into)
		}
		return nil
	case <-f.read:
		return fmt.Errorf("%s: Firefox is gone: %s", method, f.process.said())
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

func (f *firefox) Tab(ctx context.Context) (*Tab, error) {
	var made struct{ Context string }
	if err := f.call(ctx, "browsingContext.create", map[string]any{"type": "tab"}, &made); err != nil {
		return nil, fmt.Errorf("webdriver: %w", err)
	}
	return &Tab{&firefoxTab{f, made.Context}}, nil
}

func (f *firefox) Offline(ctx context.Context, offline bool) error {
	var conditions any
	if offline {
		conditions = map[string]any{"type": "offline"}
	}
	if err := f.call(ctx, "emulation.setNetworkConditions", map[string]any{"networkConditions": conditions}, nil); err != nil {
		return fmt.Errorf("webdriver: %w", err)
	}
	return nil
}

func (f *firefox) Close() error {
	err := f.process.stop()
	_ = f.socket.Close() // the other end is gone
	<-f.read
	return err
}

type firefoxTab struct {
	firefox *firefox
	context string
}

func (t *firefoxTab) navigate(ctx context.Context, url string) error {
	return t.firefox.call(ctx, "browsingContext.navigate", map[string]any{"context": t.context, "url": url, "wait": "complete"}, nil)
}

func (t *firefoxTab) run(ctx context.Context, function string) (string, error) {
	var got struct {
		Type             string
		Result           struct{ Value string }
		ExceptionDetails struct{ Text string }
	}
	err := t.firefox.call(ctx, "script.callFunction", map[string]any{
		"functionDeclaration": function, "awaitPromise": true, "target": map[string]any{"context": t.context}, "userActivation": true,
	}, &got)
	if err == nil && got.Type != "success" {
		err = errors.New(got.ExceptionDetails.Text)
	}
	return got.Result.Value, err
}

func (t *firefoxTab) close(ctx context.Context) error {
	return t.firefox.call(ctx, "browsingContext.close", map[string]any{"context": t.context}, nil)
}
