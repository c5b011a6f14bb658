// Package child runs processes that die with their parent.
//
// What may enter: starting, signalling and waiting. It knows no program by name.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a running child; it dies with us, even by SIGKILL.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts cmd in a process group of its own, so that a Ctrl-C meant for us
// does not reach it first, and has the kernel send it `orphaned` when we die.
// That signal is tied to the OS thread that forked, not to the process: the
// goroutine stays locked to its thread until the child has ended.
func Start(cmd *exec.Cmd, orphaned syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr, orphaned)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and has been waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended, as of exec.Cmd.Wait. Call it after Done.
func (p *Process) Err() error { return p.err }

// Stop sends each signal in turn, waiting up to patience after each, until the
// process has ended, and waits for that. One that has ended is left alone.
func (p *Process) Stop(patience time.Duration, signals ...os.Signal) {
	for _, signal := range signals {
		select {
		case <-p.done:
			return
		default:
		}
		_ = p.cmd.Process.Signal(signal) // fails only when it has just ended
		select {
		case <-p.done:
			return
		case <-time.After(patience):
		}
	}
	<-p.done
}
