package prove

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Tests runs tests of this project by `go test` with one more variable, "NAME=value". It returns how many of them passed,
// failed and were skipped, and the names of those that failed. That none ran is an error.
func Tests(ctx context.Context, timeout time.Duration, variable string, args ...string) (
	counts map[string]int, failed []string, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Minute)
	defer cancel()
	//nolint:gosec // arguments of our own
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-timeout=" + timeout.String()}, args...)...)
	command.Env = append(os.Environ(), variable)
	output, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // tests that fail are counted
		return nil, nil, err
	}
	counts = map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(output))
	for lines.Scan() {
		var line struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Test == "" {
			continue
		}
		counts[line.Action]++
		if line.Action == "fail" {
			failed = append(failed, line.Test)
		}
	}
	if err == nil && counts["pass"] == 0 {
		return nil, nil, fmt.Errorf("no test ran: %v", args)
	}
	if err != nil && len(failed) == 0 {
		failed = []string{fmt.Sprintf("%v: %v", args, err)}
	}
	return counts, failed, lines.Err()
}
