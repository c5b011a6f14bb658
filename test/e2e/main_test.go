package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

// The tributary under test, and the same with the race detector, of which each service is a process of its own. Both are built once for
// all tests of the package, which run them by binary and raced.
var plainFile, racedFile string

func binary() string { return built(plainFile) }
func raced() string  { return built(racedFile) }

var sources = sync.OnceValue(func() error { return devtest.Sources(filepath.Join("..", "..")) })

// built is a file that was built.
func built(file string) string {
	if err := sources(); err != nil {
		panic(err)
	}
	return file
}

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

func run(m *testing.M) (status int) {
	var err error
	if directory, err = makeDirectory(); err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	defer os.RemoveAll(directory)
	plainFile, racedFile = filepath.Join(directory, "tributary"), filepath.Join(directory, "tributary-race")
	if err := build(); err != nil {
		fmt.Println("e2e: build the binary:", err)
		return 1
	}
	status = m.Run()
	for _, shared := range []*sharedDev{&emptyDev, &demoDev} {
		if !shared.stop(status != 0) {
			status = 1
		}
	}
	return status
}

// build makes the binaries, and the browser's files first where they are missing.
func build() error {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "sdk-js", "dist", "manifest.json")); errors.Is(err, fs.ErrNotExist) {
		if err := command(root, "go", "run", "./sdk-js/build"); err != nil {
			return err
		}
	}
	if err := command(root, "go", "build", "-o", plainFile, "./cmd/tributary"); err != nil {
		return err
	}
	return command(root, "go", "build", "-race", "-o", racedFile, "./cmd/tributary")
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}
