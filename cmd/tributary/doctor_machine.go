package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// clockTolerance is how far two clocks of an installation may be apart. Times
// order touches and orders; NTP keeps machines within milliseconds.
const clockTolerance = 2 * time.Second

// checkClock compares another machine's clock with ours. The other one was read
// at some time between asked and answered; its value may be too low by precision.
func checkClock(f *findings, whose string, other, asked, answered time.Time, precision time.Duration) {
	about := "clock of " + whose
	ahead, behind := other.Sub(answered), asked.Sub(other.Add(precision))
	apart := max(ahead, behind)
	if apart <= clockTolerance {
		f.ok(about, "agrees with ours")
		return
	}
	where := "ahead of"
	if behind > ahead {
		where = "behind"
	}
	f.fail(about, fmt.Sprintf("is %s %s ours: events and orders are put in the wrong order", apart.Round(time.Millisecond), where),
		"keep the clocks of all machines right by NTP (chrony, systemd-timesyncd)")
}

// checkService asks a running service for /readyz, and compares its clock.
func checkService(ctx context.Context, f *findings, origin string) {
	origin = strings.TrimSuffix(origin, "/")
	about := "service " + origin
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/readyz", nil)
	if err != nil {
		f.fail(about, err.Error(), "give its origin, such as http://127.0.0.1:7700")
		return
	}
	asked := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.fail(about, err.Error(), "start it, or correct --service")
		return
	}
	defer response.Body.Close()
	answered := time.Now()
	text, err := io.ReadAll(io.LimitReader(response.Body, 2000))
	switch {
	case err != nil:
		f.fail(about, err.Error(), "ask again")
		return
	case response.StatusCode != http.StatusOK:
		f.fail(about, fmt.Sprintf("is not ready: %s: %s", response.Status, printable(strings.TrimSpace(string(text)))),
			`see "Health" in docs/operations.md`)
	default:
		f.ok(about, "is ready")
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		checkClock(f, origin, date, asked, answered, time.Second)
	}
}

// snapshotRoom is the free space that the edge's snapshot wants, in bytes: about
// 100,000 companies and links of 300 bytes, written twice while the file is replaced.
const snapshotRoom = 64 << 20

// checkDisk checks the edge's directories on this machine.
func (e *examination) checkDisk(f *findings) {
	if e.snapshot == "" && e.spool == "" {
		f.leftOut("disk", "neither --snapshot nor --spool is given")
		return
	}
	if e.snapshot != "" {
		checkDirectory(f, "snapshot", filepath.Dir(e.snapshot), snapshotRoom)
	}
	if e.spool != "" {
		held, err := sizeOf(e.spool)
		if err != nil {
			f.fail("spool", err.Error(), "let this user read the directory")
			return
		}
		checkDirectory(f, "spool", e.spool, max(0, e.spoolBytes-held))
	}
}

// checkDirectory writes a file in a directory, removes it, and looks for room. A
// directory that does not exist yet is looked for in the one above it.
func checkDirectory(f *findings, about, dir string, room int64) {
	there := dir
	for {
		info, err := os.Stat(there)
		if err == nil && info.IsDir() {
			break
		}
		if above := filepath.Dir(there); errors.Is(err, fs.ErrNotExist) && above != there {
			there = above
			continue
		}
		f.fail(about, fmt.Sprintf("%s is no directory", there), "give a path in a directory")
		return
	}
	if err := tryWrite(there); err != nil {
		f.fail(about, fmt.Sprintf("%s cannot be written: %v", there, err), "let the edge's user write there, and look at the disk")
		return
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(there, &disk); err != nil {
		f.fail(about, fmt.Sprintf("%s: %v", there, err), "look at the disk")
		return
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	if free < room {
		f.fail(about, fmt.Sprintf("%s has %d MiB free, and %d MiB may be needed", there, free>>20, room>>20),
			"use a larger disk, or a smaller --spool-bytes")
		return
	}
	f.ok(about, fmt.Sprintf("%s can be written and has %d MiB free", there, free>>20))
}

// tryWrite writes a file durably and removes it.
func tryWrite(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name := ".tributary-doctor-" + rand.Text()
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString("tributary doctor\n")
	return errors.Join(err, file.Sync(), file.Close(), root.Remove(name))
}

// sizeOf is how many bytes the files below a directory have, 0 where it does not
// exist. Files that go meanwhile are not counted.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size, err
}
