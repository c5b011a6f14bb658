package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/connect/platforms"
	"github.com/tributary-io/tributary/dev"
	"github.com/tributary-io/tributary/dev/child"
)

// fakeShops is the program that plays shops of platforms. It is no part of the product: only a checkout has it.
const fakeShops = "./test/fakes/fakeshop"

// startFakeShop builds and starts a fake shop of a platform, and leads requests for the platform to it. end stops it.
func startFakeShop(ctx context.Context, name string, config *dev.Config, settings *connect.Config) (end func(), err error) {
	if _, err := os.Stat(filepath.Join(fakeShops, "main.go")); err != nil {
		return nil, misuse(errors.New("--fake-shop needs a checkout of Tributary: run it where its go.mod is"))
	}
	_, port, err := net.SplitHostPort(config.AdminAddr)
	if err != nil || port == "0" {
		return nil, misuse(errors.New("--fake-shop needs a fixed port in --admin-addr: the platform's page leads back to it"))
	}
	directory, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	program := filepath.Join(directory, "fakeshop")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, fakeShops) //nolint:gosec // who runs dev names the directory
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("--fake-shop: building %s: %w", fakeShops, err)
	}
	args := []string{"-platform", name, "-listen", "127.0.0.1:7706", "-json", "-orders", "30",
		"-dev", filepath.Join(directory, "dev.json"), "-redirect", "http://" + config.AdminAddr + "/dashboard/shops/installed"}
	run := exec.Command(program, args...) //nolint:gosec,noctx // as above; end ends it
	run.Stderr = os.Stderr
	says, err := run.StdoutPipe()
	if err != nil {
		return nil, err
	}
	process, err := child.Start(run, syscall.SIGTERM)
	if err != nil {
		return nil, fmt.Errorf("--fake-shop: %w", err)
	}
	end = func() {
		_ = process.Signal(syscall.SIGTERM) // it may have ended
		<-process.Done()
	}
	var told struct {
		URL          string
		Hosts        []string
		Keys, Pasted map[string]string // by the platform's names, and by those of the page that connects a shop
	}
	line, err := bufio.NewReaderSize(says, 64<<10).ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &told)
	}
	if err != nil {
		end()
		return nil, misuse(fmt.Errorf("--fake-shop %s: it did not start: %w", name, err))
	}
	if settings.Options.Rewrite == nil {
		settings.Options.Rewrite = map[string]string{}
	}
	for _, host := range told.Hosts {
		settings.Options.Rewrite[host] = told.URL
	}
	if name == "nuvemshop" {
		settings.Apps = map[string]connect.App{name: {App: platform.App{ID: told.Keys["app_id"], Secret: told.Keys["client_secret"]}}}
	}
	config.Notices = true
	config.FakeShop = &dev.FakeShop{Platform: name, URL: told.URL, Keys: told.Pasted}
	return end, nil
}

func checkFakePlatform(name string) error {
	var names []string
	for _, p := range platforms.All() {
		names = append(names, p.Offer().Name)
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return misuse(fmt.Errorf("--fake-shop %q: want one of %s", name, strings.Join(names, ", ")))
}
