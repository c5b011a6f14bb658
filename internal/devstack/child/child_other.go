//go:build unix && !linux

package child

import "syscall"

// dieWithParent does nothing where the kernel has no parent-death signal: a
// SIGKILL of the parent leaves the child, and the next start says so.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
