package devstack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/xi2/xz"
)

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
	root, err := os.OpenRoot(dir) // nothing is written outside of dir, not even through a symlink
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
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(mode), f.Close()) // chmod: whatever the umask says
}
