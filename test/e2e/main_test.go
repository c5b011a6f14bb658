package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the tributary under test, built once for all tests of the package.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		if os.Getenv("CI") == "true" {
			fmt.Println("e2e: CI must not run with -short: nothing would be tested end to end")
			os.Exit(1)
		}
		fmt.Println("e2e: left out by -short")
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tributary-e2e")
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "tributary")
	if err := build(); err != nil {
		fmt.Println("e2e: build the binary:", err)
		return 1
	}
	return m.Run()
}

// build makes the binary with the race detector, as CI's tests run, and the
// browser's files first where they are missing.
func build() error {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "sdk-js", "dist", "manifest.json")); errors.Is(err, fs.ErrNotExist) {
		if err := command(root, "go", "run", "./sdk-js/build"); err != nil {
			return err
		}
	}
	return command(root, "go", "build", "-race", "-o", binary, "./cmd/tributary")
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}
