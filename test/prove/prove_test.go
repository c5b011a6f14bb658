package prove

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// cases makes a section of cases that see what they are told to.
func cases(results map[string]func() (Result, error), names ...string) []Section {
	section := Section{Name: "s", Title: "A section", Text: "What it is.", Columns: []string{"sent", "lost"}}
	for _, name := range names {
		section.Cases = append(section.Cases, Case{Name: name, Title: "the case " + name, Run: func(context.Context, Env) (Result, error) {
			return results[name]()
		}})
	}
	return []Section{section}
}

func seen(sent string) func() (Result, error) {
	return func() (Result, error) { return Result{Cells: []string{sent, "0"}}, nil }
}

func page(t *testing.T, r *Record, sections []Section) string {
	t.Helper()
	var text strings.Builder
	if err := r.WritePage(&text, sections); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestACaseThatIsNotRunKeepsItsLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proof.json")
	quiet := func(string, string) Env { return Env{Say: func(string, ...any) {}} }
	run := func(chosen Selection, results map[string]func() (Result, error)) (*Record, int) {
		t.Helper()
		sections := cases(results, "one", "two", "three")
		if err := chosen.Check(sections); err != nil {
			t.Fatal(err)
		}
		record, err := ReadRecord(file)
		if err != nil {
			t.Fatal(err)
		}
		info := RunInfo{Number: record.NextRun(), When: "today", Commit: fmt.Sprint("commit", record.NextRun()), Seed: 7, Kafka: "4", Go: "go1",
			Machine: "a machine"}
		failed, err := Do(t.Context(), sections, chosen, record, info, quiet, func() error { return record.Write(file) })
		if err != nil {
			t.Fatal(err)
		}
		return record, failed
	}
	results := map[string]func() (Result, error){
		"one": seen("10"), "two": seen("20"),
		"three": func() (Result, error) { return Result{}, fmt.Errorf("no rights: %w", ErrNotHere) },
	}
	if _, failed := run(nil, results); failed != 0 {
		t.Errorf("%d failed", failed)
	}
	results["two"] = seen("21")
	results["three"] = func() (Result, error) {
		return Result{Cells: []string{"5", "1"}, Problems: []string{"lost: an event"}}, nil
	}
	record, failed := run(Selection{"t*"}, results)
	if failed != 1 {
		t.Errorf("%d failed", failed)
	}
	again, err := ReadRecord(file)
	if err != nil || !reflect.DeepEqual(again, record) {
		t.Errorf("%v, read %+v, written %+v", err, again, record)
	}
	sections := cases(nil, "one", "two", "three", "four")
	text := page(t, record, sections)
	for _, want := range []string{
		"## A section\n\nWhat it is.\n\n| | sent | lost | run |\n|---|---|---|---|\n| the case one | 10 | 0 | 1 |\n| the case two | 21 | 0 | " +
			"2 |\n| the case three | 5 | 1 | 2 |\n| the case four | | | not run yet |\n",
		"* the case three: lost: an event\n",
		"| 2 | today | commit2 | 7 | Kafka 4, go1 | a machine |\n| 1 | today | commit1 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks\n%s\nit is\n%s", want, text)
		}
	}
	results["one"], results["three"] = seen("11"), seen("6")
	record, _ = run(nil, results)
	if len(record.Runs) != 1 || record.Runs[0].Number != 3 {
		t.Errorf("runs without a line are kept: %+v", record.Runs)
	}
	record.Prune(cases(nil, "two"))
	if len(record.Sections["s"]) != 1 {
		t.Errorf("a case that is no more has a line: %+v", record.Sections)
	}
}

func TestACaseThatCannotBeProvenFails(t *testing.T) {
	record := &Record{Sections: map[string]map[string]Line{}}
	sections := cases(map[string]func() (Result, error){
		"one": func() (Result, error) { return Result{}, errors.New("Kafka did not start") }, "two": seen("2"),
	}, "one", "two")
	failed, err := Do(t.Context(), sections, nil, record, RunInfo{Number: 1}, func(string, string) Env {
		return Env{Say: t.Logf}
	}, func() error { return nil })
	if err != nil || failed != 1 || record.Sections["s"]["two"].Cells[0] != "2" {
		t.Errorf("%d failed, %v, %+v", failed, err, record)
	}
	if text := page(t, record, sections); !strings.Contains(text, "the case one: Kafka did not start") {
		t.Error(text)
	}
}

func TestCasesAreChosenByTheirNames(t *testing.T) {
	sections := cases(nil, "broker-gone-1", "broker-gone-3", "edge-killed-1")
	f := func(pattern string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range sections[0].Cases {
			if (Selection{pattern}).Has("s", c.Name) {
				got = append(got, c.Name)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s chooses %v", pattern, got)
		}
		if err := (Selection{pattern}).Check(sections); (err == nil) != (len(want) > 0) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	f("broker-gone-1", "broker-gone-1")
	f("broker-*", "broker-gone-1", "broker-gone-3")
	f("s/*-1", "broker-gone-1", "edge-killed-1")
	f("broker")
	f("other/*")
	f("[")
}
