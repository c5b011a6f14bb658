//go:build unix && !linux

package child

import "syscall"

// dieWithParent does nothing: this kernel cannot end a child with its parent.
// After a SIGKILL of the parent the child runs on, and the next start reports it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
