package edgefault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/kafkadist"
)

// edgeProcess is `tributary edge` as an operator runs it. It comes back to the
// same address, snapshot and spool.
type edgeProcess struct {
	binary, dir string
	addr        string
	brokers     []string
	spool       string // directory; empty: none
	process     *child.Process
}

// secret is the hashing secret of all edges here.
var secret = strings.Repeat("h", 48)

// patience bounds everything that is waited for; only what is broken takes so long.
const patience = 2 * time.Minute

func newEdgeProcess(binary, dir, spool string, brokers []string) (*edgeProcess, error) {
	addrs, err := kafkadist.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	return &edgeProcess{binary: binary, dir: dir, addr: addrs[0], brokers: brokers, spool: spool}, nil
}

func (e *edgeProcess) url() string { return "http://" + e.addr }

func (e *edgeProcess) snapshot() string { return filepath.Join(e.dir, "directory.json") }

// start starts the edge and returns once it takes events.
func (e *edgeProcess) start(ctx context.Context) error { return e.startUntil(ctx, "/readyz") }

// startUntil starts the edge and returns once a path is answered with 200.
func (e *edgeProcess) startUntil(ctx context.Context, path string) error {
	args := []string{
		"edge", "--addr", e.addr, "--kafka-brokers", strings.Join(e.brokers, ","), "--snapshot", e.snapshot(),
		"--network-events-per-second", "1e9", "--network-burst", "1000000000", // all clients share one network
	}
	if e.spool != "" {
		args = append(args, "--spool", e.spool)
	}
	output, err := os.OpenFile(e.output(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command(e.binary, args...) //nolint:gosec,noctx // the program to prove; package child ends it
	cmd.Env = append(os.Environ(), "TRIBUTARY_HASHING_SECRET="+secret, "TRIBUTARY_SHUTDOWN_DELAY=0")
	cmd.Stdout, cmd.Stderr = output, output
	if e.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	return until(ctx, "the edge answers "+path, func() (bool, error) {
		if err := e.alive(); err != nil {
			return false, err
		}
		_, err := e.get(ctx, path)
		return err == nil, nil
	})
}

// alive is an error if the edge ended by itself.
func (e *edgeProcess) alive() error {
	select {
	case <-e.process.Done():
		return fmt.Errorf("the edge ended by itself: %w", errors.Join(errEnded, e.process.Err()))
	default:
		return nil
	}
}

var errEnded = errors.New("unexpected end")

// kill ends the edge by SIGKILL.
func (e *edgeProcess) kill() error {
	if err := e.alive(); err != nil {
		return err
	}
	e.process.Stop(patience, syscall.SIGKILL)
	return nil
}

// terminate ends the edge by SIGTERM; it must end by itself, with status 0.
func (e *edgeProcess) terminate() error {
	if err := e.alive(); err != nil {
		return err
	}
	if err := e.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-e.process.Done():
		if err := e.process.Err(); err != nil {
			return fmt.Errorf("the edge ended at SIGTERM with %w, want exit status 0", err)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the edge did not end within %v of SIGTERM", patience)
	}
}

// end ends the process, if it runs, whatever came before.
func (e *edgeProcess) end() {
	if e.process != nil {
		e.process.Stop(patience, syscall.SIGKILL)
	}
}

func (e *edgeProcess) output() string { return filepath.Join(e.dir, "edge.log") }

// complaints are what no edge may write, whatever happens to it.
func (e *edgeProcess) complaints() (found []string, err error) {
	text, err := os.ReadFile(e.output())
	if err != nil {
		return nil, err
	}
	for _, word := range []string{"DATA RACE", "panic:", "fatal error:", "goroutine 1 ["} {
		if bytes.Contains(text, []byte(word)) {
			found = append(found, "the edge's output has "+word)
		}
	}
	return found, nil
}

// readiness is what is read of /readyz.
type readiness struct {
	Spool *struct {
		OldestAgeMs int64 `json:"oldest_age_ms"`
	} `json:"spool"`
}

// readiness asks /readyz; an error unless the edge is ready.
func (e *edgeProcess) readiness(ctx context.Context) (readiness, error) {
	var r readiness
	body, err := e.get(ctx, "/readyz")
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	return r, err
}

func (e *edgeProcess) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url()+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", path, response.StatusCode, body)
	}
	return body, nil
}

// until asks again and again until ok, for patience at most. An error of ok ends it.
func until(ctx context.Context, what string, ok func() (bool, error)) error {
	return await.Poll(ctx, what, 20*time.Millisecond, patience, ok)
}

// hold lets a state last for a time.
func hold(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
