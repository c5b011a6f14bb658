// Package child runs processes that end when their parent ends.
//
// What may enter: starting, signals and waiting. No program's name.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a running child. It ends when we end, also by SIGKILL.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts cmd in a process group of its own, so that the terminal's Ctrl-C
// reaches only us. The kernel sends it the signal orphaned when we end. It does
// so already when the thread ends that started cmd: therefore the goroutine
// stays locked to its thread until the child has ended.
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

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and has been waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended, as exec.Cmd.Wait does. Call it after Done.
func (p *Process) Err() error { return p.err }

// Signal sends one signal, and does not wait. It is an error if the process has
// ended.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Stop sends the signals one after the other, each after waiting for patience at
// most, until the process has ended. It returns when the process has ended.
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
