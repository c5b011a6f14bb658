package devstack

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// processesIn tells whether a living process works in dir, as every process of
// a PostgreSQL server does in its data directory; pid is the server's own.
func processesIn(dir string, pid int) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return living(pid)
	}
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A zombie has no working directory: the link cannot be read.
		if cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd")); err == nil && cwd == dir && living(id) {
			return true
		}
	}
	return false
}

// living tells whether a process exists and is no zombie.
func living(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// "pid (name) state …": the name may hold anything, so look behind its last bracket.
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	fields := bytes.Fields(after)
	return len(fields) > 0 && !bytes.Equal(fields[0], []byte("Z")) && !bytes.Equal(fields[0], []byte("X"))
}
