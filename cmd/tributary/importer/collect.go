package importer

import (
	"context"
	"time"
)

// maxOutstanding bounds the jobs that are read but not yet counted: while one
// worker is slow, the others' finished jobs wait for it in memory.
const maxOutstanding = 256

// collector counts the jobs' outcomes in the file's order.
type collector struct {
	window  <-chan struct{} // one token for each job that is not yet counted
	journal *journal
	config  Config
	total   int64
	offset  int64
	poster  *poster
}

// collect returns when done is closed. After an error of its own it calls stop:
// then the reader and the workers return, and done is closed.
func (c *collector) collect(done <-chan *job, stop context.CancelCauseFunc) (err error) {
	waiting := map[int64]*job{}
	var next int64
	saved, shown := time.Now(), time.Now()
	for jb := range done {
		if err != nil {
			continue // receive the rest, so that no worker blocks
		}
		waiting[jb.seq] = jb
		for jb := waiting[next]; jb != nil && err == nil; jb = waiting[next] {
			err = c.count(jb)
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

// count writes a job's outcomes to the journal.
func (c *collector) count(jb *job) error {
	for i, l := range jb.lines {
		v := jb.verdicts[i]
		if len(v.reasons) > 0 {
			if err := c.journal.reject(l, v.reasons); err != nil {
				return err
			}
		} else {
			c.journal.state.Accepted++
			c.journal.state.warn(v.warnings)
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
		Bytes: c.offset, TotalBytes: c.total, Retries: c.poster.retries.Load()}
}
