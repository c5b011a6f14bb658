package devtest

import (
	"io/fs"
	"path/filepath"
)

// Sources looks at all files of the module at root. A test calls it that runs what it has built: go test gives a kept result until a
// file changes at which the tests looked themselves (go help test, "caching"), and it does not see what a compiler looked at for them.
// Call it in a test: before m.Run nothing is noted.
func Sources(root string) error {
	return filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		return err
	})
}
