package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Go's coverage counts what a case runs, and never the case's own condition.
// gremlins runs only what is counted, so it says NOT COVERED of every condition
// in a case, whatever the tests do. These mutants are run here.

// caseTimeout ends the tests of a mutant that does not end.
const caseTimeout = "60s"

// span is a part of a source, in bytes from its start.
type span struct{ from, to int }

// caseSpans returns where a source's conditions in cases stand.
func caseSpans(source []byte) ([]span, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var spans []span
	ast.Inspect(file, func(node ast.Node) bool {
		if clause, ok := node.(*ast.CaseClause); ok {
			for _, e := range clause.List {
				spans = append(spans, span{files.Position(e.Pos()).Offset, files.Position(e.End()).Offset})
			}
		}
		return true
	})
	return spans, nil
}

// offsetOf is where a line (from 1) and a column (from 1, in bytes) are in a source.
func offsetOf(source []byte, line, column int) int {
	offset := 0
	for range line - 1 {
		offset += bytes.IndexByte(source[offset:], '\n') + 1
	}
	return offset + column - 1
}

// changes are the operators that a kind of mutant changes, as in gremlins.
func changes(kind string) map[string]string {
	switch kind {
	case "CONDITIONALS_BOUNDARY":
		return map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
	case "CONDITIONALS_NEGATION":
		return map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	case "ARITHMETIC_BASE":
		return map[string]string{"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"}
	case "INVERT_NEGATIVES":
		return map[string]string{"-": "+"}
	}
	return nil
}

// mutate is a source with the operator at an offset changed.
func mutate(source []byte, offset int, kind string) ([]byte, error) {
	known := changes(kind)
	for _, length := range []int{2, 1} {
		end := min(offset+length, len(source))
		if other, found := known[string(source[offset:end])]; found {
			return slices.Concat(source[:offset], []byte(other), source[end:]), nil
		}
	}
	return nil, fmt.Errorf("no operator for %s at byte %d", kind, offset)
}

// runCases runs the mutants of conditions in cases against the tests of their
// directory, in place: each gets its status. root is the module's.
func runCases(ctx context.Context, root, directory string, mutants []mutant) error {
	for i := range mutants {
		m := &mutants[i]
		if !m.inCase || m.status != statusNotCovered {
			continue
		}
		status, err := runCase(ctx, root, directory, m)
		if err != nil {
			return fmt.Errorf("mutant of %s:%d: %w", m.file, m.line, err)
		}
		m.status = status
	}
	return nil
}

// runCase builds the tests with one source replaced, and runs them.
func runCase(ctx context.Context, root, directory string, m *mutant) (status string, err error) {
	work, err := os.MkdirTemp("", "tributary-mutate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path) //nolint:gosec // a source of this module
	if err != nil {
		return "", err
	}
	changed, err := mutate(source, offsetOf(source, m.line, m.column), m.kind)
	if err != nil {
		return "", err
	}
	mutated, overlay, binary := filepath.Join(work, "mutant.go"), filepath.Join(work, "overlay.json"), filepath.Join(work, "package.test")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(mutated, changed, 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return "", err
	}
	//nolint:gosec // a directory that the developer names
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+directory)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		if ctx.Err() != nil || !strings.Contains(string(out), filepath.Base(m.file)) && !strings.Contains(string(out), mutated) {
			return "", fmt.Errorf("go test -c: %w\n%s", err, out)
		}
		return statusNotViable, nil
	}
	tests := exec.CommandContext(ctx, binary, "-test.failfast", "-test.timeout", caseTimeout) //nolint:gosec // built just now
	tests.Dir = filepath.Join(root, filepath.FromSlash(directory))
	err = tests.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &failed):
		return statusKilled, nil
	case err != nil:
		return "", err
	}
	return statusLived, nil
}
