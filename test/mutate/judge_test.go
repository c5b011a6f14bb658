package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const source = "package p\n\nfunc f(a, b int) bool {\n\treturn a < b && b > 0\n}\n"

func read(t *testing.T, statuses ...string) []mutant {
	t.Helper()
	var mutations []string
	for i, status := range statuses {
		column := []int{11, 20}[i%2] // of < and of >
		mutations = append(mutations, fmt.Sprintf(`{"type":"CONDITIONALS_BOUNDARY","status":%q,"line":4,"column":%d}`, status, column))
	}
	report := `{"files":[{"file_name":"f.go","mutations":[` + strings.Join(mutations, ",") + `]}]}`
	mutants, err := readReport("internal/p", []byte(report), func(path string) ([]byte, error) {
		if path != "internal/p/f.go" {
			return nil, errors.New(path)
		}
		return []byte(source), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return mutants
}

const named = `# a comment
internal/p/f.go CONDITIONALS_BOUNDARY
	return a «< b && b > 0
	a and b are never equal
	here.
`

func TestMutantsAreCounted(t *testing.T) {
	f := func(list string, killed, covered float64, enough bool, statuses ...string) {
		t.Helper()
		equivalent, err := parseEquivalent(list)
		if err != nil {
			t.Fatal(err)
		}
		r := judge("internal/p", read(t, statuses...), equivalent)
		if r.killedPercent() != killed || r.coveredPercent() != covered || r.enough() != enough {
			t.Errorf("%v: %v %% killed, %v %% covered, enough %v; want %v, %v, %v", statuses, r.killedPercent(), r.coveredPercent(), r.enough(),
				killed, covered, enough)
		}
	}
	f("", 100, 100, true)
	f("", 100, 100, true, statusKilled, statusTimedOut, statusNotViable)
	f("", 50, 100, false, statusLived, statusKilled)
	f("", 100, 50, false, statusKilled, statusNotCovered)
	f(named, 100, 100, true, statusLived, statusKilled)
	f(named, 100, 100, true, statusNotCovered, statusKilled)
	f(named, 50, 100, false, statusKilled, statusLived, statusLived) // the other operator lives too
	f(named, 100, 100, false, statusKilled, statusKilled)            // the named one is killed
}

func TestTheListOfEquivalentMutantsIsRead(t *testing.T) {
	list, err := parseEquivalent(named)
	want := name{"internal/p/f.go", "CONDITIONALS_BOUNDARY", "return a «< b && b > 0"}
	if err != nil || len(list) != 1 || list[want] != "a and b are never equal here." {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := parseEquivalent(equivalentText); err != nil {
		t.Error(err)
	}
	for _, broken := range []string{
		"\tindented\n",
		"internal/p/f.go CONDITIONALS_BOUNDARY\n\treturn a «< b\n",
		"internal/p/f.go CONDITIONALS_BOUNDARY\n\treturn a < b\n\twhy\n",
		"internal/p/f.go\n\treturn a «< b\n\twhy\n",
		named + named,
	} {
		if _, err := parseEquivalent(broken); err == nil {
			t.Errorf("%q was taken", broken)
		}
	}
}

func TestConstantsAreLeftOut(t *testing.T) {
	const source = "package p\n\nconst (\n\tday = 24 * hour\n)\n\nvar week = 7 * day\n"
	report := `{"files":[{"file_name":"p.go","mutations":[
		{"type":"ARITHMETIC_BASE","status":"NOT COVERED","line":4,"column":11},
		{"type":"ARITHMETIC_BASE","status":"NOT COVERED","line":7,"column":14}]}]}`
	mutants, err := readReport("p", []byte(report), func(string) ([]byte, error) { return []byte(source), nil })
	if err != nil || len(mutants) != 1 || mutants[0].source != "var week = 7 «* day" {
		t.Errorf("%+v, %v; want the variable's alone", mutants, err)
	}
}

func TestAReportThatFitsNoSourceIsAnError(t *testing.T) {
	for _, report := range []string{
		`{`,
		`{"files":[{"file_name":"f.go","mutations":[{"line":40,"column":1}]}]}`,
		`{"files":[{"file_name":"f.go","mutations":[{"line":4,"column":100}]}]}`,
	} {
		if _, err := readReport("p", []byte(report), func(string) ([]byte, error) { return []byte(source), nil }); err == nil {
			t.Errorf("%s was taken", report)
		}
	}
}
