package devtest

import (
	"os"
	"syscall"
	"testing"
)

// NeedsIntegration skips a test that starts real servers if it is run with
// -short, and says so. With CI=true no test may be skipped: there it fails.
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
