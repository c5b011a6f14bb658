package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Config is what both kinds of import need. Only File is required.
type Config struct {
	File  string    // a path, .gz or not, or "-"
	Stdin io.Reader // read for "-"
	// StateDir holds FILE.progress and FILE.rejected.jsonl, or, for "-",
	// stdin-TIME-….rejected.jsonl. It is made if it does not exist. Empty: the
	// file's own directory.
	StateDir    string
	Concurrency int // requests of events in flight, default 4; those of orders are sent one after the other
	Backoff     Backoff
	Progress    func(Progress) // called from one goroutine, several times a second
	SaveEvery   time.Duration  // default 1 s
}

// Progress is how far an import is.
type Progress struct {
	Lines      int64 // accepted or rejected, from the file's beginning
	Accepted   int64 // with Duplicates, which the service had already
	Duplicates int64
	Rejected   int64
	Bytes      int64 // of the file, before decompression
	TotalBytes int64 // 0 if it is not known
	Retries    int64
}

// Summary is the outcome of an import.
type Summary struct {
	Progress
	Resumed      int64         // lines that an earlier run had done
	Took         time.Duration // 0: it has not started
	RejectedFile string        // where the rejected lines are; empty if there are none
	// Warnings counts the accepted lines by what the service warned of: a code and the field,
	// without indexes, as "invalid_format provinceCode". Of more than maxWarned kinds the rest is
	// otherWarnings.
	Warnings map[string]int64
	// TellsDuplicates says that Duplicates is known: the edge reports duplicate
	// events, the admin API does not report orders that it had already.
	TellsDuplicates bool
}

// verdict is what became of one line.
type verdict struct {
	duplicate bool
	warnings  []Reason // of an accepted line
	reasons   []Reason // not empty: rejected
}

// job is the lines that are sent together. The worker that sends them sets
// verdicts, one a line.
type job struct {
	seq      int64
	lines    []line
	offset   int64 // bytes of the file up to here, before decompression
	verdicts []verdict
}

// plan is how one kind of import puts lines into jobs and sends them.
type plan struct {
	poster          *poster
	send            func(ctx context.Context, lines []line) ([]verdict, error)
	workers         int  // one: the jobs are sent in order
	tellsDuplicates bool // see Summary
}

// maxJobLines is how many lines a job has, of at most maxLine bytes together: the edge and the admin API take 500, and 1 MiB.
const maxJobLines = 500

// run does one import: one goroutine reads the file into jobs, the plan's
// workers send them, and one collector counts the outcomes.
func run(ctx context.Context, config Config, p plan) (Summary, error) {
	started := time.Now()
	if config.SaveEvery <= 0 {
		config.SaveEvery = time.Second
	}
	src, err := open(config.File, config.Stdin)
	if err != nil {
		return Summary{}, err
	}
	defer src.close()
	j, err := openJournal(stateBase(config, started), src.digest, p.poster.url, config.File != "-")
	if err != nil {
		return Summary{}, err
	}
	defer j.close()
	resumed := j.state.Lines

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan *job, 1)
	done := make(chan *job, p.workers)
	window := make(chan struct{}, maxOutstanding)
	group.Go(func() error {
		defer close(jobs)
		return read(ctx, src, resumed, jobs, window)
	})
	group.Go(func() error {
		defer close(done)
		workers, ctx := errgroup.WithContext(ctx)
		for range p.workers {
			workers.Go(func() error { return work(ctx, jobs, done, p.send) })
		}
		return workers.Wait()
	})
	c := collector{journal: j, config: config, total: src.size, poster: p.poster, window: window}
	group.Go(func() error { return c.collect(done, stop) })
	if err = group.Wait(); errors.Is(err, context.Canceled) {
		err = context.Cause(ctx) // the collector's error, if that ended the run
	}
	if saveErr := j.save(); err == nil { // also after an error: the outcomes so far are kept
		err = saveErr
	}
	summary := Summary{Progress: c.progress(), Resumed: resumed, Took: time.Since(started), Warnings: j.state.Warnings,
		TellsDuplicates: p.tellsDuplicates}
	if j.state.Rejected > 0 {
		summary.RejectedFile = j.rejected
	}
	if err != nil {
		return summary, err
	}
	return summary, j.finish()
}

// stateBase returns the path to which .progress and .rejected.jsonl are
// appended. Standard input has no name, so the time is used: the rejected lines
// of one import must not replace those of another.
func stateBase(config Config, started time.Time) string {
	name := config.File
	if name == "-" {
		name = "stdin-" + started.UTC().Format("20060102T150405Z")
	}
	if config.StateDir == "" {
		return name
	}
	return filepath.Join(config.StateDir, filepath.Base(name))
}

// read puts the file's lines into jobs. It skips those that an earlier run has
// done.
func read(ctx context.Context, src *source, skip int64, jobs chan<- *job, window chan<- struct{}) error {
	var seq int64
	current := &job{}
	size := 0
	flush := func() error {
		if len(current.lines) == 0 {
			return nil
		}
		current.seq, current.offset = seq, src.offset()
		seq++
		select {
		case window <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case jobs <- current:
		case <-ctx.Done():
			return ctx.Err()
		}
		current, size = &job{}, 0
		return nil
	}
	for {
		l, err := src.next()
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err != nil {
			return errors.Join(err, flush())
		}
		if l.number <= skip {
			continue
		}
		if len(current.lines) > 0 && (len(current.lines) == maxJobLines || size+len(l.text) > maxLine) {
			if err := flush(); err != nil {
				return err
			}
		}
		current.lines = append(current.lines, l)
		size += len(l.text) + 1
	}
}

// work sends jobs until there are no more.
func work(ctx context.Context, jobs <-chan *job, done chan<- *job, send func(context.Context, []line) ([]verdict, error)) error {
	for jb := range jobs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if jb.verdicts, err = send(ctx, jb.lines); err != nil {
			return fmt.Errorf("line %d: %w", jb.lines[0].number, err)
		}
		done <- jb // the collector receives until done is closed
	}
	return nil
}

// StateDirFor returns a directory for an import's own files: the file's own if
// it can be written, else the current one.
func StateDirFor(file string) string {
	if file == "-" {
		return "."
	}
	dir := filepath.Dir(file)
	if tryWriting(dir) != nil {
		return "."
	}
	return dir
}
