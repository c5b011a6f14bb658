package devstack

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a process that dies with us, even by SIGKILL.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has been waited for
	err  error         // of Wait; read it after done
}

// startChild starts cmd in a process group of its own, so that a Ctrl-C meant
// for us does not reach it first, and has the kernel send it `orphaned` when
// we die. That signal is tied to the OS thread that forked, not to the process:
// the goroutine stays locked to its thread until the child has ended.
func startChild(cmd *exec.Cmd, orphaned syscall.Signal) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr, orphaned)
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// stop sends each signal in turn, waiting up to patience after each, until the
// child has ended. A child that has ended already is left alone.
func (c *child) stop(patience time.Duration, signals ...os.Signal) {
	for _, signal := range signals {
		select {
		case <-c.done:
			return
		default:
		}
		_ = c.cmd.Process.Signal(signal) // fails only when it has just ended
		select {
		case <-c.done:
			return
		case <-time.After(patience):
		}
	}
	<-c.done
}
