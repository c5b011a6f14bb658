package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/dev/demo"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
)

func TestDevFindsItsSecretsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.json")
	first, err := openSecrets(path)
	if err != nil {
		t.Fatal(err)
	}
	first.APIKey = "kept"
	if err := first.save(); err != nil {
		t.Fatal(err)
	}
	second, err := openSecrets(path)
	if err != nil || second.Hashing != first.Hashing || second.APIKey != "kept" || len(first.Hashing) < 32 || second.made || !first.made {
		t.Errorf("second %+v after first %+v, %v", second, first, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSecrets(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: %v", err)
	}
}

func TestDevRefusesATakenPortAndASecondStart(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	addr := taken.Listener.Addr().String()
	dir := t.TempDir()
	started := Config{Dir: dir, EdgeAddr: "127.0.0.1:0", AdminAddr: addr, StorefrontAddr: "127.0.0.1:0", Out: io.Discard}
	services := Services{Listen: func(flag, addr string) (net.Listener, error) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			err = fmt.Errorf("--%s: %w", flag, err)
		}
		return l, err
	}}
	err := Run(t.Context(), started, services)
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "--admin-addr") {
		t.Errorf("taken port: %v", err)
	}
	p := program{Config: Config{Dir: dir}}
	unlock, err := p.lockDirectory()
	if err != nil {
		t.Fatalf("the failed start has not let go of its directory: %v", err)
	}
	defer unlock()
	if err := Run(t.Context(), started, services); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("second start: %v", err)
	}
}

func TestDevNamesTheDirectoryOfDataThatIsNotCarriedOver(t *testing.T) {
	p := program{Config: Config{Dir: "shop/data"}}
	p.services.Migrate = func(context.Context, string, kafka.Config, kafka.TopicPlan) error { return postgres.ErrFormer }
	if err := p.migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "shop/data has data of a version before 0.1.0") {
		t.Error(err)
	}
}

func TestDevJSONDoesNotOutliveDev(t *testing.T) {
	p := program{Config: Config{Dir: t.TempDir(), Out: io.Discard}}
	if err := writeJSON(p.infoFile(), p.info); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also where there is none
		if err := p.stop(context.Background(), nil); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.infoFile()); !os.IsNotExist(err) {
			t.Errorf("dev.json after the end: %v", err)
		}
	}
}

func TestDevPrintsWhatAShellNeeds(t *testing.T) {
	var out bytes.Buffer
	p := program{Config: Config{Out: &out}, secrets: &secrets{Hashing: "SECRET"},
		info: Info{EdgeURL: "http://e", AdminURL: "http://a/admin/v1", SandboxURL: "http://a/sandbox/admin/v1",
			CompanyID: "c_1", APIKey: "trb_1"}}
	p.print(demo.Sale{})
	before, curls, found := strings.Cut(out.String(), "\ncurl ")
	for _, want := range []string{"EDGE_URL=http://e", "ADMIN_URL=http://a/admin/v1", "SANDBOX_URL=http://a/sandbox/admin/v1",
		"COMPANY_ID=c_1", "API_KEY=trb_1", "TRIBUTARY_HASHING_SECRET=SECRET"} {
		if !strings.Contains(before, "\nexport "+want+"\n") {
			t.Errorf("no export of %s before the curl lines:\n%s", want, out.String())
		}
	}
	if !found || strings.Contains(curls, "$") {
		t.Errorf("the curl lines must work alone:\n%s", curls)
	}
}

// What a first start prints is printed again for a dev that runs, and for none other.
func TestDevShowsAgainWhatItPrinted(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := Show(t.Context(), Config{Dir: dir, Out: &out}); err == nil || !strings.Contains(err.Error(), "start it") {
		t.Errorf("of a dev that does not run: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "secrets.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking made secrets: %v", err)
	}
	p := program{Config: Config{Program: "bin/tributary", Dir: dir, Out: &out}, known: true,
		info: Info{EdgeURL: "http://e", AdminURL: "http://a/admin/v1", CompanyID: "c_1", APIKey: "trb_1"}}
	var err error
	if p.secrets, err = openSecrets(p.secretsFile()); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(p.infoFile(), p.info); err != nil {
		t.Fatal(err)
	}
	p.print(demo.Sale{})
	if short := out.String(); strings.Contains(short, "\ncurl ") || !strings.Contains(short, "\n  bin/tributary dev --show --data "+dir) {
		t.Errorf("a later start prints\n%s", short)
	}
	out.Reset()
	if err := Show(t.Context(), Config{Dir: dir, Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nexport API_KEY=trb_1\n", "\nexport TRIBUTARY_HASHING_SECRET=" + p.secrets.Hashing, "\ncurl "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
