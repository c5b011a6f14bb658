package webdriver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program with all that it starts, in a process group of their own.
type process struct {
	command *exec.Cmd
	ended   chan struct{}

	mu   sync.Mutex
	last []string // lines of its output
}

const keptLines = 20

// patience bounds every wait for a program of ours to start or end.
const patience = time.Minute

// start runs a program. Each line that it writes goes to line too, unless that is nil.
func start(line func(string), env []string, extra []*os.File, name string, args ...string) (*process, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("webdriver: %s: %w", name, ErrNotHere)
	}
	p := &process{command: exec.Command(path, args...), ended: make(chan struct{})} //nolint:noctx,gosec // ours; it ends by stop
	p.command.Env = append(os.Environ(), env...)
	p.command.ExtraFiles = extra
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.command.Stdout, p.command.Stderr = write, write
	if err := p.command.Start(); err != nil {
		_, _ = read.Close(), write.Close()
		return nil, fmt.Errorf("webdriver: start %s: %w", name, err)
	}
	_ = write.Close() // the child has its own
	go func() {
		defer close(p.ended)
		p.read(read, line)
		_ = p.command.Wait() // how it ends does not matter: it is killed
	}()
	return p, nil
}

// read keeps the last lines, until all of the group have ended.
func (p *process) read(from io.ReadCloser, line func(string)) {
	defer from.Close()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.last = append(p.last, lines.Text())
		p.last = p.last[max(0, len(p.last)-keptLines):]
		p.mu.Unlock()
		if line != nil {
			line(lines.Text())
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

// said returns the last lines of its output.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.last, "\n")
}

// stop asks the group to end (an X server removes its lock then), kills what is left, and waits until
// all of it is gone.
func (p *process) stop() error {
	pid := p.command.Process.Pid
	for _, end := range []struct {
		by   syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, 5 * time.Second}, {syscall.SIGKILL, patience}} {
		_ = syscall.Kill(-pid, end.by) // an error says that it is gone
		select {
		case <-p.ended:
			return nil
		case <-time.After(end.wait):
		}
	}
	return fmt.Errorf("webdriver: process %d does not end", pid)
}

// await waits for what a program says once it has started.
func await[T any](ctx context.Context, p *process, from <-chan T) (said T, err error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case said = <-from:
		return said, nil
	case <-p.ended:
		return said, fmt.Errorf("webdriver: %s ended: %s", p.command.Path, p.said())
	case <-late.C:
		return said, fmt.Errorf("webdriver: %s has not started within %v: %s", p.command.Path, patience, p.said())
	case <-ctx.Done():
		return said, ctx.Err()
	}
}
