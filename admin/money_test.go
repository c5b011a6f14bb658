package admin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Floats are for rates of requests and metrics; money never meets one.
var floatFiles = map[string]bool{"ratelimit.go": true, "metrics.go": true, "relay.go": true}

func TestNoFloatIsOnTheWayOfMoney(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"*.go", "../internal/commerce/*.go", "../internal/wire/commerce.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || floatFiles[filepath.Base(file)] {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			for _, word := range []string{"float64", "float32", "ParseFloat", "InexactFloat"} {
				if strings.Contains(string(source), word) {
					t.Errorf("%s uses %s", file, word)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d files were checked", checked)
	}
}
