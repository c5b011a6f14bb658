package edge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/tributary-io/tributary/internal/atomicfile"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/wire"
)

// The snapshot is one JSON object a line: first its head, then companies, links
// and API keys as they are on the topic. It holds nothing personal and no secret:
// of a key's hash its text cannot be found.
type snapshotLine struct {
	Version int            `json:"tributary_directory,omitempty"` // head only
	Lines   int            `json:"lines,omitempty"`               // head only: how many follow
	Counts  map[string]int `json:"partitions,omitempty"`          // head only: of the topics
	Base    string         `json:"short_base,omitempty"`          // head only: entries.shortBase
	Company *wire.Company  `json:"company,omitempty"`
	Code    string         `json:"code,omitempty"`
	Link    *wire.Link     `json:"link,omitempty"`
	Hash    string         `json:"hash,omitempty"`
	Key     *wire.APIKey   `json:"key,omitempty"`
}

const snapshotVersion = 1

// loadSnapshot fills the view from the file. A missing file is no error; one that
// is cut is: the directory is then read from the topic alone.
func (d *directory) loadSnapshot() error {
	if d.config.SnapshotFile == "" {
		return nil
	}
	file, err := os.Open(d.config.SnapshotFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("edge: open the directory's snapshot: %w", err)
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	var head snapshotLine
	if err := decoder.Decode(&head); err != nil || head.Version != snapshotVersion {
		return fmt.Errorf("edge: %s is not a directory snapshot of version %d", d.config.SnapshotFile, snapshotVersion)
	}
	loaded := newEntries()
	loaded.shortBase = head.Base
	for range head.Lines {
		var line snapshotLine
		if err := decoder.Decode(&line); err != nil {
			return fmt.Errorf("edge: the directory's snapshot %s is cut or broken: %w", d.config.SnapshotFile, err)
		}
		d.mu.Lock()
		switch {
		case line.Company != nil:
			value, _ := json.Marshal(line.Company) // what was read as JSON marshals
			d.applyCompany(loaded, line.Company.CompanyID, value)
		case line.Link != nil && line.Code != "":
			loaded.putLink(line.Code, line.Link)
		case line.Key != nil && line.Hash != "":
			loaded.keys[line.Hash] = line.Key
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	d.served, d.partitions = loaded, head.Counts
	d.mu.Unlock()
	return nil
}

// snapshotEvery is the pause between two looks whether the view has changed.
const snapshotEvery = 10 * time.Second

// saveSnapshots writes the view whenever it has changed, and once more at the end.
func (d *directory) saveSnapshots(ctx context.Context) {
	if d.config.SnapshotFile == "" {
		return
	}
	for {
		background.Sleep(ctx, snapshotEvery)
		if err := d.saveSnapshot(); err != nil {
			d.log.Error("directory: the snapshot could not be written", "error", err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// saveSnapshot writes a whole view, never one that is being rebuilt.
func (d *directory) saveSnapshot() error {
	d.mu.Lock()
	if !d.changed || !d.caughtUp || d.rebuilt != nil {
		d.mu.Unlock()
		return nil
	}
	d.changed = false
	counts, base := d.partitions, d.served.shortBase
	lines := make([]snapshotLine, 1, 1+len(d.served.companies)+len(d.served.links)+len(d.served.keys))
	for _, c := range d.served.companies {
		lines = append(lines, snapshotLine{Company: &c.Company})
	}
	for code, l := range d.served.links {
		lines = append(lines, snapshotLine{Code: code, Link: l})
	}
	for hash, k := range d.served.keys {
		lines = append(lines, snapshotLine{Hash: hash, Key: k})
	}
	d.mu.Unlock()
	lines[0] = snapshotLine{Version: snapshotVersion, Lines: len(lines) - 1, Counts: counts, Base: base}
	err := atomicfile.Write(d.config.SnapshotFile, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		for _, line := range lines {
			if err := encoder.Encode(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.mu.Lock()
		d.changed = true
		d.mu.Unlock()
	}
	return err
}
