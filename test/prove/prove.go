// Package prove runs the sections of `make prove` and keeps what they saw: as a
// page for readers, docs/proof.md, and as a file for the next run, docs/proof.json.
//
// A section is a kind of proof, with its own columns; a case is a line of it. A
// case that is not run keeps its line as it was, with the run that it came from.
//
// What may enter: choosing and running cases, the page. What a section proves is
// in a package below this one.
package prove

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Section is one kind of proof.
type Section struct {
	Name    string // in case names on the command line
	Title   string // of the page's section
	Text    string // Markdown above the table
	Columns []string
	Cases   []Case
}

// Case is one line of a section.
type Case struct {
	Name  string // unique in its section
	Title string // the line's first cell
	// Run proves it. An error says that it could not be proven; ErrNotHere that it
	// cannot be on this machine.
	Run func(ctx context.Context, e Env) (Result, error)
}

// ErrNotHere is wrapped by errors of cases that need what this machine lacks.
var ErrNotHere = errors.New("not on this machine")

// Env is what a case may use.
type Env struct {
	Binary string // tributary
	Dir    string // a directory of the case's own, which is not there yet
	Seed   uint64
	Citus  string // connection string of a cluster's coordinator; "": there is none
	// CitusTool is a directory with two programs. "citus-up DIR PORT" starts a coordinator and $WORKERS workers, or those that do not
	// run, on loopback at PORT and the next ones, and prints the coordinator's connection string; "citus-down DIR [-9] [NODE...]" ends
	// those that are named (coordinator, worker1, …), or all. DIR/NODE.pid has a server's process id. "": there is none.
	CitusTool string
	Lives     int           // of orders in each connected shop; 0: as many as `make prove` has
	For       time.Duration // how long faults of a cluster come at least; 0: each once
	Chosen    Selection     // the cases of this run
	Say       func(format string, args ...any)
}

// Result is what a case saw.
type Result struct {
	Cells    []string `json:"cells"` // one for each column
	Problems []string `json:"problems,omitempty"`
}

// Selection chooses cases by patterns of "section/case", as path.Match knows
// them; a pattern without a slash stands for the case, in any section. None: all.
type Selection []string

// Has tells whether a case is chosen.
func (s Selection) Has(section, name string) bool {
	if len(s) == 0 {
		return true
	}
	for _, pattern := range s {
		if !strings.Contains(pattern, "/") {
			pattern = "*/" + pattern
		}
		if ok, _ := path.Match(pattern, section+"/"+name); ok { // Check has seen that it is a pattern
			return true
		}
	}
	return false
}

// Check is an error if a pattern chooses nothing.
func (s Selection) Check(sections []Section) error {
	for _, pattern := range s {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is no pattern: %w", pattern, err)
		}
		found := false
		for _, section := range sections {
			for _, c := range section.Cases {
				found = found || Selection{pattern}.Has(section.Name, c.Name)
			}
		}
		if !found {
			return fmt.Errorf("no case is named %q", pattern)
		}
	}
	return nil
}

// Do runs the chosen cases, one after the other, and puts what they saw into the
// record. keep is called after each. failed counts the cases that did not hold.
func Do(ctx context.Context, sections []Section, chosen Selection, record *Record, run RunInfo, env func(section, name string) Env,
	keep func() error) (failed int, err error) {
	for _, section := range sections {
		for _, c := range section.Cases {
			if !chosen.Has(section.Name, c.Name) {
				continue
			}
			e := env(section.Name, c.Name)
			e.Say("%s/%s: %s", section.Name, c.Name, c.Title)
			result, err := c.Run(ctx, e)
			switch {
			case ctx.Err() != nil:
				return failed, ctx.Err()
			case errors.Is(err, ErrNotHere):
				e.Say("  not run: %v", err)
				continue
			case err != nil:
				result = Result{Cells: make([]string, len(section.Columns)), Problems: append(result.Problems, err.Error())}
			}
			if len(result.Problems) > 0 {
				failed++
			}
			for _, problem := range result.Problems {
				e.Say("  WRONG: %s", problem)
			}
			record.put(section.Name, c.Name, result, run)
			if err := keep(); err != nil {
				return failed, err
			}
		}
	}
	return failed, nil
}
