package kafkadist

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tributary-io/tributary/dev/filelock"
)

// Version of Apache Kafka, the same as in pom.xml.
const Version = "4.4.0"

//go:embed pom.xml
var pom []byte

// ErrNoTool is returned if java or mvn is missing.
var ErrNoTool = errors.New("a real Apache Kafka needs Java 17 and Maven (Debian: apt-get install openjdk-17-jre-headless maven)")

// fetch returns the directory of the broker's jars. Maven downloads them, about
// 120 MB, once for all processes of this machine.
func fetch(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("kafka artifacts: %w", err)
	}
	dir := filepath.Join(cache, "tributary", "kafka-"+Version)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("kafka artifacts: %w", err)
	}
	unlock, err := filelock.Wait(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("kafka artifacts: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("mvn: %w", ErrNoTool)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "kafka-")
	if err != nil {
		return "", fmt.Errorf("kafka artifacts: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), pom, 0o644); err != nil {
		return "", fmt.Errorf("kafka artifacts: %w", err)
	}
	jars := filepath.Join(work, "jars")
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", filepath.Join(work, "pom.xml"), "-Dkafka.version="+Version,
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+jars)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("kafka artifacts: mvn: %w: %s", err, tail(output))
	}
	return dir, os.Rename(jars, dir)
}

// tail returns the end of a program's output, for an error.
func tail(output []byte) []byte {
	output = bytes.TrimSpace(output)
	return output[max(0, len(output)-1000):]
}
