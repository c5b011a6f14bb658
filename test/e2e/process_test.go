package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// process is one running `tributary …`. Its output is kept for failures.
type process struct {
	cmd    *exec.Cmd
	output await.Buffer
	done   chan struct{}
	err    error // of Wait; read after done
}

// start runs the binary; it is stopped at the test's end if it still runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startProgram(t, binary(), nil, args...)
}

// startIn starts a service with the race detector, and with more environment, "NAME=value" each.
func startIn(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, raced(), env, args...)
}

func startProgram(t *testing.T, program string, env []string, args ...string) *process {
	t.Helper()
	p, err := launch(program, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(await.Long):
			t.Errorf("tributary %v did not stop within %v of SIGTERM", args, await.Long)
			p.signal(syscall.SIGKILL)
			<-p.done
		}
		if t.Failed() {
			t.Logf("output of tributary %v:\n%s", args, tail(p.output.String(), 8000))
		}
	})
	return p
}

// launch is startProgram without an end.
func launch(program string, env []string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "TRIBUTARY_SHUTDOWN_DELAY=0"), env...) // no balancer leads to it
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	// Its own group, so that Ctrl-C on the tests reaches it through us alone.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start tributary %v: %w", args, err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	return p, nil
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Signal(s)
	}
}

// kill sends SIGKILL and waits.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.done
}

// stop sends SIGINT, as Ctrl-C does, and waits. The exit status must be 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(syscall.SIGINT)
	select {
	case <-p.done:
	case <-time.After(await.Long):
		t.Fatalf("did not stop within %v of SIGINT", await.Long)
	}
	if p.err != nil {
		t.Fatalf("stopped with %v, want exit status 0", p.err)
	}
}

// runToEnd runs the binary to its end and gives its output and exit status.
func runToEnd(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	return finish(t, exec.CommandContext(ctx, binary(), args...))
}

func finish(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out), 0
}

// devInfo is dev.json (docs/wire.md, "dev.json").
type devInfo struct {
	EdgeURL           string `json:"edge_url"`
	AdminURL          string `json:"admin_url"`
	SandboxURL        string `json:"sandbox_url"`
	ShortURL          string `json:"short_url"`
	DashboardURL      string `json:"dashboard_url"`
	StorefrontURL     string `json:"storefront_url"`
	CompanyID         string `json:"company_id"`
	SandboxCompanyID  string `json:"sandbox_company_id"`
	APIKey            string `json:"api_key"`
	SandboxAPIKey     string `json:"sandbox_api_key"`
	DashboardEmail    string `json:"dashboard_email"`
	DashboardPassword string `json:"dashboard_password"`
	Kafka             string `json:"kafka"`
	Postgres          string `json:"postgres"`
}

// dev is a running `tributary dev` on a data directory of its own.
type dev struct {
	*process
	devInfo
	dir string
}

// dataDir returns a directory that an unprivileged PostgreSQL can reach: t.TempDir
// is inside of a private one.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "data")
}

// startDev runs `tributary dev` on free ports and waits until all is ready.
func startDev(t *testing.T, dir string, args ...string) *dev {
	t.Helper()
	_ = os.Remove(filepath.Join(dir, "dev.json")) // of an earlier start: dev writes it when it is ready
	return start(t, devArguments(dir, args...)...).ready(t, dir)
}

// devArguments are those of `tributary dev` on free ports.
func devArguments(dir string, more ...string) []string {
	return append([]string{"dev", "--data", dir,
		"--edge-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--storefront-addr", "127.0.0.1:0"}, more...)
}

// ready waits until a started `tributary dev` is ready.
func (p *process) ready(t *testing.T, dir string) *dev {
	t.Helper()
	file := filepath.Join(dir, "dev.json")
	d := &dev{process: p, dir: dir}
	await.Until(t, 10*time.Minute, func() bool { // a first start downloads PostgreSQL
		text, err := os.ReadFile(file)
		if err == nil {
			if err := json.Unmarshal(text, &d.devInfo); err != nil {
				t.Fatalf("dev.json: %v", err)
			}
			return true
		}
		select {
		case <-p.done:
			t.Fatalf("tributary dev ended before it was ready: %v\n%s", p.err, tail(p.output.String(), 8000))
		default:
		}
		return false
	}, func() string { return "tributary dev is ready\n" + tail(p.output.String(), 8000) })
	return d
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("… %s", s[len(s)-n:])
}
