package devstack

import (
	"archive/tar"
	"archive/zip"
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
	"reflect"
	"runtime"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
	"github.com/xi2/xz"
)

// PostgresVersion is the server's version. The binaries are those that
// fergusstrange/embedded-postgres runs (zonkyio/embedded-postgres-binaries),
// fetched here because that library leaves its server running when its owner
// is killed, and shows no progress.
const PostgresVersion = "18.6.0"

// repository is where that library fetches from. It has no accessor for it, and
// a second copy of the address here would be one to keep up to date.
func repository() (string, error) {
	url := reflect.ValueOf(embeddedpostgres.DefaultConfig()).FieldByName("binaryRepositoryURL")
	if !url.IsValid() || url.String() == "" {
		return "", errors.New("embedded-postgres no longer says where its binaries are")
	}
	return url.String(), nil
}

// Bounds of the download: the archives are 8 to 20 MB, 60 MB unpacked.
const (
	maxArchiveBytes = 64 << 20
	maxBinaryBytes  = 512 << 20
	downloadTimeout = 10 * time.Minute
)

// archiveSHA256 pins the archives published for PostgresVersion.
func archiveSHA256(platform string) (string, error) {
	switch platform {
	case "linux-amd64":
		return "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1", nil
	case "linux-amd64-alpine":
		return "1568b3805c3a3b99b5f4f0d7f6cf16e2a39075462ed47a614bfbabd92508350d", nil
	case "darwin-amd64":
		return "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9", nil
	}
	return "", fmt.Errorf("no PostgreSQL %s binaries are known for %s: run the services against a PostgreSQL of your own", PostgresVersion, platform)
}

// platformName names this machine as the archives do.
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

// binariesDir is where the unpacked binaries are kept: the user's cache, else,
// when the server's account cannot reach that (a 0700 home), the system's.
func binariesDir(who account) (string, error) {
	var candidates []string
	if cache, err := os.UserCacheDir(); err == nil {
		candidates = append(candidates, filepath.Join(cache, "tributary"))
	}
	candidates = append(candidates, "/var/cache/tributary",
		filepath.Join(os.TempDir(), fmt.Sprintf("tributary-cache-%d", os.Geteuid())))
	for _, dir := range candidates {
		target := filepath.Join(dir, "postgres-"+PostgresVersion)
		if !who.canReach(filepath.Join(target, "bin")) {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			continue
		}
		return target, nil
	}
	return "", fmt.Errorf("PostgreSQL's binaries need a directory that uid %d can reach; none of %s will do", who.uid, strings.Join(candidates, ", "))
}

// fetchPostgres makes sure that the binaries are in dir, downloading them once
// for all processes of this machine.
func fetchPostgres(ctx context.Context, dir string, progress func(string, int64, int64)) error {
	complete := func() bool {
		_, err := os.Stat(filepath.Join(dir, "bin", "postgres"))
		return err == nil
	}
	if complete() {
		return nil
	}
	platform := platformName()
	sum, err := archiveSHA256(platform)
	if err != nil {
		return err
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if complete() { // another process was faster
		return nil
	}
	from, err := repository()
	if err != nil {
		return err
	}
	name := "embedded-postgres-binaries-" + platform
	url := fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%s-%s.jar", from, name, PostgresVersion, name, PostgresVersion)
	jar, err := download(ctx, url, func(done, total int64) {
		progress("downloading PostgreSQL "+PostgresVersion, done, total)
	})
	if err != nil {
		return fmt.Errorf("download PostgreSQL %s: %w", PostgresVersion, err)
	}
	if got := sha256.Sum256(jar); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("download PostgreSQL %s: %s does not have the published SHA-256", PostgresVersion, url)
	}
	progress("unpacking PostgreSQL "+PostgresVersion, 0, 0)
	unpacked, err := os.MkdirTemp(filepath.Dir(dir), "unpack-")
	if err != nil {
		return fmt.Errorf("unpack PostgreSQL: %w", err)
	}
	defer os.RemoveAll(unpacked)
	if err := unpackPostgres(jar, unpacked); err != nil {
		return fmt.Errorf("unpack PostgreSQL: %w", err)
	}
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return fmt.Errorf("unpack PostgreSQL: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil { // an incomplete one of an older version of us
		return fmt.Errorf("unpack PostgreSQL: %w", err)
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

// unpackPostgres unpacks the one .txz inside the jar into dir.
func unpackPostgres(jar []byte, dir string) error {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return err
	}
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, ".txz") {
			continue
		}
		r, err := file.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		compressed, err := xz.NewReader(r, 0)
		if err != nil {
			return err
		}
		return untar(tar.NewReader(io.LimitReader(compressed, maxBinaryBytes)), dir)
	}
	return errors.New("the archive has no .txz file")
}

func untar(archive *tar.Reader, dir string) error {
	root, err := os.OpenRoot(dir) // no member can leave dir, not even through a symlink
	if err != nil {
		return err
	}
	defer root.Close()
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Clean(header.Name)
		if name == "." {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		switch header.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(header.Linkname, name)
		case tar.TypeReg:
			err = writeMember(root, name, archive, os.FileMode(header.Mode).Perm()|0o444)
		}
		if err != nil {
			return err
		}
	}
}

func writeMember(root *os.Root, name string, r io.Reader, mode os.FileMode) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(mode); err != nil { // whatever the umask says
		f.Close()
		return err
	}
	return f.Close()
}
