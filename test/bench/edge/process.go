package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/bench/procstat"
)

// process is a server or broker that this program started from itself.
type process struct {
	command *exec.Cmd
	stdin   io.Closer // its end tells the process to stop
	addr    string
}

// start runs this program in a role and waits for the address that it prints.
func (o options) start(ctx context.Context, role, broker string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	//nolint:gosec // this program itself
	command := exec.CommandContext(ctx, program, "-serve", role, "-broker", broker, "-profile", o.profile)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not start: %w", role, err)
	}
	p.addr = strings.TrimSpace(line)
	return p, nil
}

func (p *process) stop() {
	_ = p.stdin.Close()
	_ = p.command.Wait() // its own words are on stderr
}

// cpu is the process's CPU time so far: user and system.
func (p *process) cpu() (time.Duration, error) { return procstat.CPU(p.command.Process.Pid) }

// memory is the process's share of the machine's memory, in bytes (PSS).
func (p *process) memory() (int, error) { return procstat.PSS(p.command.Process.Pid) }

// counters are what perf(1) counts of a process.
type counters struct {
	user, kernel float64 // instructions
	switches     float64 // of context
}

// count begins to count. The function that it returns ends that.
func (p *process) count(ctx context.Context) func() (counters, error) {
	var out bytes.Buffer
	//nolint:gosec // a process of our own
	perf := exec.CommandContext(ctx, "perf", "stat", "-x", ",", "-e", "instructions:u,instructions:k,context-switches", "-p",
		strconv.Itoa(p.command.Process.Pid))
	perf.Stderr = &out
	err := perf.Start()
	time.Sleep(200 * time.Millisecond) // it attaches meanwhile; what it misses of seconds does not matter
	return func() (counters, error) {
		if err != nil {
			return counters{}, err
		}
		_ = perf.Process.Signal(os.Interrupt)
		_ = perf.Wait()
		var c counters
		into := []*float64{&c.user, &c.kernel, &c.switches}
		for line := range strings.Lines(out.String()) {
			if n, err := strconv.ParseFloat(strings.Split(line, ",")[0], 64); err == nil && len(into) > 0 {
				*into[0], into = n, into[1:]
			}
		}
		return c, nil
	}
}
