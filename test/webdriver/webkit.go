package webdriver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// webkit is a WebKitGTK, its driver, and the X server that it needs.
type webkit struct {
	processes []*process // in the order of their start
	session   string     // its URL
	first     string     // the handle of the window that it has from the start
}

// WebKit starts a WebKitGTK with an empty profile, on an X server of its own.
func WebKit(ctx context.Context) (Browser, error) {
	w := &webkit{}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *webkit) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience) // the driver waits for ever for a browser that has ended
	defer cancel()
	display, err := w.screen(ctx)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	driver, err := start(nil,
		[]string{"DISPLAY=" + display, "GDK_BACKEND=x11", "LIBGL_ALWAYS_SOFTWARE=1", "WEBKIT_DISABLE_COMPOSITING_MODE=1", "NO_AT_BRIDGE=1"}, nil,
		"WebKitWebDriver", fmt.Sprintf("--port=%d", port))
	if err != nil {
		return err
	}
	w.processes = append(w.processes, driver)
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	if err := listening(ctx, driver, address); err != nil {
		return err
	}
	var made struct{ SessionID string }
	if err := command(ctx, http.MethodPost, address+"/session", map[string]any{"capabilities": map[string]any{
		"alwaysMatch": map[string]any{"pageLoadStrategy": "none"}, // else a new window's empty page is taken for the one it goes to
	}}, &made); err != nil {
		return fmt.Errorf("webdriver: start WebKitGTK: %w: %s", err, driver.said())
	}
	w.session = address + "/session/" + made.SessionID
	if err := command(ctx, http.MethodGet, w.session+"/window", nil, &w.first); err != nil {
		return err
	}
	// A script may wait for what comes over the network.
	return command(ctx, http.MethodPost, w.session+"/timeouts", map[string]any{"script": patience.Milliseconds()}, nil)
}

// screen starts an X server and returns its display.
func (w *webkit) screen(ctx context.Context) (string, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	server, err := start(nil, nil, []*os.File{write}, "Xvfb", "-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp")
	_ = write.Close() // the child has its own
	if err != nil {
		return "", err
	}
	w.processes = append(w.processes, server)
	display := make(chan string, 1)
	go func() { // ends with the pipe
		// The whole line: a server that cannot write the rest of it ends.
		if line, err := bufio.NewReader(read).ReadString('\n'); err == nil {
			display <- ":" + strings.TrimSpace(line)
		}
	}()
	return await(ctx, server, display)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// listening waits until the driver answers.
func listening(ctx context.Context, driver *process, address string) error {
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(ready)
		for ctx.Err() == nil && command(ctx, http.MethodGet, address+"/status", nil, nil) != nil {
			background.Sleep(ctx, 20*time.Millisecond)
		}
	}()
	_, err := await(ctx, driver, ready)
	return err
}

// command sends a command and stores the answer's value in into, unless that is nil.
func command(ctx context.Context, method, url string, params, into any) error {
	var body io.Reader
	if params != nil {
		text, err := json.Marshal(params)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var got struct{ Value json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, got.Value)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(got.Value, into)
}

// Tab opens a window: the driver opens tabs behind the one that is shown, where pages are hidden.
func (w *webkit) Tab(ctx context.Context) (*Tab, error) {
	if err := (&webkitTab{w.session, w.first}).in(ctx); err != nil { // the last tab may be closed
		return nil, fmt.Errorf("webdriver: %w", err)
	}
	var made struct{ Handle string }
	if err := command(ctx, http.MethodPost, w.session+"/window/new", map[string]any{"type": "window"}, &made); err != nil {
		return nil, fmt.Errorf("webdriver: %w", err)
	}
	return &Tab{&webkitTab{w.session, made.Handle}}, nil
}

// Offline is not there: WebDriver has no command for it.
func (w *webkit) Offline(context.Context, bool) error { return errors.ErrUnsupported }

func (w *webkit) Close() error {
	var all []error
	for i := len(w.processes) - 1; i >= 0; i-- {
		all = append(all, w.processes[i].stop())
	}
	return errors.Join(all...)
}

type webkitTab struct{ session, handle string }

// in makes the tab the one that commands are for.
func (t *webkitTab) in(ctx context.Context) error {
	return command(ctx, http.MethodPost, t.session+"/window", map[string]any{"handle": t.handle}, nil)
}

func (t *webkitTab) navigate(ctx context.Context, url string) error {
	if _, err := t.run(ctx, `async () => { window.leftByDriver = 1 }`); err != nil {
		return err
	}
	if err := command(ctx, http.MethodPost, t.session+"/url", map[string]any{"url": url}, nil); err != nil {
		return err
	}
	for {
		// A script that runs while the page changes fails: it is run again.
		done, err := t.run(ctx, `async () => "" + (!window.leftByDriver && location.href != "about:blank" && document.readyState == "complete")`)
		if done == "true" {
			return nil
		}
		if !background.Sleep(ctx, 10*time.Millisecond) {
			return errors.Join(err, ctx.Err())
		}
	}
}

func (t *webkitTab) run(ctx context.Context, function string) (string, error) {
	if err := t.in(ctx); err != nil {
		return "", err
	}
	script := `const done = arguments[0]; (` + function +
		`)().then((text) => done({text: text ?? ""}), (error) => done({error: String(error)}))`
	var got struct{ Text, Error string }
	if err := command(ctx, http.MethodPost, t.session+"/execute/async", map[string]any{"script": script, "args": []any{}}, &got); err != nil {
		return "", err
	}
	if got.Error != "" {
		return "", errors.New(got.Error)
	}
	return got.Text, nil
}

func (t *webkitTab) close(ctx context.Context) error {
	if err := t.in(ctx); err != nil {
		return err
	}
	return command(ctx, http.MethodDelete, t.session+"/window", nil, nil)
}
