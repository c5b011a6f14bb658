package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Config is what both imports need. File, and a URL in Events or Orders, are required.
type Config struct {
	File  string    // a path, .gz or not, or "-"
	Stdin io.Reader // read for "-"
	// StateDir holds FILE.progress and FILE.rejected.jsonl, for "-"
	// stdin-TIME-….rejected.jsonl; empty is beside the file. It is made if need be.
	StateDir    string
	Concurrency int // requests in flight; default 4 for events, 8 for orders
	Backoff     Backoff
	Client      *http.Client   // default: 60 s a request
	Progress    func(Progress) // called from one goroutine, several times a second
	SaveEvery   time.Duration  // default 1 s
}

// Progress is how far an import is.
type Progress struct {
	Lines      int64 // judged, from the file's beginning
	Accepted   int64 // of which Duplicates were there already
	Duplicates int64
	Rejected   int64
	Bytes      int64 // of the file, as it lies on disk
	TotalBytes int64 // 0 where it is not known
	Retries    int64
}

// Summary is the outcome of an import.
type Summary struct {
	Progress
	Resumed      int64 // lines that an earlier run had done
	Took         time.Duration
	RejectedFile string // where the rejected lines are; empty where there are none
	// TellsDuplicates is set where the service says what it had already: of
	// events it does, so that Duplicates means something; of orders it does not.
	TellsDuplicates bool
}

// verdict is what became of one line.
type verdict struct {
	duplicate bool
	reasons   []Reason // not empty: rejected
}

// job is a run of lines sent together. Its verdicts are set by the sender.
type job struct {
	seq      int64
	lines    []line
	offset   int64 // of the file, after the last line
	verdicts []verdict
}

// plan is how one kind of import divides and sends lines.
type plan struct {
	target    string // a name of where it goes, for the progress file
	maxLines  int    // a job
	maxBytes  int
	lane      func(line) int // jobs of one lane are sent in order, by one worker; nil: any worker
	send      func(ctx context.Context, lines []line) ([]verdict, error)
	workers   int
	perWorker int // jobs that wait for a worker
	retries   func() int64
	// tellsDuplicates: see Summary.
	tellsDuplicates bool
}

// run drives one import: one reader, the plan's workers, one collector.
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
	j, err := openJournal(stateBase(config, started), src.digest, p.target, config.File != "-")
	if err != nil {
		return Summary{}, err
	}
	defer j.close()
	resumed := j.state.Lines

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	group, ctx := errgroup.WithContext(ctx)
	lanes := make([]chan *job, 1)
	if p.lane != nil {
		lanes = make([]chan *job, p.workers)
	}
	for i := range lanes {
		lanes[i] = make(chan *job, p.perWorker)
	}
	done := make(chan *job, p.workers)
	window := make(chan struct{}, maxOutstanding)
	group.Go(func() error {
		defer func() {
			for _, lane := range lanes {
				close(lane)
			}
		}()
		return read(ctx, src, resumed, p, lanes, window)
	})
	group.Go(func() error {
		defer close(done)
		workers, ctx := errgroup.WithContext(ctx)
		for i := range p.workers {
			workers.Go(func() error { return work(ctx, lanes[i%len(lanes)], done, p.send) })
		}
		return workers.Wait()
	})
	c := collector{journal: j, config: config, total: src.size, retries: p.retries, window: window}
	group.Go(func() error { return c.collect(done, stop) })
	if err = group.Wait(); errors.Is(err, context.Canceled) {
		err = context.Cause(ctx) // what the collector stopped for, if it did
	}
	if saveErr := j.save(); err == nil { // what is judged is kept, whatever ended the run
		err = saveErr
	}
	summary := Summary{Progress: c.progress(), Resumed: resumed, Took: time.Since(started), TellsDuplicates: p.tellsDuplicates}
	if j.state.Rejected > 0 {
		summary.RejectedFile = j.rejected
	}
	if err != nil {
		return summary, err
	}
	return summary, j.finish()
}

