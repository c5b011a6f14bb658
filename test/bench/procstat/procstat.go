// Package procstat reads from Linux's /proc what processes cost. The benchmarks use it.
//
// What may enter: readings of a process by its id. Nothing that measures.
package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is USER_HZ, the unit of times in /proc, which is 100 on every Linux
// that Go runs on (proc(5), sysconf(3)).
const ticks = 100

// stat is what /proc/<pid>/stat says.
type stat struct {
	parent int
	own    time.Duration // user and system, of the process
	waited time.Duration // … of its children that have ended and were waited for
}

func read(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// proc(5): after the name in brackets, the parent is the 2nd, utime, stime,
	// cutime and cstime are the 12th to 15th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return stat{}, errors.New("/proc/…/stat is too short")
	}
	var numbers [5]int
	for i, field := range append(fields[1:2:2], fields[11:15]...) {
		if numbers[i], err = strconv.Atoi(field); err != nil {
			return stat{}, err
		}
	}
	duration := func(n int) time.Duration { return time.Duration(n) * time.Second / ticks }
	return stat{numbers[0], duration(numbers[1] + numbers[2]), duration(numbers[3] + numbers[4])}, nil
}

// CPU is a process's CPU time so far: user and system, in hundredths of a second.
func CPU(pid int) (time.Duration, error) {
	s, err := read(pid)
	return s.own, err
}

// TreeCPU is the CPU time so far of a process and of its children, those that have
// ended included. It does not look at children's children.
func TreeCPU(pid int) (time.Duration, error) {
	root, err := read(pid)
	if err != nil {
		return 0, err
	}
	sum := root.own + root.waited
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		child, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if s, err := read(child); err == nil && s.parent == pid { // else it has ended meanwhile
			sum += s.own + s.waited
		}
	}
	return sum, nil
}

// PSS is a process's share of the machine's memory, in bytes.
func PSS(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" {
			kilobytes, err := strconv.Atoi(fields[1])
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("/proc/…/smaps_rollup names no Pss")
}

// PeakRSS is the most memory that a process has had, in bytes.
func PeakRSS(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.Atoi(fields[1])
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("/proc/…/status names no VmHWM")
}
