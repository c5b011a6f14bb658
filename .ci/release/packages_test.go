package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unit is the file of a service.
func unit(service string) string {
	return filepath.Join(root, "deploy", "systemd", "tributary-"+service+".service")
}

// found is the one file of dist that a pattern fits.
func found(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files[0]
}

// 2.0 of 10 is what systemd calls well protected: most services of a system have 9.
func TestTheUnitsAreSandboxed(t *testing.T) {
	for _, service := range services {
		shell(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", unit(service))
		// Go reads somaxconn there, the kernel's bound of connections that wait, and takes 128 where it cannot.
		if listens := service != "processor"; listens && strings.Contains(read(t, unit(service)), "\nProcSubset=pid") {
			t.Errorf("%s cannot read /proc/sys", service)
		}
	}
	weak := filepath.Join(t.TempDir(), "weak.service")
	text := strings.ReplaceAll(read(t, unit("edge")), "SystemCallFilter=", "#")
	text = strings.ReplaceAll(text, "CapabilityBoundingSet=", "#")
	if err := os.WriteFile(weak, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	analyze := exec.CommandContext(t.Context(),
		"systemd-analyze", "security", "--offline=true", "--threshold=20", weak)
	if out, err := analyze.CombinedOutput(); err == nil {
		t.Errorf("a unit with all capabilities and system calls passes:\n%s", out)
	}
}

// debian is a new folder with the smallest Debian. It is made once and kept in the user's cache folder.
func debian(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(cache, "tributary", "debian-bookworm.tar")
	dir := filepath.Join(t.TempDir(), "debian")
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		shell(t, "debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", dir)
		shell(t, "tar", "-c", "-f", kept+".new", "-C", dir, ".")
		if err := os.Rename(kept+".new", kept); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	shell(t, "tar", "-x", "-f", kept, "-C", dir)
	return dir
}

// The package is installed in a Debian of its own, and each unit's command is started there as its user with its
// settings: it runs until it is told to end, though neither Kafka nor PostgreSQL answers.
func TestTheDebRunsOnAnEmptyDebian(t *testing.T) {
	dir := debian(t)
	install := func() {
		t.Helper()
		shell(t, "cp", found(t, "*_amd64.deb"), filepath.Join(dir, "tributary.deb"))
		shell(t, "chroot", dir, "dpkg", "-i", "--force-confold", "/tributary.deb")
	}
	install()
	for path, want := range map[string]string{
		"/usr/bin/tributary":                             "755 root root",
		"/etc/tributary":                                 "750 root tributary",
		"/etc/tributary/postgres.env":                    "600 root root",
		"/etc/tributary/edge.env":                        "600 root root",
		"/usr/lib/systemd/system/tributary-edge.service": "644 root root",
	} {
		if got := strings.TrimSpace(shell(t, "chroot", dir, "stat", "-c", "%a %U %G", path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := shell(t, "chroot", dir, "/usr/bin/tributary", "--version"); !strings.Contains(got, thisRelease(t).version) {
		t.Errorf("--version: %s", got)
	}

	// What docs/operations.md tells a person to do: secrets are root's alone.
	_, secrets, _ := strings.Cut(read(t, filepath.Join(root, "docs", "operations.md")), "\napt install ./tributary_0.1.0-1_amd64.deb\n")
	secrets, _, _ = strings.Cut(secrets, "editor ")
	shell(t, "chroot", dir, "sh", "-c", "set -e\n"+secrets+`cd /etc/tributary
		echo TRIBUTARY_POSTGRES=postgres://trb@127.0.0.1:1/trb >> postgres.env
		echo TRIBUTARY_KAFKA_BROKERS=127.0.0.1:1 >> kafka.env
		echo TRIBUTARY_SHORT_BASE=collect.example.com/s >> admin.env
		echo TRIBUTARY_CONTACT=it@example.com >> connect.env
		tributary connect key create --connect-key-file connect.key
		tributary connect key rotate --connect-key-file connect.key
		install -d -o tributary-edge -g tributary -m 700 /var/lib/tributary/edge`) // systemd does the last by StateDirectory
	for _, secret := range []string{"hashing", "token", "connect.key"} {
		path := "/etc/tributary/" + secret
		if got := strings.TrimSpace(shell(t, "chroot", dir, "stat", "-c", "%a %U %G", path)); got != "600 root root" {
			t.Errorf("%s: %s, and others than root may read it", path, got)
		}
	}
	for _, service := range services {
		startUnit(t, dir, service)
	}

	// An upgrade leaves settings as they are.
	install()
	if got := read(t, filepath.Join(dir, "etc/tributary/admin.env")); !strings.Contains(got, "TRIBUTARY_SHORT_BASE=collect.example.com/s\n") {
		t.Errorf("after a second installation admin.env is\n%s", got)
	}
	shell(t, "chroot", dir, "dpkg", "-r", "tributary")
	if _, err := os.Stat(filepath.Join(dir, "usr/bin/tributary")); err == nil {
		t.Error("the program is still there after the package was removed")
	}
	if _, err := os.Stat(filepath.Join(dir, "etc/tributary/admin.env")); err != nil {
		t.Errorf("settings went with the program: %v", err)
	}
}

// startUnit does what systemd would do with a unit in the root folder dir.
func startUnit(t *testing.T, dir, service string) {
	t.Helper()
	text := read(t, filepath.Join(dir, "usr/lib/systemd/system/tributary-"+service+".service"))
	value := func(key string) (all []string) {
		for _, m := range regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	name := value("User")[0]
	if name != "tributary-"+service || value("Group")[0] != "tributary" {
		t.Errorf("%s runs as %s", service, name)
	}
	id := func(flag string) string { return strings.TrimSpace(shell(t, "chroot", dir, "id", flag, name)) }
	// The service's own copies of what only root may read.
	credentials := "/run/credentials/tributary-" + service + ".service"
	shell(t, "install", "-d", "-o", id("-u"), "-m", "500", filepath.Join(dir, credentials))
	for _, pair := range value("LoadCredential") {
		to, from, _ := strings.Cut(pair, ":")
		shell(t, "install", "-o", id("-u"), "-m", "400", filepath.Join(dir, from), filepath.Join(dir, credentials, to))
	}
	var env []string
	for _, pair := range value("Environment") {
		env = append(env, strings.ReplaceAll(pair, "%d", credentials))
	}
	for _, file := range value("EnvironmentFile") {
		for line := range strings.Lines(read(t, filepath.Join(dir, file))) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				setting, value, _ := strings.Cut(line, "=")
				env = append(env, setting+"="+strings.Trim(value, "'")) // as systemd and a shell read it
			}
		}
	}
	command := strings.Fields(value("ExecStart")[0])
	args := append([]string{dir, "setpriv", "--reuid", id("-u"), "--regid", id("-g"), "--clear-groups", "--no-new-privs",
		"--inh-caps=-all", "--bounding-set=-all"}, command...)
	healthy(t, service, func(addr string) *exec.Cmd {
		cmd := exec.Command("chroot", args...)
		cmd.Env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.Contains(e, "_ADDR=") })
		cmd.Env = append(cmd.Env, "TRIBUTARY_ADDR="+addr)
		return cmd
	})
}

// healthy starts a service, waits until it answers, and tells it to end.
func healthy(t *testing.T, service string, command func(addr string) *exec.Cmd) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	cmd := command(addr)
	cmd.Env = append(cmd.Env, "TRIBUTARY_SHUTDOWN_DELAY=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", service, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(2 * time.Minute)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		cancel()
		if err == nil && answer.StatusCode == http.StatusOK {
			break
		}
		select {
		case err := <-ended:
			t.Errorf("%s ended: %v\n%s", service, err, out.String())
			return
		case <-deadline:
			_ = cmd.Process.Kill()
			t.Errorf("%s did not answer, and was killed: %v\n%s", service, <-ended, out.String())
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	status := read(t, "/proc/"+strconv.Itoa(cmd.Process.Pid)+"/status")
	if !regexp.MustCompile(`(?m)^Uid:\t([1-9]\d*)\t`).MatchString(status) ||
		!regexp.MustCompile(`(?m)^CapEff:\t0+$`).MatchString(status) {
		t.Errorf("%s runs with rights of root:\n%s", service, status)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s, told to end: %v\n%s", service, err, out.String())
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Errorf("%s did not end, and was killed: %v\n%s", service, <-ended, out.String())
	}
}

// Both packages have the same files for both processors.
func TestDebAndRPMHaveTheSameFiles(t *testing.T) {
	for _, arch := range [][2]string{{"amd64", "x86_64"}, {"arm64", "aarch64"}} {
		deb, rpm := found(t, "*_"+arch[0]+".deb"), found(t, "*."+arch[1]+".rpm")
		var inDeb []string
		for line := range strings.Lines(shell(t, "dpkg-deb", "-c", deb)) {
			if words := strings.Fields(line); !strings.HasSuffix(words[5], "/") || words[5] == "./etc/tributary/" {
				inDeb = append(inDeb, strings.TrimSuffix(strings.TrimPrefix(words[5], "."), "/"))
			}
		}
		inRPM := strings.Fields(shell(t, "rpm", "-qlp", rpm))
		zsh := slices.Index(inRPM, zshFolder["rpm"]+"_tributary")
		if zsh < 0 {
			t.Fatalf("the rpm has no completion for zsh: %v", inRPM)
		}
		inRPM[zsh] = zshFolder["deb"] + "_tributary" // the one file that has another place
		slices.Sort(inDeb)
		slices.Sort(inRPM)
		for _, want := range []string{"/usr/share/man/man1/tributary.1.gz", "/usr/share/man/man1/tributary-company-create.1.gz",
			"/usr/share/bash-completion/completions/tributary", "/usr/share/fish/vendor_completions.d/tributary.fish",
			"/usr/share/doc/tributary/" + others} {
			if !slices.Contains(inDeb, want) {
				t.Errorf("%s is missing", want)
			}
		}
		if !slices.Equal(inDeb, inRPM) || len(inDeb) < 60 {
			t.Errorf("%s: the deb has\n%v\nthe rpm\n%v", arch[0], inDeb, inRPM)
		}
		var settings []string
		for _, name := range settingsFiles {
			settings = append(settings, "/etc/tributary/"+name)
		}
		slices.Sort(settings)
		for what, got := range map[string]string{
			"the deb": shell(t, "dpkg-deb", "-I", deb, "conffiles"), "the rpm": shell(t, "rpm", "-qcp", rpm),
		} {
			list := strings.Fields(got)
			slices.Sort(list)
			if !slices.Equal(list, settings) {
				t.Errorf("settings of %s: %v", what, list)
			}
		}
		shell(t, "rpm", "-K", "--nosignature", rpm)
		if got := shell(t, "dpkg-deb", "-f", deb, "Architecture"); strings.TrimSpace(got) != arch[0] {
			t.Errorf("%s is for %s", deb, got)
		}
	}
	dir := t.TempDir()
	shell(t, "rpm", "--root", dir, "--dbpath", "/rpmdb", "-i", "--nodeps", "--noscripts", found(t, "*.x86_64.rpm"))
	if got := shell(t, filepath.Join(dir, "usr/bin/tributary"), "--version"); !strings.Contains(got, thisRelease(t).version) {
		t.Errorf("of the rpm: %s", got)
	}
	// Settings stay at an upgrade: config (c) and noreplace (n).
	flags := strings.Fields(shell(t, "rpm", "-qp", "--qf", "[%{FILEFLAGS:fflags}\\n]", found(t, "*.x86_64.rpm")))
	if len(flags) != len(settingsFiles) || slices.ContainsFunc(flags, func(f string) bool { return f != "cn" }) {
		t.Errorf("flags of the rpm's settings: %v", flags)
	}
}
