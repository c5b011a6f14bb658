package prove

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine describes this machine in words: processors, memory, kernel, and how
// busy it is with other things.
func Machine() string {
	words := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if model := procValue("/proc/cpuinfo", "model name"); model != "" {
		words[0] += " (" + model + ")"
	}
	if total := procValue("/proc/meminfo", "MemTotal"); total != "" {
		var kilobytes int
		if _, err := fmt.Sscan(total, &kilobytes); err == nil {
			words = append(words, fmt.Sprintf("%d GB", (kilobytes+1<<19)>>20))
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		numbers := strings.SplitN(string(text), ".", 3)
		words = append(words, "Linux "+strings.Join(numbers[:min(2, len(numbers))], "."))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		words = append(words, "load "+strings.Fields(string(text))[0])
	}
	return strings.Join(words, ", ")
}

// procValue is the first value of a name in a file of lines "name: value".
func procValue(file, name string) string {
	text, err := os.ReadFile(file) //nolint:gosec // of /proc
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Commit names the checkout's commit, and says if it has changes beside those of
// the files named.
func Commit(ctx context.Context, but ...string) string {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	args := []string{"status", "--porcelain", "--", "."}
	for _, file := range but {
		args = append(args, ":(exclude)"+file)
	}
	changes, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil || len(changes) > 0 {
		return strings.TrimSpace(string(hash)) + " and changes"
	}
	return strings.TrimSpace(string(hash))
}
