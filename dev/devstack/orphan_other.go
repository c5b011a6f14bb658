//go:build unix && !linux

package devstack

import "syscall"

func processesIn(_ string, pid int) bool { return syscall.Kill(pid, 0) == nil }
