package devtest

import (
	"os"
	"syscall"
	"testing"
)

// NeedsIntegration leaves a test that starts real servers out of `go test
// -short`, loudly. Under CI=true nothing may be left out: there -short fails.
func NeedsIntegration(t testing.TB) {
	t.Helper()
	if !testing.Short() {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("devtest: an integration test was run with -short under CI=true, where nothing may be left out")
	}
	t.Skip("devtest: LEFT OUT by -short: this test starts real servers; `make test` runs it")
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