// stateBase is the path that .progress and .rejected.jsonl are appended to.
// Standard inputs have no name to tell one from another: the time does, so
// that one's rejections do not replace another's.
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

// read cuts the file into jobs, skipping the lines that an earlier run has done.
func read(ctx context.Context, src *source, skip int64, p plan, lanes []chan *job, window chan<- struct{}) error {
	var seq int64
	current := &job{}
	size := 0
	flush := func() error {
		if len(current.lines) == 0 {
			return nil
		}
		current.seq, current.offset = seq, src.offset()
		seq++
		lane := 0
		if p.lane != nil {
			lane = p.lane(current.lines[0]) % len(lanes)
		}
		select {
		case window <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case lanes[lane] <- current:
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
		if len(current.lines) > 0 && (len(current.lines) == p.maxLines || size+len(l.text) > p.maxBytes) {
			if err := flush(); err != nil {
				return err
			}
		}
		current.lines = append(current.lines, l)
		size += len(l.text) + 1
	}
}

func work(ctx context.Context, jobs <-chan *job, done chan<- *job, send func(context.Context, []line) ([]verdict, error)) error {
	for jb := range jobs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if jb.verdicts, err = send(ctx, jb.lines); err != nil {
			return fmt.Errorf("line %d: %w", jb.lines[0].number, err)
		}
		done <- jb // the collector takes until done is closed
	}
	return nil
}

// maxOutstanding bounds the jobs between the reader and the file's order: one
// slow lane must not pile up what the others have done.
const maxOutstanding = 256

// collector puts the jobs' outcomes back into the file's order.
type collector struct {
	window  <-chan struct{} // one token for each job not yet applied
	journal *journal
	config  Config
	total   int64
	offset  int64
	retries func() int64
}

// collect ends once done is closed. At an error of its own it ends the run by
// stop, since only then the others return, and done is closed.
func (c *collector) collect(done <-chan *job, stop context.CancelCauseFunc) (err error) {
	waiting := map[int64]*job{}
	var next int64
	saved, shown := time.Now(), time.Now()
	for jb := range done {
		if err != nil {
			continue // drained, so that no worker hangs
		}
		waiting[jb.seq] = jb
		for jb := waiting[next]; jb != nil && err == nil; jb = waiting[next] {
			err = c.apply(jb)
			delete(waiting, next)
			<-c.window
			next++
		}
		if err == nil && time.Since(saved) >= c.config.SaveEvery {
			err = c.journal.save()
			saved = time.Now()
		}
		if err != nil {
			stop(err)
			continue
		}
		if c.config.Progress != nil && time.Since(shown) >= 100*time.Millisecond {
			c.config.Progress(c.progress())
			shown = time.Now()
		}
	}
	return err
}

func (c *collector) apply(jb *job) error {
	for i, l := range jb.lines {
		v := jb.verdicts[i]
		if len(v.reasons) > 0 {
			if err := c.journal.reject(l, v.reasons); err != nil {
				return err
			}
		} else {
			c.journal.state.Accepted++
			if v.duplicate {
				c.journal.state.Duplicates++
			}
		}
		c.journal.state.Lines = l.number
	}
	c.offset = jb.offset
	return nil
}

func (c *collector) progress() Progress {
	s := c.journal.state
	return Progress{Lines: s.Lines, Accepted: s.Accepted, Duplicates: s.Duplicates, Rejected: s.Rejected,
		Bytes: c.offset, TotalBytes: c.total, Retries: c.retries()}
}

// StateDirFor is where an import's own files can be written: beside the file,
// else the current directory.
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

func newPoster(config Config, url string, header http.Header) *poster {
	client := config.Client
	if client == nil {
		client = &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
		}}
	}
	p := &poster{client: client, url: url, header: header, backoff: config.Backoff.withDefaults()}
	p.lastSuccess.Store(time.Now().UnixNano())
	return p
}
