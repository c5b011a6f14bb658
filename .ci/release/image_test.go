package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// The image is unpacked and run as a container engine would: in a root folder that cannot be written to, as the
// image's user, with no rights and no other file of this machine (but qemu for arm64).
func TestTheImageRunsReadOnlyAsNobody(t *testing.T) {
	for _, b := range platforms {
		if b.os != "linux" {
			continue
		}
		img, err := tarball.ImageFromPath(found(t, "tributary_*_linux_"+b.arch+"_image.tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS != "linux" || config.Architecture != b.arch || config.Config.User != "65532:65532" ||
			config.Config.Labels["org.opencontainers.image.revision"] != thisRelease(t).commit {
			t.Errorf("%s: %+v", b.arch, config)
		}
		dir := filepath.Join(t.TempDir(), "image")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
		unpack.Stdin = mutate.Extract(img)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if read(t, filepath.Join(dir, "LICENSE")) != read(t, filepath.Join(root, "LICENSE")) {
			t.Error("the image has another license")
		}
		if text := read(t, filepath.Join(dir, others)); text == "" || text != read(t, filepath.Join(unpacked(t, b), others)) {
			t.Error("the image has not the licenses of others that the archive has")
		}
		roots := x509.NewCertPool()
		text := read(t, filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"))
		if !roots.AppendCertsFromPEM([]byte(text)) || roots.Equal(x509.NewCertPool()) {
			t.Error("the image has no certificates")
		}
		program := config.Config.Entrypoint
		if b.arch == "arm64" {
			qemu, err := exec.LookPath("qemu-aarch64-static")
			if err != nil {
				t.Fatal(err)
			}
			shell(t, "cp", qemu, filepath.Join(dir, "qemu"))
			program = append([]string{"/qemu"}, program...)
		}
		// Below a mount that allows no writing, where mounting is allowed here.
		shell(t, "mount", "--bind", dir, dir)
		defer shell(t, "umount", dir)
		shell(t, "mount", "-o", "remount,bind,ro", dir)
		if err := os.WriteFile(filepath.Join(dir, "written"), nil, 0o600); err == nil {
			t.Fatal("the folder can be written to")
		}
		inside := func(args ...string) *exec.Cmd {
			cmd := exec.Command(program[0], append(program[1:len(program):len(program)], args...)...)
			cmd.Env = append([]string{}, config.Config.Env...)
			cmd.Dir = config.Config.WorkingDir
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
			return cmd
		}
		if out, err := inside("--version").CombinedOutput(); err != nil || !strings.Contains(string(out), thisRelease(t).version) {
			t.Errorf("--version: %v\n%s", err, out)
		}
		healthy(t, "edge", func(addr string) *exec.Cmd {
			cmd := inside("edge")
			cmd.Env = append(cmd.Env, "TRIBUTARY_ADDR="+addr, "TRIBUTARY_KAFKA_BROKERS=127.0.0.1:1",
				"TRIBUTARY_HASHING_SECRET="+strings.Repeat("0123456789abcdef", 4))
			return cmd
		})
	}
}
