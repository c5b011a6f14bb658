package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The statuses that gremlins reports and that are known here.
const (
	statusKilled     = "KILLED"
	statusLived      = "LIVED"
	statusNotCovered = "NOT COVERED"
	statusTimedOut   = "TIMED OUT"  // the mutant does not end: a test has noticed
	statusNotViable  = "NOT VIABLE" // it does not compile: it counts nowhere
)

// mutant is one changed operator and what became of it.
type mutant struct {
	name
	line   int  // from 1
	column int  // of the operator, from 1, in bytes
	inCase bool // the operator is in the condition of a case
	status string
}

// name is a mutant without its line, so that it survives changes above it.
type name struct {
	file   string // from the module's root
	kind   string // gremlins' word: CONDITIONALS_BOUNDARY
	source string // the line, with « before the changed operator
}

// timeoutFactor times a package's test time is how long a mutant may take: on a
// busy machine tests take several times as long as alone.
const timeoutFactor = "20"

// gremlins runs the mutants of one directory.
func gremlins(ctx context.Context, directory string) ([]mutant, error) {
	work, err := os.MkdirTemp("", "tributary-mutate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	report := filepath.Join(work, "report.json")
	//nolint:gosec // a directory that the developer names
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=.ci/gremlins.mod", "gremlins", "unleash",
		"--silent", "--timeout-coefficient", timeoutFactor, "--output", report, "./"+directory)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gremlins on %s: %w\n%s", directory, err, out)
	}
	text, err := os.ReadFile(report) //nolint:gosec // of our own temporary directory
	if err != nil {
		return nil, fmt.Errorf("gremlins on %s: %w", directory, err)
	}
	return readReport(directory, text, os.ReadFile)
}

// readReport reads a report of gremlins, with the lines from the sources.
func readReport(directory string, report []byte, readFile func(string) ([]byte, error)) ([]mutant, error) {
	var parsed struct {
		Files []struct {
			Name      string `json:"file_name"` // within the directory
			Mutations []struct {
				Type         string
				Status       string
				Line, Column int // from 1; the column counts bytes
			}
		}
	}
	if err := json.Unmarshal(report, &parsed); err != nil {
		return nil, fmt.Errorf("report of gremlins on %s: %w", directory, err)
	}
	var mutants []mutant
	for _, file := range parsed.Files {
		path := path.Join(directory, file.Name)
		text, err := readFile(filepath.FromSlash(path))
		if err != nil {
			return nil, fmt.Errorf("report of gremlins on %s: %w", directory, err)
		}
		lines := strings.Split(string(text), "\n")
		constants, err := constantLines(text)
		if err != nil {
			return nil, fmt.Errorf("report of gremlins on %s: %w", directory, err)
		}
		cases, err := caseSpans(text)
		if err != nil {
			return nil, fmt.Errorf("report of gremlins on %s: %w", directory, err)
		}
		for _, m := range file.Mutations {
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
				return nil, fmt.Errorf("report of gremlins on %s: %s has no line %d with a column %d", directory, path, m.Line, m.Column)
			}
			if m.Status == statusNotCovered && constants[m.Line] {
				continue
			}
			line := lines[m.Line-1]
			marked := strings.TrimSpace(line[:m.Column-1] + "«" + line[m.Column-1:])
			offset := offsetOf(text, m.Line, m.Column)
			inCase := slices.ContainsFunc(cases, func(c span) bool { return c.from <= offset && offset < c.to })
			mutants = append(mutants, mutant{name{path, m.Type, marked}, m.Line, m.Column, inCase, m.Status})
		}
	}
	return mutants, nil
}

// constantLines returns the lines of a source's constants. Go's coverage does
// not count them, so their mutants are never run, whatever the tests do.
func constantLines(source []byte) (map[int]bool, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := map[int]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if declared, ok := node.(*ast.GenDecl); ok && declared.Tok == token.CONST {
			for line := files.Position(declared.Pos()).Line; line <= files.Position(declared.End()).Line; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines, nil
}
