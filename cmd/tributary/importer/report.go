package importer

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Reporter shows an import's progress: a line with rate and time left every few
// seconds. Not safe for concurrent use.
type Reporter struct {
	w       io.Writer
	started time.Time
	shown   time.Time
	first   int64 // lines that an earlier run had done: those of the first report
	seen    bool  // there was a first report
}

const showEvery = 5 * time.Second

// NewReporter returns a Reporter that writes to w.
func NewReporter(w io.Writer) *Reporter {
	return &Reporter{w: w, started: time.Now(), shown: time.Now()}
}

// Report shows progress. It is a Config.Progress.
func (r *Reporter) Report(p Progress) {
	if !r.seen {
		r.first, r.seen = p.Lines, true
	}
	if time.Since(r.shown) < showEvery {
		return
	}
	r.shown = time.Now()
	elapsed := time.Since(r.started)
	rate := float64(p.Lines-r.first) / max(elapsed.Seconds(), 0.001)
	text := fmt.Sprintf("%d lines, %.0f/s", p.Lines, rate)
	if p.Rejected > 0 {
		text += fmt.Sprintf(", %d rejected", p.Rejected)
	}
	if p.Retries > 0 {
		text += fmt.Sprintf(", %d retries", p.Retries)
	}
	if p.TotalBytes > 0 && p.Bytes > 0 {
		left := time.Duration(float64(elapsed) * float64(p.TotalBytes-p.Bytes) / float64(p.Bytes))
		text += fmt.Sprintf(", %.0f %%, about %s left", 100*float64(p.Bytes)/float64(p.TotalBytes), left.Round(time.Second))
	}
	fmt.Fprintln(r.w, text)
}

// Finish writes the summary.
func (r *Reporter) Finish(file string, s Summary, err error) {
	fmt.Fprintln(r.w, s.line(file, err))
	for _, line := range s.warned() {
		fmt.Fprintln(r.w, line)
	}
}

// maxWarnedShown bounds the lines about warnings.
const maxWarnedShown = 20

// warned returns the kinds of warnings, one a line, the most frequent first.
func (s Summary) warned() []string {
	kinds := slices.SortedFunc(maps.Keys(s.Warnings), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Warnings[b], s.Warnings[a]), cmp.Compare(a, b))
	})
	lines := make([]string, 0, min(len(kinds), maxWarnedShown+1))
	for i, kind := range kinds {
		if i == maxWarnedShown {
			return append(lines, fmt.Sprintf("  and %d more kinds of warnings", len(kinds)-i))
		}
		least := ""
		if s.TellsDuplicates { // of a batch of events the first with a fault tells it
			least = "at least "
		}
		lines = append(lines, fmt.Sprintf("  warned of in %s%d accepted lines: %s", least, s.Warnings[kind], kind))
	}
	return lines
}

// line returns the summary as one line.
func (s Summary) line(file string, err error) string {
	outcome := "imported"
	if err != nil {
		outcome = "stopped in"
	}
	known := ""
	if s.TellsDuplicates {
		known = fmt.Sprintf(" (%d of them known already)", s.Duplicates)
	}
	text := fmt.Sprintf("%s %s: %d lines, %d accepted%s, %d rejected, in %s",
		outcome, file, s.Lines, s.Accepted, known, s.Rejected, s.Took.Round(10*time.Millisecond))
	if s.Resumed > 0 {
		text += fmt.Sprintf("; carried on after line %d", s.Resumed)
	}
	if s.RejectedFile != "" {
		text += "; rejected lines are in " + s.RejectedFile
	}
	return text
}
