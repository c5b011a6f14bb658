package devstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tributary-io/tributary/dev/filelock"
)

// What is downloaded: the binaries of zonkyio/embedded-postgres-binaries. No library
// that runs them is used: they would leave their server running when its parent is
// killed, and show no progress (docs/adr/0007).
const (
	PostgresVersion = "18.6.0"
	// postgresRepository is the Maven repository in which they are published.
	postgresRepository = "https://repo1.maven.org/maven2"
)

// archiveURL is where the archive for a platform is: in the configured repository,
// or in the one in which it is published.
func archiveURL(configured, platform string) string {
	from := postgresRepository
	if configured != "" {
		from = strings.TrimRight(configured, "/")
	}
	name := "embedded-postgres-binaries-" + platform
	return fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%s-%s.jar", from, name, PostgresVersion, name, PostgresVersion)
}

// Bounds of the download: the archives are 8 to 71 MB, at most 200 MB unpacked.
const (
	maxArchiveBytes = 128 << 20
	maxBinaryBytes  = 512 << 20
	downloadTimeout = 10 * time.Minute
)

// published pins what is published for PostgresVersion and one platform, both
// SHA-256 in hex: of the archive, and of the unpacked tree (see treeSHA256).
type published struct{ archive, tree string }

func publishedFor(platform string) (published, error) {
	switch platform {
	case "linux-amd64":
		return published{"008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
			"4662cf47a44e22e21c6a5ceb9a9189afb5eafed7d7dec89008088413a4bf4db7"}, nil
	case "linux-amd64-alpine":
		return published{"1568b3805c3a3b99b5f4f0d7f6cf16e2a39075462ed47a614bfbabd92508350d",
			"f014d96d5834d2ae621b99bbbb2979226019f18e641f3d86332c11fb0d610c3c"}, nil
	case "linux-arm64v8":
		return published{"5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be",
			"7222b9a5e9673f00033a8861fc78b2ae0f31f17120b14d35fd428d6bc4cf7053"}, nil
	case "darwin-arm64v8": // the tree is that of darwin-amd64: its programs are for both
		return published{"8f6ed6f38195b50a40712ada8b2a12060b6193c1a6977a6eb5cff053bb5a1b89",
			"f8f7604153192fbc6cf119c16973c4b1d47b50f529b1e608f7e0381edbfbb15d"}, nil
	case "darwin-amd64":
		return published{"690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9",
			"f8f7604153192fbc6cf119c16973c4b1d47b50f529b1e608f7e0381edbfbb15d"}, nil
	}
	return published{}, fmt.Errorf("no PostgreSQL %s binaries are known for %s: run the services against a PostgreSQL of your own",
		PostgresVersion, platform)
}

// platformName returns the archives' name of this machine's system.
func platformName() string {
	name := runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOARCH == "arm64" {
		name += "v8"
	}
	if _, err := os.Stat("/etc/alpine-release"); err == nil {
		name += "-alpine"
	}
	return name
}

// fetchPostgres makes sure that dir holds the published binaries. It downloads
// them where they are missing or are not the published ones, once for all
// processes of this machine.
func fetchPostgres(ctx context.Context, dir, configured string, progress func(string, int64, int64)) error {
	platform := platformName()
	want, err := publishedFor(platform)
	if err != nil {
		return err
	}
	if sum, err := treeSHA256(dir); err == nil && sum == want.tree {
		return nil
	}
	unlock, err := filelock.Wait(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if sum, err := treeSHA256(dir); err == nil && sum == want.tree { // another process was faster
		return nil
	}
	url := archiveURL(configured, platform)
	jar, err := download(ctx, url, func(done, total int64) {
		progress("downloading PostgreSQL "+PostgresVersion, done, total)
	})
	if err != nil {
		return fmt.Errorf("download PostgreSQL %s: %w", PostgresVersion, err)
	}
	if got := sha256.Sum256(jar); hex.EncodeToString(got[:]) != want.archive {
		return fmt.Errorf("download PostgreSQL %s: %s does not have the published SHA-256", PostgresVersion, url)
	}
	progress("unpacking PostgreSQL "+PostgresVersion, 0, 0)
	if err := replaceBinaries(dir, jar, want.tree); err != nil {
		return fmt.Errorf("unpack PostgreSQL %s: %w", PostgresVersion, err)
	}
	return nil
}

// replaceBinaries unpacks an archive beside dir and renames it to dir, so that
// dir is never half there.
func replaceBinaries(dir string, jar []byte, tree string) error {
	unpacked, err := os.MkdirTemp(filepath.Dir(dir), "unpack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unpacked)
	if err := unpackPostgres(jar, unpacked); err != nil {
		return err
	}
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return err
	}
	sum, err := treeSHA256(unpacked)
	if err != nil {
		return err
	}
	if sum != tree {
		return fmt.Errorf("the tree's SHA-256 is %s, want %s", sum, tree)
	}
	if err := os.RemoveAll(dir); err != nil { // an incomplete or a changed one
		return err
	}
	return os.Rename(unpacked, dir)
}

func download(ctx context.Context, url string, progress func(done, total int64)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	var body bytes.Buffer
	reader := io.LimitReader(response.Body, maxArchiveBytes+1)
	for {
		_, err := io.CopyN(&body, reader, 256<<10)
		progress(int64(body.Len()), response.ContentLength)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", url, err)
		}
	}
	if body.Len() > maxArchiveBytes {
		return nil, fmt.Errorf("GET %s: more than %d bytes", url, maxArchiveBytes)
	}
	return body.Bytes(), nil
}
