package devstack

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// processesIn reports whether a running process has dir as its working
// directory, as every process of a PostgreSQL server has its data directory. pid
// is the server's own.
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

// living reports whether a process exists and is not a zombie.
func living(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// "pid (name) state …": the name may contain brackets, so the last one counts.
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	fields := bytes.Fields(after)
	return len(fields) > 0 && !bytes.Equal(fields[0], []byte("Z")) && !bytes.Equal(fields[0], []byte("X"))
}
