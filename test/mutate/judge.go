package main

import (
	"errors"
	"fmt"
	"strings"
)

// result counts a package's mutants.
type result struct {
	killed, lived, uncovered int
	named                    int      // in equivalent.txt; counted nowhere else
	alive                    []mutant // lived or not covered, and not named
	stale                    []name   // named, but killed or gone
}

// judge counts the mutants of a directory.
func judge(directory string, mutants []mutant, equivalent map[name]string) result {
	var r result
	found := map[name]bool{}
	for _, m := range mutants {
		switch m.status {
		case statusKilled, statusTimedOut:
			r.killed++
			continue
		case statusLived, statusNotCovered:
		default: // it does not compile, or was left out
			continue
		}
		if _, ok := equivalent[m.name]; ok {
			found[m.name] = true
			r.named++
			continue
		}
		if m.status == statusLived {
			r.lived++
		} else {
			r.uncovered++
		}
		r.alive = append(r.alive, m)
	}
	for n := range equivalent {
		if strings.HasPrefix(n.file, directory+"/") && !found[n] {
			r.stale = append(r.stale, n)
		}
	}
	return r
}

func (r result) total() int { return r.killed + r.lived + r.uncovered }

// killedPercent is 100 where there is nothing to kill.
func (r result) killedPercent() float64 { return percent(r.killed, r.killed+r.lived) }

func (r result) coveredPercent() float64 { return percent(r.killed+r.lived, r.total()) }

func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

func (r result) enough() bool {
	return r.killedPercent() >= leastKilled && r.coveredPercent() >= leastCovered && len(r.stale) == 0
}

// parseEquivalent reads equivalent.txt: blocks of a line "FILE KIND", an
// indented source line with « before the operator, and at least one indented
// line that says why. Lines that begin with # are comments.
func parseEquivalent(text string) (map[name]string, error) {
	found := map[name]string{}
	var block []string
	end := func() error {
		if len(block) == 0 {
			return nil
		}
		head := strings.Fields(block[0])
		if len(head) != 2 || len(block) < 3 || !strings.Contains(block[1], "«") {
			return fmt.Errorf("equivalent.txt: %q: want FILE KIND, the source with «, and a reason", strings.Join(block, " / "))
		}
		n := name{head[0], head[1], block[1]}
		if _, twice := found[n]; twice {
			return fmt.Errorf("equivalent.txt: %s is there twice", block[1])
		}
		found[n] = strings.Join(block[2:], " ")
		block = nil
		return nil
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if indented := line[0] == '\t' || line[0] == ' '; !indented {
			if err := end(); err != nil {
				return nil, err
			}
		} else if len(block) == 0 {
			return nil, errors.New("equivalent.txt: it begins with an indented line")
		}
		block = append(block, trimmed)
	}
	return found, end()
}
